// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, denormal numbers and zeros of either sign in every row of the operator table, as calls that the
// interpreter runs, against the reference backend on the same plan; and updates that would not be finite.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/networks.hpp"
#include "support/one_operator.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/random_pipeline.hpp"
#include "support/refusal.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Sums of products, in which zeros from outside an image or a part meet an infinity, and normalizations from other
/// moments than the reference's: they may have NaN where the reference has an infinity or a number.
bool spreads(ts::op_kind kind) {
    return kind == ts::op_kind::conv2d || kind == ts::op_kind::conv3d || kind == ts::op_kind::transposed_conv2d ||
           kind == ts::op_kind::linear || kind == ts::op_kind::expert_linear || kind == ts::op_kind::matmul ||
           kind == ts::op_kind::batch_norm || kind == ts::op_kind::layer_norm;
}

/// Runs a row whole and in random splits on both backends; numbers differ by at most the norm's 1e-4 and `absolute`.
template <class Change>
void hold(const tests::op_case& row, double absolute, const Change& change) {
    const ts::graph network = graph_of(row);
    const ts::graph_view g = network.view();
    batch_data data = data_of(row, g, 3);
    for (std::vector<float>& x : data.numbers) {
        change(x);
    }
    coverage seen;
    for (const int devices : {1, 3}) {
        const ts::strategy s = devices == 1 ? ts::strategy(g) : random_strategy(g, devices, row.name.size() + 90, seen);
        CAPTURE(row.name);
        CAPTURE(devices);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, 1));
        const auto expected = values_after(plain, g, s, devices, data);
        const auto got = values_after(emulated, g, s, devices, data);
        for (const auto& [key, values] : expected) {
            double error = 0;
            double norm = 0;
            int lost = 0;
            int made = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double found = got.at(key)[i];
                if (!std::isfinite(values[i])) {
                    const bool same = std::isnan(values[i]) ? std::isnan(found) : found == values[i];
                    lost += same || (spreads(row.attributes.kind) && !std::isfinite(found)) ? 0 : 1;
                } else if (!std::isfinite(found)) {
                    made += spreads(row.attributes.kind) ? 0 : 1;
                } else {
                    error += (found - values[i]) * (found - values[i]);
                    norm += values[i] * values[i];
                }
            }
            const int result = key; // a structured binding cannot be captured
            CAPTURE(result);
            CHECK(lost == 0);
            CHECK(made == 0);
            CHECK(std::sqrt(error) <= 1e-4 * std::sqrt(norm) + absolute);
        }
    }
}

} // namespace

TEST_CASE(
    "NaN and infinity stay in the calls where the reference has them, and denormal numbers and zeros are numbers") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const tests::op_case& row : tests::op_table()) {
        for (const float number : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
            CAPTURE(number);
            hold(row, 1e-6, [number](std::vector<float>& x) {
                for (std::size_t i = 1; i < x.size(); i += 1 + x.size() / 2) {
                    x[i] = number;
                }
            });
        }
        hold(row, 1e-41, [](std::vector<float>& x) {
            for (float& v : x) {
                v *= 1e-39F;
            }
        });
        hold(row, 1e-6, [](std::vector<float>& x) {
            for (float& v : x) {
                v = v < 0 ? -0.0F : 0.0F;
            }
        });
    }
}

namespace {

struct conv : ts::conv2d<3, ts::window<3>> {};
struct norm : ts::batch_norm<> {};
struct fc : ts::linear<4> {};
struct normed
    : ts::sequential<ts::image<2, 6, 6>, conv, norm, ts::relu, ts::max_pool<2>, ts::flatten, fc, ts::cross_entropy> {};

/// A session on make-believe GPUs, with what it stands on.
struct running {
    emulated_backend backend;
    ts::workers threads;
    ts::session<emulated_backend> session;

    running(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::optimizer& update, int placed)
        : backend(update, gpu_placement(devices, placed)), threads(devices),
          session(g, s, devices, update, {.seed = 3}, backend, threads) {}

