// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning: what is pruned is zero for good under every optimizer, the rest is what training with a mask in
// double makes, the same under every strategy and after a checkpoint.
#include "support/own_optimizers.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/refusal.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/host/backend.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/io/files/checkpoint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

namespace {

namespace ts = tessera;
using namespace test_support;

struct conv1 : ts::conv2d<6, ts::window<3>> {};
struct norm : ts::batch_norm<> {};
struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<4> {};
struct net
    : ts::sequential<ts::image<2, 6, 6>, conv1, ts::relu, norm, ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};
constexpr int samples = 8;

using numbers = std::vector<float>;
template <class B>
using training = ts::trainer<net, B>;

const ts::graph& network() {
    static const ts::graph g = ts::describe<net>(samples);
    return g;
}

template <class T>
std::vector<numbers> parameters_of(const T& t) {
    std::vector<numbers> all;
    for (int p = 0; p < network().view().parameter_count; ++p) {
        all.push_back(const_cast<T&>(t).values().parameter(p));
    }
    return all;
}

/// The mask by its definition: one by one the smallest that is left.
std::vector<char> own_mask(const numbers& w, std::vector<char> mask, double share) {
    auto wanted = static_cast<std::ptrdiff_t>(share * static_cast<double>(w.size()));
    for (auto n = std::count(mask.begin(), mask.end(), 1); n < wanted; ++n) {
        std::size_t best = w.size();
        for (std::size_t i = 0; i < w.size(); ++i) {
            if (mask[i] == 0 && (best == w.size() || std::abs(w[i]) < std::abs(w[best]))) {
                best = i;
            }
        }
        mask[best] = 1;
    }
    return mask;
}

/// Steps, prunes, steps, prunes, steps: after each step every weight is what one step in double from what it was makes
/// of the gradient, times the mask.
template <class B>
void hold_to_masks(const ts::optimizer& given, int devices, const ts::strategy& s) {
    const ts::optimizer how = given.pruning();
    training<B> t(ts::local_devices(devices), s, samples, how, {.seed = 5, .keep_gradients = true});
    const ts::graph_view g = network().view();
    const batch_data data(g, 3);
    std::vector<std::vector<char>> mask;
    std::vector<std::vector<own_state>> states;
    std::vector<std::vector<double>> average;
    for (const numbers& w : parameters_of(t)) {
        mask.emplace_back(w.size(), 0);
        states.emplace_back(w.size());
        average.emplace_back(w.begin(), w.end());
    }
    ts::index_t zeros = 0;
    for (int step = 1; step <= 6; ++step) {
        const double share = step == 2 ? 0.5 : step == 4 ? 0.75 : 0;
        const auto unpruned = parameters_of(t);
        if (share > 0) {
            t.prune(share);
            CHECK(t.pruned_share() == doctest::Approx(share).epsilon(0.02));
        }
        const auto before = parameters_of(t);
        t.step(std::span<const ts::input_data>(data.inputs));
        const auto after = parameters_of(t);
        for (int p = 0; p < g.parameter_count; ++p) {
            const auto at = ts::to_size(p);
            const bool weights = g.parameters[p].trained && g.parameters[p].extents.rank >= 2;
            if (!g.parameters[p].trained) {
                continue;
            }
            mask[at] = weights ? own_mask(unpruned[at], mask[at], share) : mask[at];
            const numbers gradient = t.values().gradient(p);
            std::vector<double> w(before[at].begin(), before[at].end());
            std::vector<double> of_mask(gradient.begin(), gradient.end());
            for (std::size_t i = 0; i < w.size(); ++i) {
                of_mask[i] = mask[at][i] != 0 ? 0 : of_mask[i];
                states[at][i] = mask[at][i] != 0 ? own_state{} : states[at][i];
            }
            const double trust = how.is_layerwise() ? own_trust(how, w, of_mask, step, states[at]) : 1;
            for (std::size_t i = 0; i < w.size(); ++i) {
                CAPTURE(step);
                CAPTURE(p);
                CAPTURE(i);
                if (mask[at][i] != 0) {
                    ++zeros;
                    CHECK(after[at][i] == 0);
                    CHECK(ts::is_pruned(before[at][i]));
                    for (int k = 0; k < how.state_count(); ++k) {
                        CHECK(t.values().state_of(p, k)[i] == 0);
                    }
                    continue;
                }
                CHECK(before[at][i] == unpruned[at][i]);
                CHECK_FALSE(ts::is_pruned(after[at][i]));
                const double expected =
                    own_step(how, w[i], of_mask[i], static_cast<double>(how.learning_rate), step, states[at][i], trust);
                CHECK(static_cast<double>(after[at][i]) == doctest::Approx(expected).epsilon(2e-4).scale(0.05));
            }
        }
    }
    CHECK(zeros > 0);
}

