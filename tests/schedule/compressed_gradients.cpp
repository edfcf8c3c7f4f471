// SPDX-License-Identifier: Apache-2.0
// Training with compressed gradients: against one device in double that compresses, keeps and sums for all replicas;
// and against training without.
#include "support/parameter_difference.hpp"
#include "support/planned.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/schedule/top_k_gradients.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::batch_data;
using test_support::data_parallel;
using test_support::parameter_difference;
using ts::compression;
using ts::compression_setting;

struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<10> {};
struct fc3 : ts::linear<5> {};
struct network : ts::sequential<ts::features<12>, fc1, ts::tanh, fc2, ts::tanh, fc3, ts::cross_entropy> {};

using numbers = std::vector<double>;

/// What arrives of v = gradient + what was left out before, by the definitions, in double; `v` becomes what is left
/// out.
numbers sent(const compression_setting& compress, numbers& v) {
    const std::size_t n = v.size();
    numbers arrived(n, 0);
    if (compress.how == compression::top_k) {
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return std::abs(v[a]) > std::abs(v[b]); });
        const auto one_in = ts::to_size(compress.keep_one_in);
        for (std::size_t i = 0; i < (n + one_in - 1) / one_in; ++i) {
            arrived[order[i]] = v[order[i]];
        }
    }
    const auto block = ts::to_size(compress.block);
    for (std::size_t first = 0; first < n && compress.how != compression::top_k; first += block) {
        const std::size_t end = std::min(n, first + block);
        double most = 0;
        double sum[2]{};
        double count[2]{};
        for (std::size_t i = first; i < end; ++i) {
            most = std::max(most, std::abs(v[i]));
            sum[v[i] < 0 ? 1 : 0] += v[i];
            count[v[i] < 0 ? 1 : 0] += 1;
        }
        for (std::size_t i = first; i < end; ++i) {
            const int sign = v[i] < 0 ? 1 : 0;
            const double scale = most / 127;
            arrived[i] =
                compress.how == compression::one_bit ? sum[sign] / count[sign] : std::round(v[i] / scale) * scale;
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        v[i] -= arrived[i];
    }
    return arrived;
}

/// One device that trains as `replicas` with as many samples each would: parameters after some steps, by SGD with
/// momentum.
std::vector<numbers> one_device(const ts::graph_view& g, const batch_data& data, int samples, int replicas,
                                const compression_setting& how, const ts::sgd& rule, int steps, std::uint64_t seed) {
    const ts::graph small = ts::describe<network>(samples / replicas);
    std::vector<ts::reference::network> all;
    for (int r = 0; r < replicas; ++r) {
        all.emplace_back(small.view());
        all.back().initialize(seed);
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            const auto of = [&](const auto& list) {
                const std::size_t each = list.size() / ts::to_size(replicas);
                return std::span(list).subspan(ts::to_size(r) * each, each);
            };
            data.labels[k].empty() ? all.back().set(data.tensors[k], of(data.numbers[k]))
                                   : all.back().set(data.tensors[k], of(data.labels[k]));
        }
    }
    std::vector<std::vector<numbers>> left(ts::to_size(replicas)); // by replica and parameter
    std::vector<numbers> velocity;
    for (const numbers& p : all[0].parameters) {
        velocity.emplace_back(p.size(), 0.0);
        for (auto& l : left) {
            l.emplace_back(p.size(), 0.0);
        }
    }
    for (int step = 0; step < steps; ++step) {
        ts::run_state run;
        run.seed = seed;
        run.step = static_cast<std::uint64_t>(step);
        for (ts::reference::network& n : all) {
            n.parameters = all[0].parameters;
            n.differentiate(run);
        }
        for (std::size_t p = 0; p < velocity.size(); ++p) {
            numbers sum(velocity[p].size(), 0);
            for (std::size_t r = 0; r < all.size(); ++r) {
                for (std::size_t i = 0; i < sum.size(); ++i) { // means are over all samples
                    left[r][p][i] += all[r].gradients[p][i] / replicas;
                }
                const numbers arrived = sent(how, left[r][p]);
                for (std::size_t i = 0; i < sum.size(); ++i) {
                    sum[i] += arrived[i];
                }
            }
            for (std::size_t i = 0; i < sum.size(); ++i) {
                velocity[p][i] = static_cast<double>(rule.momentum) * velocity[p][i] + sum[i];
                all[0].parameters[p][i] -= static_cast<double>(rule.learning_rate) * velocity[p][i];
            }
        }
    }
    CHECK(all[0].parameters.size() == ts::to_size(g.parameter_count));
    return all[0].parameters;
}

