// SPDX-License-Identifier: Apache-2.0
// An operator of one's own whose record brings a row for CUDA, with kernels of its own: under random splits it computes
// what its loops on the reference backend do.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"

#include "tessera/backend/cuda/issue/module.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/op/opaque.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace cuda = ts::cuda;
using namespace test_support;

/// y[n,c] = x[n,0] + 2 x[n,1] + ... + (c + 1) x[n,c]: its body says that samples are free, no more.
struct ramp_sum_loops {
    template <class Real>
    static void forward(const ts::reference::shard<Real>& s, int) {
        const Real* const x = s.value(s.input());
        Real* const y = s.value(s.output());
        const ts::index_t channels = s.extents(s.input())[1];
        for (ts::index_t n = 0; n < s.call.ranges[0].size(); ++n) {
            Real sum = 0;
            for (ts::index_t c = 0; c < channels; ++c) {
                sum += static_cast<Real>(c + 1) * x[n * channels + c];
                y[n * channels + c] = sum;
            }
        }
    }
    template <class Real>
    static void backward(const ts::reference::shard<Real>& s, int o) {
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        const ts::index_t channels = s.extents(s.input())[1];
        for (ts::index_t n = 0; n < s.call.ranges[0].size(); ++n) {
            Real sum = 0;
            for (ts::index_t c = channels; c-- > 0;) {
                sum += dy[n * channels + c];
                dx[n * channels + c] = static_cast<Real>(c + 1) * sum;
            }
        }
    }
};
constexpr auto plain_rows = ts::reference::own_rows_of<ramp_sum_loops>();

using ts::index_t; // as device code has it

// clang-format off
TESSERA_KERNELS(code,

struct ramp_sum_numbers {
    index_t rows = 0;
    index_t channels = 0;
    index_t backward = 0;
};
,

/// A thread for each row. at: from, to.
template <class T>
__device__ void own_ramp_sum_of(const given<ramp_sum_numbers>& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    for (long long row = first_index(); row < a.n.rows; row += index_step()) {
        float sum = 0;
        for (long long k = 0; k < a.n.channels; ++k) {
            const long long c = a.n.backward == 1 ? a.n.channels - 1 - k : k;
            const float x = from[row * a.n.channels + c];
            const float weight = static_cast<float>(c + 1);
            sum += a.n.backward == 1 ? x : weight * x;
            to[row * a.n.channels + c] = a.n.backward == 1 ? weight * sum : sum;
        }
    }
}
TYPED_KERNEL(own_ramp_sum, ramp_sum_numbers)

)
// clang-format on
constexpr cuda::kernel ramp_sum_kernel{"own_ramp_sum", true, code};

void launch(const cuda::shard_call& s, cuda::memory_use from, cuda::memory_use to, bool backward) {
    const ramp_sum_numbers n{
        .rows = s.size(s.input(), 0), .channels = s.size(s.input(), 1), .backward = backward ? 1 : 0};
    s.to.launch(ramp_sum_kernel, {from, to}, cuda::kernel_numbers(n), n.rows);
}
constexpr cuda::operator_row ramp_sum_row{
    .of = nullptr,
    .forward = [](const cuda::shard_call& s) { launch(s, s.value(s.input()), s.value_to(s.output()), false); },
    .backward =
        [](const cuda::shard_call& s) {
            if (s.emits(s.input())) {
                launch(s, s.gradient(s.output()), s.gradient_to(s.input()), true);
            }
        },
    .calls_forward = "kernel:own_ramp_sum",
    .calls_backward = "kernel:own_ramp_sum",
};
constexpr cuda::operator_row fp32_alone = [] {
    cuda::operator_row row = ramp_sum_row;
    row.most = ts::precision::fp32;
    return row;
}();

constexpr ts::op_record record_with(const char* name, const cuda::operator_row* row) {
    return {
        .name = name,
        .infer = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::detail::infer_rank(*x, 2, 2); },
        .describe = [](const ts::op_attributes&, const ts::shape* x,
                       int) { return ts::op::describe_opaque(x, 1, *x, 1); },
        .rows = {{"reference", &plain_rows}, {row == nullptr ? nullptr : "cuda", row}},
    };
}
constexpr ts::op_record ramp_sum = record_with("test_ramp_sum", &ramp_sum_row);
constexpr ts::op_record ramp_sum_fp32 = record_with("test_ramp_sum_fp32", &fp32_alone);
constexpr ts::op_record ramp_sum_elsewhere = record_with("test_ramp_sum_elsewhere", nullptr);

/// All values after a few steps on the emulated backend and on the reference, of this operator among others.
void check_splits(const ts::op_record& r, ts::precision math, double tolerance) {
    ts::graph network = graph_of({"ramp sum", {.kind = {&r}}, {ts::make_shape(6, 5)}});
    ts::set_precision(network, math);
    const ts::graph_view g = network.view();
    const batch_data data(g, 3);
    coverage seen;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const int devices = 1 + static_cast<int>(seed % 4);
        const ts::strategy s = random_strategy(g, devices, seed + 5, seen);
        CAPTURE(seed);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, static_cast<int>(seed % 3)));
        each_result_beside(plain, emulated, g, s, devices, data, [&](int, const auto& got, const auto& expected) {
            CHECK(relative(got, expected, 1e-6) < tolerance);
        });
    }
}

} // namespace

TEST_CASE("an operator of one's own runs on the CUDA backend by the row that its record brings, under random splits") {
    check_splits(ramp_sum, ts::precision::fp32, 1e-5);
    check_splits(ramp_sum, ts::precision::bf16, 2e-2);
}

TEST_CASE("NVRTC compiles the kernels of a row that a record brings") {
    const std::vector<char> binary = cuda::compile_kernels(90, cuda::source_of(code));
    const std::string text(binary.begin(), binary.end());
    CHECK(text.find(std::string(".text.own_ramp_sum") + '\0') != std::string::npos);
    CHECK(text.find(".text.own_ramp_sum_bf16") != std::string::npos);
}

TEST_CASE("what a record's row does not offer on CUDA is refused by name") {
    CHECK(cuda::supports(ramp_sum, ts::pass::backward, ts::precision::bf16));
    CHECK(!cuda::supports(ramp_sum, ts::pass::update, ts::precision::fp32));
    CHECK(cuda::supports(ramp_sum_fp32, ts::pass::forward, ts::precision::fp32));
    CHECK(!cuda::supports(ramp_sum_fp32, ts::pass::forward, ts::precision::bf16));
    CHECK(!cuda::supports(ramp_sum_elsewhere, ts::pass::forward, ts::precision::fp32));
    CHECK_THROWS_WITH(
        check_splits(ramp_sum_fp32, ts::precision::bf16, 1),
        doctest::Contains("is a test_ramp_sum_fp32, which the CUDA backend does not compute in the network's "
                          "precision; take one that it has: fp32"));
    CHECK_THROWS_WITH(
        check_splits(ramp_sum_elsewhere, ts::precision::fp32, 1),
        doctest::Contains("is a test_ramp_sum_elsewhere, and the CUDA backend has no such operator; run the "
                          "network on another backend, or have its record bring a row: "
                          ".rows = {{\"cuda\", &row}}"));
}