/// Weights of the smallest numbers below 0, without a gradient, which decay makes 0: they have not been pruned, and go
/// on.
template <class B>
void hold_to_decay() {
    const ts::optimizer how = ts::optimizer(ts::adamw{.learning_rate = 1, .weight_decay = 0.75F}).pruning();
    training<B> t(ts::local_devices(1), ts::strategy(network().view()), samples, how);
    batch_data data(network().view(), 3);
    std::fill(data.numbers[0].begin(), data.numbers[0].end(), 0.0F);
    t.template set_weights<conv1>(
        numbers(t.template weights<conv1>().size(), -std::numeric_limits<float>::denorm_min()));
    t.step(std::span<const ts::input_data>(data.inputs));
    for (const float w : t.template weights<conv1>()) {
        CHECK(w == 0);
        CHECK_FALSE(ts::is_pruned(w));
    }
}

} // namespace

TEST_CASE("under every optimizer pruned weights are zero for good, and the others follow a mask in double") {
    auto all = all_optimizers();
    for (const auto& x : layerwise_optimizers()) {
        all.push_back(x);
    }
    coverage seen;
    int number = 0;
    for (const auto& named : all) {
        const std::string& name = named.first;
        const ts::optimizer& how = named.second;
        CAPTURE(name);
        const int devices = 1 + number % 3;
        const ts::strategy s =
            devices == 1 ? ts::strategy(network().view())
                         : random_strategy(network().view(), devices, static_cast<std::uint64_t>(number), seen);
        hold_to_masks<ts::reference::backend>(how, devices, s);
        hold_to_masks<ts::host::backend>(how, devices, s);
        ++number;
    }
}

TEST_CASE("random strategies on 1 to 8 devices, and every policy, prune the same weights") {
    const ts::graph_view g = network().view();
    const batch_data data(g, 3);
    const ts::optimizer how = ts::optimizer(ts::sgd{.learning_rate = 0.05F}).pruning();
    const auto run = [&](int devices, const ts::strategy& s) {
        training<ts::reference::backend> t(ts::local_devices(devices), s, samples, how, {.seed = 7});
        t.set_pruning({.last = 0.8, .begin = 0, .every = 1, .times = 3, .first = 0.3});
        for (int i = 0; i < 5; ++i) {
            t.step(std::span<const ts::input_data>(data.inputs));
        }
        return parameters_of(t);
    };
    const auto alone = run(1, ts::strategy(g));
    const auto compare = [&](const std::vector<numbers>& others) {
        for (std::size_t p = 0; p < alone.size(); ++p) {
            for (std::size_t i = 0; i < alone[p].size(); ++i) {
                CHECK(ts::is_pruned(others[p][i]) == ts::is_pruned(alone[p][i]));
                CHECK(static_cast<double>(others[p][i]) ==
                      doctest::Approx(static_cast<double>(alone[p][i])).epsilon(1e-3).scale(0.1));
            }
        }
    };
    coverage seen;
    for (int devices = 1; devices <= 8; ++devices) {
        CAPTURE(devices);
        compare(run(devices, random_strategy(g, devices, static_cast<std::uint64_t>(30 + devices), seen)));
    }
    for (const auto& of_name : small_policies(g, 3)) {
        const auto& name = of_name.first;
        CAPTURE(name);
        compare(run(3, data_parallel(g, 3, of_name.second)));
    }
}