/// Parameters after steps of a session, in which all copies are equal.
template <class Backend>
std::vector<std::vector<float>> trained(const ts::graph_view& g, const ts::strategy& s, int devices,
                                        const ts::optimizer& how, std::uint64_t seed,
                                        const std::vector<std::vector<ts::input_data>>& batches) {
    ts::workers threads(devices);
    ts::session_options options;
    options.seed = seed;
    Backend backend(how);
    ts::session<Backend> session(g, s, devices, how, options, backend, threads);
    (void)session.steps(batches);
    std::vector<std::vector<float>> all;
    for (int p = 0; p < g.parameter_count; ++p) {
        all.push_back(session.parameter(p));
        const auto copies = session.parameter_copies(p);
        CHECK(copies.size() == ts::to_size(devices));
        for (const auto& c : copies) {
            CHECK(c.second == copies[0].second);
        }
    }
    return all;
}

ts::synchronization compressed(const ts::graph_view& g, const compression_setting& compress) {
    const auto all = ts::schedule::gradients_of(g);
    const ts::schedule::bucket_sizes size{1200, 100}; // several messages, of several gradients
    return compress.how == compression::top_k        ? ts::schedule::top_k_gradients(all, compress.keep_one_in, size)
           : compress.how == compression::eight_bits ? ts::schedule::eight_bit_gradients(all, compress.block, size)
                                                     : ts::schedule::one_bit_gradients(all, compress.block, size);
}

constexpr compression_setting settings[] = {{compression::eight_bits, 256, ts::usual_keep_one_in},
                                            {compression::eight_bits, 20, ts::usual_keep_one_in},
                                            {compression::one_bit, 64, ts::usual_keep_one_in},
                                            {compression::top_k, ts::usual_block, 10}};

} // namespace

TEST_CASE("compressed gradients: the parameters of one device that compresses for all, in double") {
    const ts::sgd rule{.learning_rate = 0.1F, .momentum = 0.5F};
    const int samples = 12;
    const int steps = 6;
    const std::uint64_t seed = 3;
    const ts::graph whole = ts::describe<network>(samples);
    const ts::graph_view g = whole.view();
    const batch_data data(g, 7);
    const std::vector<std::vector<ts::input_data>> batches(steps, data.inputs);
    for (const int replicas : {2, 3}) {
        const std::vector<numbers> start = one_device(g, data, samples, replicas, settings[0], rule, 0, seed);
        const std::vector<numbers> plain =
            one_device(g, data, samples, 1, {compression::top_k, 1, 1}, rule, steps, seed);
        for (const compression_setting& how : settings) {
            CAPTURE(std::string(to_text(how.how)));
            CAPTURE(how.block);
            CAPTURE(replicas);
            const std::vector<numbers> expected = one_device(g, data, samples, replicas, how, rule, steps, seed);
            ts::strategy s = data_parallel(g, replicas, compressed(g, how));
            const auto found = trained<ts::reference::backend>(g, s, replicas, rule, seed, batches);
            const double off = parameter_difference(found, expected, start);
            const double compression_changes = parameter_difference(found, plain, start);
            MESSAGE(std::string(to_text(how.how))
                    << " in blocks of " << how.block << ", " << replicas << " replicas: off by " << off
                    << " of the largest change; without compression by " << compression_changes);
            CHECK(off < 1e-4);
            CHECK(compression_changes > 10 * off);
            // What devices leave out goes from plan to plan, and from step to step of one plan; beside computation too.
            s.steps_per_plan = 2;
            CHECK(trained<ts::reference::backend>(g, s, replicas, rule, seed, batches) == found);
            s.overlap = true;
            s.steps_per_plan = 3;
            CHECK(trained<ts::reference::backend>(g, s, replicas, rule, seed, batches) == found);
#ifdef TESSERA_TEST_HOST
            s.steps_per_plan = 1;
            const auto by_host = trained<ts::host::backend>(g, s, replicas, rule, seed, batches);
            CHECK(parameter_difference(by_host, expected, start) < 1e-3);
            s.steps_per_plan = 2;
            CHECK(trained<ts::host::backend>(g, s, replicas, rule, seed, batches) == by_host);
#endif
        }
    }
}