    std::vector<std::vector<float>> parameters(const ts::graph_view& g) const {
        std::vector<std::vector<float>> all;
        for (int p = 0; p < g.parameter_count; ++p) {
            all.push_back(session.parameter(p));
        }
        return all;
    }
};

/// The same batch with NaN in a sample.
batch_data spoiled(batch_data data, const ts::graph_view& g, int sample) {
    std::vector<float>& x = data.numbers[0];
    const ts::shape& extents = g.tensors[data.tensors[0]].extents;
    x[ts::to_size(sample * extents.volume() / extents[0])] = std::numeric_limits<float>::quiet_NaN();
    data.inputs[0] = std::span<const float>(x);
    return data;
}

/// Steps on batches of which one sample is bad, each sample in turn, leave nothing behind.
void hold_refused(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::optimizer& update,
                  int placed) {
    const batch_data first(g, 1);
    const auto samples = static_cast<int>(g.tensors[0].extents[0]);
    running seen(g, s, devices, update, placed);
    running spared(g, s, devices, update, placed);
    CHECK(seen.session.step(first.inputs) == spared.session.step(first.inputs));
    for (int i = 0; i < samples; ++i) {
        const batch_data bad = spoiled(first, g, i);
        const std::string text = message_of([&] { seen.session.step(bad.inputs); });
        CAPTURE(text);
        CHECK(text.find("the loss of step 2 is not a finite number, and the step is not taken") != std::string::npos);
        CHECK(text.find("is not finite in sample " + std::to_string(i)) != std::string::npos);
    }
    CHECK(seen.session.steps() == 1);
    CHECK(seen.parameters(g) == spared.parameters(g));
    const batch_data then(g, 2);
    CHECK(seen.session.step(then.inputs) == spared.session.step(then.inputs)); // what the optimizer keeps, too
    CHECK(seen.parameters(g) == spared.parameters(g));
    CHECK(seen.session.evaluate(then.inputs).loss ==
          spared.session.evaluate(then.inputs).loss); // and running statistics
}

} // namespace

TEST_CASE("a step whose loss is not finite on some GPU changes nothing on any, under any strategy and policy") {
    const ts::graph image = ts::describe<normed>(4);
    const ts::graph plain = ts::describe<test_networks::mlp::network>(4);
    const ts::optimizer heavy(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const ts::optimizer clipped(ts::adam{.learning_rate = 0.01F}, 1.0F);
    coverage seen;
    std::uint64_t seed = 0;
    for (const int placed : {0, 1, 2}) { // on one GPU, on several, on both
        CAPTURE(placed);
        hold_refused(image.view(), ts::strategy(image.view()), 1, heavy, placed);
        hold_refused(image.view(), data_parallel(image.view(), 2), 2, clipped, placed);
        for (int i = 0; i < 3; ++i) {
            CAPTURE(++seed);
            hold_refused(image.view(), random_strategy(image.view(), 3, seed, seen), 3, i == 0 ? clipped : heavy,
                         placed);
            hold_refused(image.view(), random_pipeline(image.view(), 2, seed, seen).how, 2, heavy, placed);
        }
        for (const auto& named : small_policies(plain.view(), 2)) {
            CAPTURE(named.first);
            ts::strategy s = data_parallel(plain.view(), 2);
            s.sync = named.second;
            hold_refused(plain.view(), s, 2, heavy, placed);
        }
    }
}

TEST_CASE("every update and all running statistics take the count of losses that are not finite, and no kernel waits "
          "for the processor") {
    const ts::graph g = ts::describe<normed>(4);
    coverage seen;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const int devices = 1 + static_cast<int>(seed % 4);
        const ts::strategy s = random_strategy(g.view(), devices, seed, seen);
        const listed x = make_listed(g.view(), s, devices, gpu_placement(devices, static_cast<int>(seed % 3)), {});
        CAPTURE(seed);
        CHECK(list_checker(x).run() == "");
        int counted = 0;
        for (const ts::cuda::call& c : x.list.calls) {
            const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
            namespace id = ts::cuda::kernels;
            const bool changes = k != nullptr && (k->which == &id::sgd_update || k->which == &id::running_moments ||
                                                  k->which == &id::running_statistics);
            const ts::task& t = x.p.tasks[ts::to_size(c.task)];
            if (changes) {
                CHECK((k->which == &id::sgd_update ? k->numbers.as<id::step_numbers>().has_flag
                                                   : k->numbers.as<id::running_numbers>().has_flag) == 1);
                REQUIRE(t.nonfinite_count >= 0);
                CHECK(c.memory.back().tile == t.nonfinite_count);
                CHECK(!c.memory.back().write);
            }
            counted += k != nullptr && k->which == &id::count_not_finite ? 1 : 0;
        }
        int losses = 0;
        for (const ts::task& t : x.p.tasks) {
            losses += t.kind() == ts::task_kind::compute && t.what == ts::pass::forward &&
                              ts::loss_rows_of(x.p, g.view(), t) >= 0
                          ? 1
                          : 0;
        }
        CHECK(counted == losses);
    }
}

TEST_CASE("updates that would not be finite are left out element by element where the loss is") {
    const ts::graph g = ts::describe<normed>(4);
    const batch_data data(g.view(), 2);
    const ts::optimizer wild(ts::sgd{.learning_rate = 3e38F, .momentum = 0.9F});
    running r(g.view(), ts::strategy(g.view()), 1, wild, 0);
    CHECK(std::isfinite(r.session.step(data.inputs)));
    for (const std::vector<float>& all : r.parameters(g.view())) {
        for (const float x : all) {
            CHECK(std::isfinite(x));
        }
    }
}
