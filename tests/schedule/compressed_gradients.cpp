// SPDX-License-Identifier: Apache-2.0
// Training with compressed gradients: against one device in double that compresses, keeps and sums for all replicas; and against training without.
#include "support/planned.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

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
#include <vector>

namespace {

namespace ts = tessera;
using test_support::batch_data;
using test_support::data_parallel;
using ts::compression;
using ts::compression_setting;

struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<10> {};
struct fc3 : ts::linear<5> {};
struct network : ts::sequential<ts::features<12>, fc1, ts::tanh, fc2, ts::tanh, fc3, ts::cross_entropy> {};

using numbers = std::vector<double>;

/// What arrives of v = gradient + what was left out before, by the definitions, in double; `v` becomes what is left out.
numbers sent(const compression_setting& how, numbers& v) {
    const std::size_t n = v.size();
    numbers arrived(n, 0);
    if (how.how == compression::top_k) {
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return std::abs(v[a]) > std::abs(v[b]); });
        const auto one_in = static_cast<std::size_t>(how.keep_one_in);
        for (std::size_t i = 0; i < (n + one_in - 1) / one_in; ++i) {
            arrived[order[i]] = v[order[i]];
        }
    }
    const auto block = static_cast<std::size_t>(how.block);
    for (std::size_t first = 0; first < n && how.how != compression::top_k; first += block) {
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
            arrived[i] = how.how == compression::one_bit ? sum[sign] / count[sign] : std::round(v[i] / scale) * scale;
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        v[i] -= arrived[i];
    }
    return arrived;
}

/// One device that trains as `replicas` with as many samples each would: parameters after some steps, by SGD with momentum.
std::vector<numbers> one_device(const ts::graph_view& g, const batch_data& data, int samples, int replicas,
                                const compression_setting& how, const ts::sgd& rule, int steps, std::uint64_t seed) {
    const ts::graph small = ts::describe<network>(samples / replicas);
    std::vector<ts::reference::network> all;
    for (int r = 0; r < replicas; ++r) {
        all.emplace_back(small.view());
        all.back().initialize(seed);
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            const auto of = [&](const auto& list) {
                const std::size_t each = list.size() / static_cast<std::size_t>(replicas);
                return std::span(list).subspan(static_cast<std::size_t>(r) * each, each);
            };
            data.labels[k].empty() ? all.back().set(data.tensors[k], of(data.numbers[k]))
                                   : all.back().set(data.tensors[k], of(data.labels[k]));
        }
    }
    std::vector<std::vector<numbers>> left(static_cast<std::size_t>(replicas)); // by replica and parameter
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
    CHECK(all[0].parameters.size() == static_cast<std::size_t>(g.parameter_count));
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
        CHECK(copies.size() == static_cast<std::size_t>(devices));
        for (const auto& c : copies) {
            CHECK(c.second == copies[0].second);
        }
    }
    return all;
}

/// The largest difference, as a share of the largest change of a parameter since the start.
double difference(const std::vector<std::vector<float>>& found, const std::vector<numbers>& expected,
                  const std::vector<numbers>& start) {
    double worst = 0;
    double change = 0;
    for (std::size_t p = 0; p < expected.size(); ++p) {
        for (std::size_t i = 0; i < expected[p].size(); ++i) {
            worst = std::max(worst, std::abs(static_cast<double>(found[p][i]) - expected[p][i]));
            change = std::max(change, std::abs(expected[p][i] - start[p][i]));
        }
    }
    REQUIRE(change > 0);
    return worst / change;
}

ts::synchronization compressed(const ts::graph_view& g, const compression_setting& how) {
    const auto all = ts::schedule::gradients_of(g);
    const ts::schedule::bucket_sizes size{1200, 100}; // several messages, of several gradients
    return how.how == compression::top_k        ? ts::schedule::top_k_gradients(all, how.keep_one_in, size)
           : how.how == compression::eight_bits ? ts::schedule::eight_bit_gradients(all, how.block, size)
                                                : ts::schedule::one_bit_gradients(all, how.block, size);
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
            CAPTURE(to_text(how.how));
            CAPTURE(how.block);
            CAPTURE(replicas);
            const std::vector<numbers> expected = one_device(g, data, samples, replicas, how, rule, steps, seed);
            ts::strategy s = data_parallel(g, replicas, compressed(g, how));
            const auto found = trained<ts::reference::backend>(g, s, replicas, rule, seed, batches);
            const double off = difference(found, expected, start);
            const double compression_changes = difference(found, plain, start);
            MESSAGE(to_text(how.how) << " in blocks of " << how.block << ", " << replicas << " replicas: off by " << off
                                     << " of the largest change; without compression by " << compression_changes);
            CHECK(off < 1e-4);
            CHECK(compression_changes > 10 * off);
            // What devices leave out goes from plan to plan, and from step to step of one plan; beside computation too.
            s.period = 2;
            CHECK(trained<ts::reference::backend>(g, s, replicas, rule, seed, batches) == found);
            s.overlap = true;
            s.period = 3;
            CHECK(trained<ts::reference::backend>(g, s, replicas, rule, seed, batches) == found);
#ifdef TESSERA_TEST_HOST
            s.period = 1;
            const auto by_host = trained<ts::host::backend>(g, s, replicas, rule, seed, batches);
            CHECK(difference(by_host, expected, start) < 1e-3);
            s.period = 2;
            CHECK(trained<ts::host::backend>(g, s, replicas, rule, seed, batches) == by_host);
#endif
        }
    }
}