TEST_CASE(
    "compressed gradients: an element far below its block's scale moves its weight as far as without compression") {
    struct out : ts::linear<1> {};
    struct one_layer : ts::sequential<ts::features<16>, out, ts::mse_loss> {};
    const int samples = 8;
    const ts::graph whole = ts::describe<one_layer>(samples);
    const ts::graph_view g = whole.view();
    std::vector<float> features(ts::to_size(16 * samples), 1.0F);
    const auto set_small = [&](float x) { // the third feature, whose weight then has so much smaller gradients
        for (int i = 0; i < samples; ++i) {
            features[ts::to_size(16 * i + 3)] = x;
        }
    };
    const std::vector<float> targets(ts::to_size(samples), 1e6F); // far away: gradients stay the same
    const std::vector<ts::input_data> batch{std::span<const float>(features), std::span<const float>(targets)};
    const std::vector<std::vector<ts::input_data>> batches(1000, batch);
    const ts::optimizer rule(ts::sgd{.learning_rate = 1e-9F});
    const auto all = ts::schedule::gradients_of(g);
    const auto moved = [&](const ts::synchronization& sync) {
        const ts::strategy s = data_parallel(g, 2, sync);
        const auto first = trained<ts::reference::backend>(g, s, 2, rule, 5, {});
        return static_cast<double>(trained<ts::reference::backend>(g, s, 2, rule, 5, batches)[0][3]) -
               static_cast<double>(first[0][3]);
    };
    const auto share = [&](const ts::synchronization& sync, float small) {
        set_small(small);
        const double plain = moved(ts::schedule::buckets(all));
        REQUIRE(std::abs(plain) > 1e-6);
        return moved(sync) / plain;
    };
    // Half a 127th of the largest gradient is 4 times this one, so that one step alone sends nothing of it.
    const double eight = share(ts::schedule::eight_bit_gradients(all), 1e-3F);
    const double one = share(ts::schedule::one_bit_gradients(all), 1e-3F);
    // It is never the largest of a step's.
    const double largest = share(ts::schedule::top_k_gradients(all, 17), 0.1F);
    MESSAGE("shares of the change without compression: of 8 bits " << eight << ", of 1 bit " << one
                                                                   << ", of the largest element " << largest);
    CHECK(std::abs(eight - 1) < 0.01);
    CHECK(std::abs(one - 1) < 0.05);
    CHECK(std::abs(largest - 1) < 0.25);
}

TEST_CASE("compressed gradients: where all elements are sent they are the numbers of one device under any strategy") {
    using namespace test_support;
    coverage seen;
    const auto reference = [](const ts::optimizer& update) { return ts::reference::backend(update); };
    sweep_check check;
    int number = 0;
    for (const sweep_case& c : sweep_cases()) {
        if (c.how.clip_norm > 0) {
            continue; // refused
        }
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        for (int i = 0; i <= strategy_count(1); ++i, ++number) {
            const int devices = 2 + number % 3;
            pipeline_case p = random_pipeline(g, devices, 9000 + static_cast<std::uint64_t>(number), seen);
            ts::strategy s = i == 0 ? data_parallel(g, std::min(devices, static_cast<int>(g.tensors[0].extents[0])))
                                    : std::move(p.how);
            s.sync = ts::schedule::top_k_gradients(ts::schedule::gradients_of(g), 1, {2400, 500});
            s.sync.sum_at = number % 4 == 1 ? ts::sync_time::after_backward : ts::sync_time::ready;
            s.sync.update_at = number % 4 == 2 ? ts::sync_time::after_backward : ts::sync_time::ready;
            s.overlap = number % 3 == 1;
            CAPTURE(number);
            CAPTURE(p.schedule);
#ifdef TESSERA_TEST_HOST
            if (number / 2 % 2 == 1) {
                const auto host = [](const ts::optimizer& update) { return ts::host::backend(update); };
                check.hold(c, devices, expected.run(s, devices, host), 10 * allowed_rounding_of(c, 1e-2));
                continue;
            }
#endif
            check.hold(c, devices, expected.run(s, devices, reference),
                       allowed_rounding_of(c, allowed_rounding_with_adam));
        }
    }
    MESSAGE(number << " strategies");
}

