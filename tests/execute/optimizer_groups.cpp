// SPDX-License-Identifier: Apache-2.0
// Groups of parameters with another rate and decay, and moving averages of weights: against what follows from trainings
// without them.
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/refusal.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/io/files/checkpoint.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

namespace {

namespace ts = tessera;
using namespace test_support;

struct conv1 : ts::conv2d<6, ts::window<3>> {};
struct norm : ts::batch_norm<> {};
struct block : ts::linear<12> {};
struct fc2 : ts::linear<4> {};
struct net : ts::sequential<ts::image<2, 6, 6>, conv1, norm, ts::relu, ts::flatten, fc2, ts::relu, ts::repeat<2, block>,
                            ts::cross_entropy> {};
constexpr int samples = 6;

using numbers = std::vector<float>;
using training = ts::trainer<net, ts::reference::backend>;

const ts::graph& network() {
    static const ts::graph g = ts::describe<net>(samples);
    return g;
}

/// What every parameter is after some steps.
template <class How>
std::vector<numbers> trained(const How& how, int steps, const ts::strategy& s, int devices) {
    training t(ts::local_devices(devices), s, samples, how, {.seed = 5});
    const batch_data data(network().view(), 3);
    for (int i = 0; i < steps; ++i) {
        t.step(std::span<const ts::input_data>(data.inputs));
    }
    std::vector<numbers> all;
    for (int p = 0; p < network().view().parameter_count; ++p) {
        all.push_back(t.values().parameter(p));
    }
    return all;
}

std::string path_of_parameter(int p) { return ts::parameter_path_of(network().view(), p); }

} // namespace

TEST_CASE("a group multiplies the rate and the decay of its layers, by type, by instance, by path and by dimensions") {
    const ts::strategy alone(network().view());
    const ts::adamw rule{.learning_rate = 0.01F, .weight_decay = 0.3F};
    const auto before = trained(rule, 0, alone, 1);
    const auto plain = trained(rule, 1, alone, 1);
    const auto without = trained(ts::adamw{.learning_rate = 0.01F, .weight_decay = 0}, 1, alone, 1);
    const auto grouped =
        trained(ts::with_groups(rule, ts::group<conv1, ts::instance<block, 1>>{.rate = 0.25F},
                                ts::group<ts::biases_and_norms>{.decay = 0}, ts::group_at{"fc2/weight", 0, 1}),
                1, alone, 1);
    int slower = 0;
    int kept = 0;
    int bare = 0;
    for (int p = 0; p < network().view().parameter_count; ++p) {
        const auto at = ts::to_size(p);
        const ts::parameter_node& n = network().parameters[at];
        if (!n.trained) {
            continue;
        }
        const std::string path = path_of_parameter(p);
        CAPTURE(path);
        const bool slow = n.layer == "conv1" || (n.layer == "block" && n.instance == 1);
        const bool still = path == "fc2/weight";
        const bool vector = n.extents.rank < 2;
        const double factor = slow ? 0.25 : still ? 0 : 1;
        const numbers& full = vector ? without[at] : plain[at];
        for (std::size_t i = 0; i < full.size(); ++i) {
            const double change = static_cast<double>(full[i]) - static_cast<double>(before[at][i]);
            const double seen = static_cast<double>(grouped[at][i]) - static_cast<double>(before[at][i]);
            CHECK(seen == doctest::Approx(factor * change).epsilon(1e-3));
        }
        CHECK((still || grouped[at] != before[at]));
        slower += slow ? 1 : 0;
        kept += still ? 1 : 0;
        bare += vector && without[at] != plain[at] ? 1 : 0;
    }
    CHECK(slower == 4);
    CHECK(kept == 1);
    CHECK(bare > 0);
}

TEST_CASE("groups and averages give the numbers of one device under random strategies and every policy") {
    const ts::optimizer how = ts::with_groups(
        ts::optimizer(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.1F}, 0.05F).averaging(0.5F),
        ts::group<conv1>{.rate = 0.25F}, ts::group<ts::biases_and_norms>{.decay = 0});
    const sweep_case c{"groups", network(), how};
    sweep_check check;
    coverage seen;
    const auto make = [](const ts::optimizer& o, int = 0) { return ts::reference::backend(o); };
    sweep(c, strategy_count(6), seen, make, [&](const sweep_case& of, int, int devices, const sweep_result& r) {
        check.hold(of, devices, r, allowed_rounding);
    });
    oracles expected(c);
    for (const auto& of_name : small_policies(network().view(), 3)) {
        const auto& name = of_name.first; // clang 14 captures no structured binding
        const auto& sync = of_name.second;
        CAPTURE(name);
        check.hold(c, 3, expected.run(data_parallel(network().view(), 3, sync), 3, make), allowed_rounding);
    }
}