TEST_CASE("pruning on a schedule goes on bit for bit after a checkpoint, and averages are pruned too") {
    const ts::graph_view g = network().view();
    const batch_data data(g, 3);
    const std::span<const ts::input_data> batch(data.inputs);
    const ts::optimizer how = ts::optimizer(ts::adamw{.learning_rate = 0.01F}).averaging(0.5F).pruning();
    const ts::pruning_schedule schedule{.last = 0.9, .begin = 1, .every = 2, .times = 3};
    char name[] = "/tmp/tessera-pruning-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    for (const int devices : {1, 3}) {
        const ts::strategy s = devices == 1 ? ts::strategy(g) : data_parallel(g, devices, {});
        for (int saved = 0; saved < 9; ++saved) {
            training<ts::host::backend> t(ts::local_devices(devices), s, samples, how, {.seed = 5});
            training<ts::host::backend> other(ts::local_devices(devices), s, samples, how, {.seed = 9});
            t.set_pruning(schedule);
            other.set_pruning(schedule);
            other.step(batch); // elsewhere in the schedule
            other.step(batch);
            for (int i = 0; i < 9; ++i) {
                if (i == saved) {
                    ts::io::save_checkpoint(t, folder + "/a");
                }
                t.step(batch);
            }
            ts::io::load_checkpoint(other, folder + "/a");
            while (other.steps() < t.steps()) {
                other.step(batch);
            }
            const auto mine = parameters_of(t);
            const auto its = parameters_of(other);
            for (std::size_t p = 0; p < mine.size(); ++p) {
                CHECK(std::memcmp(mine[p].data(), its[p].data(), mine[p].size() * sizeof(float)) == 0);
            }
            CHECK(t.pruned_share<fc1>() == doctest::Approx(0.9).epsilon(0.01));
            const std::vector<float> weights = t.weights<fc1>();
            t.use_ema(true);
            const std::vector<float> averages = t.weights<fc1>();
            for (std::size_t i = 0; i < weights.size(); ++i) {
                CHECK((!ts::is_pruned(weights[i]) || averages[i] == 0));
            }
            CHECK(contains(message_of([&] { t.prune(0.95); }), "use_ema(false)"));
        }
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("the schedule is the paper's, ties go by index, biases that are zero are trained, and mistakes are refused") {
    const ts::pruning_schedule schedule{.last = 0.8, .begin = 10, .every = 5, .times = 4, .first = 0.2};
    for (std::uint64_t t = 0; t < 50; ++t) {
        const double past = t < 10 ? 0 : std::min(1.0, static_cast<double>((t - 10) / 5 * 5) / 20.0);
        const double expected = t < 10 ? 0 : 0.8 + (0.2 - 0.8) * std::pow(1 - past, 3);
        CHECK(schedule(t) == doctest::Approx(expected));
    }
    CHECK(ts::pruned_at(numbers{1, -1, 0.5F, -0.5F, 0.5F, 0}, 0.5) == std::vector<char>{0, 0, 1, 1, 0, 1});
    CHECK(ts::pruned_at(numbers{1, -0.0F, 0, 3}, 0.25) == std::vector<char>{0, 1, 0, 0});
    CHECK(ts::pruned_at(numbers{1, -0.0F, 0, 3}, 0) == std::vector<char>{0, 1, 0, 0});
    CHECK(ts::pruned_at(numbers{1, 2}, 1) == std::vector<char>{1, 1});
    const float none = std::numeric_limits<float>::quiet_NaN();
    CHECK(ts::pruned_at(numbers{none, 2, none, 1}, 0.5) == std::vector<char>{0, 1, 0, 1});
    const ts::optimizer how = ts::optimizer(ts::sgd{.learning_rate = 0.1F}).pruning();
    const batch_data data(network().view(), 3);
    training<ts::host::backend> t(ts::local_devices(1), ts::strategy(network().view()), samples, how);
    numbers some = t.weights<fc2>();
    some[3] = 0; // by chance
    t.set_weights<fc2>(some);
    t.prune<fc1>(0.5);
    CHECK(t.pruned_share<fc1>() == 0.5);
    CHECK(t.pruned_share<fc2>() == 0);
    for (int i = 0; i < 2; ++i) {
        t.step(std::span<const ts::input_data>(data.inputs));
    }
    CHECK(t.pruned_share<fc1>() == 0.5);
    CHECK(t.weights<fc2>()[3] != 0);
    const numbers bias = t.bias<fc2>();
    CHECK(std::count(bias.begin(), bias.end(), 0.0F) == 0);
    CHECK(contains(message_of([&] { t.prune(1.5); }), "a share from 0 to 1"));
    CHECK(contains(message_of([&] { t.prune(std::nan("")); }), "a share from 0 to 1"));
    CHECK(contains(message_of([] { (void)ts::pruning_schedule{.last = 2}(0); }), "from 0 to 1"));
    CHECK(contains(message_of([] { (void)ts::pruning_schedule{.every = 0}(0); }), "above 0"));
    training<ts::host::backend> dense(ts::local_devices(1), ts::strategy(network().view()), samples, ts::sgd{});
    CHECK(contains(message_of([&] { dense.prune(0.5); }), "pruning()"));
}

TEST_CASE("what a step makes of weights is never a pruned weight, not where it is too small for a number") {
    hold_to_decay<ts::reference::backend>();
    hold_to_decay<ts::host::backend>();
}
