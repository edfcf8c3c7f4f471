// SPDX-License-Identifier: Apache-2.0
// The same numbers under many strategies: networks with optimizers, and a runner for any backend.
#pragma once

#include "networks.hpp"
#include "same_numbers.hpp"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace test_support {

/// A network, its batch and how it is trained.
struct sweep_case {
    std::string name;
    ts::graph network;
    ts::optimizer how;
};

/// The networks, and what the options of training add. (A template so that it can be compiled once; see instances.hpp.)
template <class Case = sweep_case>
std::vector<Case> sweep_cases() {
    namespace n = test_networks;
    const ts::optimizer plain(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F});
    const ts::optimizer clipped(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F}, 0.05F);
    const ts::optimizer adam(ts::adam{.learning_rate = 0.01F, .weight_decay = 0.01F});
    std::vector<Case> cases;
    cases.push_back({"LeNet-5", ts::describe<n::lenet5::network>(4), plain});
    cases.push_back({"residual net", ts::describe<n::residual_net::network>(4), plain});
    cases.push_back({"residual net of volumes", ts::describe<n::residual_volumes::network>(3), plain});
    cases.push_back({"voxels", ts::describe<n::voxels::network>(3), plain});
    cases.push_back({"inception block", ts::describe<n::inception::network>(4), plain});
    cases.push_back({"U-Net", ts::describe<n::unet::network>(4), plain});
    cases.push_back({"MLP", ts::describe<n::mlp::network>(8), plain});
    cases.push_back({"Transformer block", ts::describe<n::transformer::network>(4), plain});
    cases.push_back({"grouped attention", ts::describe<n::grouped_attention::network>(4), plain});
    cases.push_back({"biased attention", ts::describe<n::biased_attention::network>(4), plain});
    cases.push_back({"LSTM", ts::describe<n::recurrent::network>(4), plain});
    cases.push_back({"translation", ts::describe<n::translator::network>(3), plain});
    cases.push_back({"U-Net with Adam", ts::describe<n::unet::network>(3), adam});
    cases.push_back({"MLP with clipping", ts::describe<n::mlp::network>(7), clipped});
    cases.push_back({"frozen layers", ts::describe<n::frozen_net::network>(5), plain});
    cases.push_back({"frozen layers with clipping", ts::describe<n::frozen_net::network>(5), clipped});
    cases.push_back({"two losses", ts::describe<n::two_losses::network>(6), plain});
    cases.push_back({"moves", ts::describe<n::moved::network>(4), plain});
    cases.push_back({"routed experts", ts::describe<n::routed::network>(4), plain});
    return cases;
}

/// How many strategies for each network: TESSERA_STRATEGIES, or `otherwise`.
inline int strategy_count(int otherwise) {
    const char* said = std::getenv("TESSERA_STRATEGIES");
    const int n = said != nullptr ? std::atoi(said) : 0;
    return n > 0 ? n : otherwise;
}

/// Relative differences that rounding of floats explains. Adam divides by the gradient's own size: on backends that sum
/// in another order, the differences of nearly vanishing gradients reach the weights whole.
constexpr double allowed_rounding = 1e-4;
constexpr double allowed_rounding_with_adam = 1e-3;

inline double allowed_rounding_of(const sweep_case& c, double with_adam) {
    return c.how.which == ts::optimizer::kind::adam ? with_adam : allowed_rounding;
}

/// One strategy run twice against the oracle.
struct sweep_result {
    comparison seen;
    bool repeats = false; ///< the second run is the first one's, bit for bit
    std::string failure;  ///< of an exception
};

/// `make(optimizer)` makes a backend.
template <class Make>
sweep_result run_strategy(const sweep_case& c, const ts::strategy& s, int devices, const batch_data& data,
                          const oracle& expected, std::uint64_t seed, Make& make) {
    sweep_result result;
    const ts::graph_view g = c.network.view();
    try {
        ts::session_options options;
        options.seed = seed;
        options.keep_gradients = true;
        ts::workers threads(devices);
        const auto once = [&](std::uint64_t& hash) {
            auto backend = make(c.how);
            ts::session<decltype(backend)> session(g, s, devices, c.how, options, backend, threads);
            hash = session.training_plan().hash;
            return compare(session, g, data, expected);
        };
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        result.seen = once(first);
        const comparison again = once(second);
        result.repeats =
            first == second && again.losses == result.seen.losses && again.parameters == result.seen.parameters;
    } catch (const std::exception& e) {
        result.failure = e.what();
    }
    return result;
}

/// What one device computes of a network in three steps, for every number of micro-batches once, and strategies against
/// it.
class oracles {
public:
    /// Of a case that outlives it.
    explicit oracles(const sweep_case& c) : of_(c), data_(c.network.view(), 7) {}

    /// Against one device that runs the same micro-batches (batch norms over the mini-batch make it one) and takes the
    /// statistics of batch norms over the same samples.
    template <class Make>
    sweep_result run(const ts::strategy& s, int devices, Make& make) {
        constexpr std::uint64_t seed = 11;
        const int count = s.statistics == ts::statistics_over::mini_batch ? 1 : s.micro_batches;
        const ts::graph_view g = of_.network.view();
        if (const auto replicas = replicas_of(g, s); !replicas.empty()) {
            return run_strategy(of_, s, devices, data_, {g, data_, of_.how, 3, seed, count, 0, replicas}, seed, make);
        }
        const oracle& expected = known_.try_emplace(count, g, data_, of_.how, 3, seed, count).first->second;
        return run_strategy(of_, s, devices, data_, expected, seed, make);
    }

private:
    const sweep_case& of_;
    batch_data data_;
    std::map<int, oracle> known_;
};

/// Calls `report(case, number, devices, result)` for `strategies` random strategies of a network from number `first`
/// on, on 1 to 8 devices in turn.
template <class Make, class Report>
void sweep(const sweep_case& c, int strategies, coverage& seen, Make make, Report report, int first = 0) {
    const ts::graph_view g = c.network.view();
    oracles expected(c);
    for (int i = first; i < first + strategies; ++i) {
        const int devices = 1 + i % 8;
        ts::strategy s = random_strategy(g, devices, 1000 + static_cast<std::uint64_t>(i), seen);
        s.parameters_on = i % 4 == 3 ? i / 4 % devices : -1; // one device stores all, now and then
        s.overlap = i % 3 == 1;
        s.statistics = i % 5 % 2 == 1 ? ts::statistics_over::replica : s.statistics;
        report(c, i, devices, expected.run(s, devices, make));
    }
}

} // namespace test_support
