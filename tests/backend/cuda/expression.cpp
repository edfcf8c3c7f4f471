// SPDX-License-Identifier: Apache-2.0
// Kernels whose text is made of expressions: NVRTC compiles it, and the same text, compiled for the processor, computes
// what the expressions say; an operator of one's own runs on this backend as the library's do.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"

#include "examples/own_operator.hpp"
#include "tessera/backend/cuda/issue/module.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace {

namespace ts = tessera;
namespace cuda = ts::cuda;
using namespace test_support;

struct gated : ts::elementwise<gated> {
    static constexpr auto of(auto a, auto b) { return a * sigmoid(b) - b / (2 + abs(a)); }
};
struct curves : ts::elementwise<curves> {
    static constexpr auto of(auto x) {
        return exp(x) + log(abs(x) + 1) * sqrt(x * x + 0.25) - pow(abs(x) + 0.5, 1.3f) + tanh(x);
    }
};
struct waves : ts::elementwise<waves> {
    static constexpr auto of(auto x) { return sigmoid(-x) * softplus(x) + erf(x) - normal(x) + sin(2 * x) * cos(x); }
};
struct steps : ts::elementwise<steps> {
    static constexpr auto of(auto x) {
        return select((x < 1 && x >= -2) || x == 3, x * x, max(x, -2 * x)) + min(x, 0.3) * sign(x) + floor(x) +
               relu(-x) + straight_through(floor(x), x) * stop_gradient(x);
    }
};

std::vector<float> some_numbers() {
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> x = {0, -0.0F, 1, -1, 3, -2, 20, -20, infinity, -infinity, std::nanf("")};
    for (int i = 0; i < 200; ++i) {
        x.push_back(static_cast<float>(std::sin(0.7 * i) * 4));
    }
    return x;
}

/// The kernels of an operator, as the processor runs their text, against what its formula says in double.
void check_text(const ts::op_attributes& a) {
    const ts::op_record& r = ts::record_of(a);
    const ts::expression::formula& f = *r.formula;
    const auto& own = cuda::detail::own_expression_of(r);
    CAPTURE(std::string(own.text));
    const std::vector<float> x = some_numbers();
    const std::vector<float> z(x.rbegin(), x.rend());
    std::vector<float> y(x.size());
    std::vector<float> dy(x.size(), 0.75F);
    const float* leaves[] = {x.data(), z.data(), dy.data(), dy.data()};
    leaves[f.inputs] = y.data();
    leaves[f.inputs + 1] = dy.data();
    for (int which = -1; which < f.inputs; ++which) {
        std::vector<float> made(x.size(), 7);
        cuda::kernel_arguments given;
        const cuda::kernel_leaves order = cuda::leaves_of(f, which);
        for (int k = 0; k < order.count; ++k) {
            given.at[k] =
                const_cast<float*>(leaves[order.at[k]]); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
        }
        given.at[order.count] = made.data();
        given.numbers.set(cuda::kernels::count_numbers{.count = static_cast<ts::index_t>(x.size())});
        cuda_emulation::launch(&own.kernels[1 + which], ts::element::f32, 3, 32, given);
        for (std::size_t i = 0; i < x.size(); ++i) {
            ts::reference::detail::formula_loop<double> loop(f, which);
            const double expected = *loop(1, [&](int leaf, double* to) { *to = static_cast<double>(leaves[leaf][i]); });
            CAPTURE(which);
            CAPTURE(x[i]);
            CAPTURE(made[i]);
            CAPTURE(expected);
            if (std::isnan(expected) || std::isinf(static_cast<float>(expected))) {
                CHECK((std::isnan(expected) ? std::isnan(made[i]) : made[i] == static_cast<float>(expected)));
            } else {
                CHECK(std::abs(static_cast<double>(made[i]) - expected) <= 2e-6 * (1 + std::abs(expected)));
            }
        }
        if (which < 0) {
            y = made;
        }
    }
}

/// The operator under random splits, by its kernels and by the reference.
void check_splits(const tests::op_case& row) {
    ts::graph network = graph_of(row);
    const ts::graph_view g = network.view();
    const batch_data data(g, 3);
    coverage seen;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const bool half = seed > 5;
        ts::set_precision(network, half ? ts::precision::bf16 : ts::precision::fp32);
        const int devices = 1 + static_cast<int>(seed % 4);
        const ts::strategy s = random_strategy(g, devices, seed + 5, seen);
        CAPTURE(row.name);
        CAPTURE(seed);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, static_cast<int>(seed % 3)));
        each_result_beside(plain, emulated, g, s, devices, data, [&](int, const auto& got, const auto& expected) {
            CHECK(relative(got, expected, 1e-6) < (half ? 2e-2 : 1e-4));
        });
    }
}

} // namespace

TEST_CASE("the text of an expression's kernels computes what the expression says") {
    check_text(own::softsign::attributes);
    check_text(gated::attributes);
    check_text(curves::attributes);
    check_text(waves::attributes);
    check_text(steps::attributes);
}

TEST_CASE("NVRTC compiles the kernels of one's own expressions, in both forms") {
    for (const ts::op_attributes& a : {gated::attributes, curves::attributes, waves::attributes, steps::attributes}) {
        const auto& own = cuda::detail::own_expression_of(ts::record_of(a));
        const std::vector<char> binary = cuda::compile_kernels(90, cuda::source_of(own.text));
        const std::string text(binary.begin(), binary.end());
        for (int k = 0; k <= ts::record_of(a).formula->inputs; ++k) {
            CHECK(text.find(".text." + own.names[k] + '\0') != std::string::npos);
            CHECK(text.find(".text." + own.names[k] + "_bf16") != std::string::npos);
        }
    }
}

TEST_CASE("operators of one's own that are expressions run on the CUDA backend under random splits") {
    check_splits({"softsign", own::softsign::attributes, {ts::make_shape(5, 6)}});
    check_splits({"softsign of images", own::softsign::attributes, {ts::make_shape(3, 4, 3, 2)}});
    check_splits({"gated", gated::attributes, {ts::make_shape(4, 3, 6), ts::make_shape(4, 3, 6)}});
    check_splits({"mse_loss", ts::mse_loss::attributes, {ts::make_shape(4, 6), ts::make_shape(4, 6)}});
    check_splits({"huber_loss of images",
                  ts::huber_loss<0.5>::attributes,
                  {ts::make_shape(3, 4, 3, 2), ts::make_shape(3, 4, 3, 2)}});
    check_splits(
        {"bce_with_logits", ts::bce_with_logits::attributes, {ts::make_shape(4, 3, 6), ts::make_shape(4, 3, 6)}});
    CHECK(cuda::supports(ts::record_of(gated::attributes), ts::pass::backward, ts::precision::bf16));
    CHECK(!cuda::supports(ts::record_of(own::running_sum::attributes), ts::pass::forward, ts::precision::fp32));
}