TEST_CASE("groups that mean nothing, and settings that make no sense, are refused when a training is made") {
    const ts::strategy alone(network().view());
    const auto refused = [&](const ts::optimizer& update) { return message_of([&] { trained(update, 0, alone, 1); }); };
    CHECK(contains(refused(ts::with_groups(ts::sgd{}, ts::group_at{"fc9"})), "of the path 'fc9'"));
    CHECK(contains(refused(ts::with_groups(ts::sgd{}, ts::group_at{"fc"})), "of the path 'fc'"));
    CHECK(contains(refused(ts::with_groups(ts::sgd{}, ts::group<conv1>{.rate = -1})), "rate in a group is -1"));
    CHECK(contains(refused(ts::optimizer(ts::sgd{}).averaging(1)), "average keeps is 1"));
    CHECK(contains(refused(ts::optimizer(ts::sgd{}).clipped_to(-1)), "clip_value is -1"));
    CHECK(contains(refused(ts::sgd{.nesterov = true}), "Nesterov"));
    CHECK(contains(refused(ts::rmsprop{.alpha = 1}), "alpha is 1"));
    CHECK(
        contains(message_of([] { (void)ts::with_groups(ts::sgd{}, ts::group_at{std::string(65, 'x')}); }), "1 to 64"));
}

TEST_CASE("averages follow the weights, are evaluated and predicted with, and are saved") {
    const ts::optimizer how = ts::optimizer(ts::adam{.learning_rate = 0.01F}).averaging(0.75F);
    const ts::graph_view g = network().view();
    const batch_data data(g, 3);
    const std::span<const ts::input_data> batch(data.inputs);
    coverage seen;
    char name[] = "/tmp/tessera-averages-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    for (int devices = 1; devices <= 3; ++devices) {
        const ts::strategy s = devices == 1 ? ts::strategy(g) : random_strategy(g, devices, 40, seen);
        training t(ts::local_devices(devices), s, samples, how, {.seed = 5});
        std::vector<std::vector<double>> average;
        for (int p = 0; p < g.parameter_count; ++p) {
            const numbers w = t.values().parameter(p);
            average.emplace_back(w.begin(), w.end());
        }
        for (int step = 0; step < 4; ++step) {
            t.step(batch);
            for (int p = 0; p < g.parameter_count; ++p) {
                const numbers w = t.values().parameter(p);
                for (std::size_t i = 0; i < w.size(); ++i) {
                    double& a = average[ts::to_size(p)][i];
                    a = g.parameters[p].trained ? 0.75 * a + 0.25 * static_cast<double>(w[i])
                                                : static_cast<double>(w[i]);
                }
            }
        }
        const double with_weights = t.values().evaluate(data.inputs).loss;
        ts::io::save_checkpoint(t, folder + "/a");
        t.use_ema(true);
        training fixed(ts::local_devices(devices), s, samples, how, {.seed = 5});
        for (int p = 0; p < g.parameter_count; ++p) {
            const numbers w = t.values().parameter(p);
            for (std::size_t i = 0; i < w.size(); ++i) {
                CHECK(static_cast<double>(w[i]) == doctest::Approx(average[ts::to_size(p)][i]).epsilon(1e-5));
            }
            fixed.values().set_parameter(p, w);
        }
        const double with_averages = t.values().evaluate(data.inputs).loss;
        CHECK(with_averages == fixed.values().evaluate(data.inputs).loss);
        CHECK(with_averages != with_weights);
        CHECK(contains(message_of([&] { t.step(batch); }), "use_ema(false)"));
        ts::io::save_checkpoint(t, folder + "/b"); // the same training, wherever the numbers are at the moment
        t.use_ema(false);
        CHECK(t.values().evaluate(data.inputs).loss == with_weights);
        for (const char* const from : {"/a", "/b"}) {
            training other(ts::local_devices(devices), s, samples, how, {.seed = 9});
            ts::io::load_checkpoint(other, folder + from);
            CHECK(other.values().evaluate(data.inputs).loss == with_weights);
            other.use_ema(true);
            CHECK(other.values().evaluate(data.inputs).loss == with_averages);
        }
        const double next = t.step(batch);
        training resumed(ts::local_devices(devices), s, samples, how, {.seed = 9});
        ts::io::load_checkpoint(resumed, folder + "/b");
        CHECK(resumed.step(batch) == next);
    }
    std::filesystem::remove_all(folder);
    training none(ts::local_devices(1), ts::strategy(g), samples, ts::sgd{});
    CHECK(contains(message_of([&] { none.use_ema(true); }), "averaging(0.999F)"));
}