TEST_CASE("compressed gradients: a step whose loss is not finite changes nothing, what was left out neither") {
    const ts::graph whole = ts::describe<network>(12);
    const ts::graph_view g = whole.view();
    const batch_data data(g, 7);
    batch_data bad(g, 8);
    bad.numbers[0][5] = std::numeric_limits<float>::quiet_NaN();
    for (const compression_setting& how : settings) {
        CAPTURE(std::string(to_text(how.how)));
        const ts::sgd rule{.learning_rate = 0.1F};
        const ts::optimizer optimizer(rule);
        ts::workers threads(2);
        const auto trained_through = [&](bool through) {
            ts::reference::backend backend(optimizer);
            ts::session<ts::reference::backend> session(g, data_parallel(g, 2, compressed(g, how)), 2, optimizer, {},
                                                        backend, threads);
            std::vector<std::vector<float>> all;
            for (int step = 0; step < 4; ++step) {
                if (through && step == 2) {
                    CHECK_THROWS_AS(session.step(bad.inputs), ts::error);
                }
                session.step(data.inputs);
            }
            for (int p = 0; p < g.parameter_count; ++p) {
                all.push_back(session.parameter(p));
            }
            return all;
        };
        CHECK(trained_through(true) == trained_through(false));
    }
}

TEST_CASE("compressed gradients: a training that goes on from a file begins with nothing left out") {
    const ts::graph whole = ts::describe<network>(12);
    const ts::graph_view g = whole.view();
    const batch_data data(g, 7);
    const batch_data other(g, 8);
    const ts::optimizer rule(ts::sgd{.learning_rate = 0.1F});
    const auto trained_after = [&](bool other_training) {
        ts::workers threads(2);
        ts::reference::backend backend(rule);
        ts::session<ts::reference::backend> session(g, data_parallel(g, 2, compressed(g, settings[2])), 2, rule, {},
                                                    backend, threads);
        std::vector<std::vector<float>> all;
        for (int p = 0; p < g.parameter_count; ++p) {
            all.push_back(session.parameter(p));
        }
        if (other_training) {
            session.step(other.inputs);
            for (int p = 0; p < g.parameter_count; ++p) { // as io::load_checkpoint does
                session.set_state(p, -1, all[ts::to_size(p)]);
            }
            session.resume_after(0, session.seed(), session.learning_rate());
        }
        session.step(data.inputs);
        session.step(data.inputs);
        for (int p = 0; p < g.parameter_count; ++p) {
            all[ts::to_size(p)] = session.parameter(p);
        }
        return all;
    };
    CHECK(trained_after(true) == trained_after(false));
}

TEST_CASE("compressed gradients: a small problem is learned as far as without compression") {
    struct h1 : ts::linear<32> {};
    struct h2 : ts::linear<4> {};
    struct learner : ts::sequential<ts::features<8>, h1, ts::tanh, h2, ts::cross_entropy> {};
    const int samples = 64;
    const ts::graph whole = ts::describe<learner>(samples);
    const ts::graph_view g = whole.view();
    batch_data data(g, 11);
    for (int i = 0; i < samples; ++i) { // which of four quarters the first two features are in
        const std::size_t row = ts::to_size(8 * i);
        data.labels[1][ts::to_size(i)] = (data.numbers[0][row] > 0 ? 1 : 0) + (data.numbers[0][row + 1] > 0 ? 2 : 0);
    }
    const ts::optimizer rule(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const auto all = ts::schedule::gradients_of(g);
    const auto loss = [&](const ts::synchronization& sync, int steps) {
        ts::workers threads(4);
        ts::reference::backend backend(rule);
        ts::session<ts::reference::backend> session(g, data_parallel(g, 4, sync), 4, rule, {}, backend, threads);
        double last = 0;
        for (int i = 0; i <= steps; ++i) {
            last = session.step(data.inputs);
        }
        return last;
    };
    const double begin = loss(ts::schedule::buckets(all), 0);
    const int steps = 150;
    const double plain = loss(ts::schedule::buckets(all), steps);
    const double eight = loss(ts::schedule::eight_bit_gradients(all), steps);
    const double one = loss(ts::schedule::one_bit_gradients(all, 32), steps);
    const double largest = loss(ts::schedule::top_k_gradients(all, 10), steps);
    MESSAGE("losses after " << steps << " steps, from " << begin << ": " << plain << ", of 8 bits " << eight
                            << ", of 1 bit " << one << ", of one element in 10 " << largest);
    CHECK(plain < begin / 10);
    CHECK(std::abs(eight - plain) < 0.02 * plain);
    CHECK(one < begin / 10);
    CHECK(largest < begin / 10);
}
