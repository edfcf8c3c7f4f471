// SPDX-License-Identifier: Apache-2.0
// The same numbers from random networks under random strategies, schedules and policies, with short batches and
// evaluations between the steps.
#pragma once

#include "random_oracle.hpp"
#include "random_pair.hpp"

#include <optional>
#include <string>
#include <vector>

namespace test_support {

/// What became of pairs of networks and strategies.
struct pair_findings {
    int pairs = 0;
    int networks = 0;
    int unusable = 0;            ///< networks that rounding alone takes elsewhere, drawn anew
    int decided_by_rounding = 0; ///< pairs
    counts_by_name refused;      ///< by rule
    record_difference worst;     ///< of pairs that are right
    kind_counts kinds{};
    coverage splits;
    std::vector<std::string>
        rough; ///< pairs no further off than one device of the same backend: its kernels round more than others
    std::vector<std::string> wrong;
    std::vector<std::uint64_t> wrong_networks; ///< their numbers, each once
};

/// `pairs_each` pairs of the random network number `number`; `make(optimizer, pair)` makes a backend. Nothing where the
/// network is not usable.
template <class Reference, class Make>
void try_pairs(std::uint64_t number, int pairs_each, pair_findings& found, Make make) {
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    const batch_data data(g, number + 1);
    const auto session_record = [&](const ts::strategy& s, int devices, auto& backend) {
        ts::session_options options;
        options.seed = c.seed;
        options.keep_gradients = true;
        ts::workers threads(devices);
        ts::session<std::remove_reference_t<decltype(backend)>> session(g, s, devices, c.how, options, backend,
                                                                        threads);
        return train(session, c, data, s.steps_per_plan);
    };
    std::vector<std::pair<int, random_oracle>> known;
    const auto oracle_of = [&](int micro_batches) -> random_oracle& {
        for (auto& [count, oracle] : known) {
            if (count == micro_batches) {
                return oracle;
            }
        }
        known.emplace_back(micro_batches, random_oracle(c, data, micro_batches, [&] {
                               Reference backend(c.how);
                               ts::strategy s(g);
                               s.micro_batches = micro_batches;
                               return session_record(s, 1, backend);
                           }));
        return known.back().second;
    };
    known.reserve(16);
    try {
        if (!oracle_of(1).is_usable()) {
            ++found.unusable;
            return;
        }
    } catch (const ts::error& e) { // no training: it has statistics of one value
        if (std::string(e.what()).find("one value for each channel") == std::string::npos) {
            throw;
        }
        return;
    }
    ++found.networks;
    count_kinds(g, found.kinds);
    const std::size_t before = found.wrong.size();
    for (int i = 0; i < pairs_each; ++i) {
        const std::uint64_t seed = number * 64 + static_cast<std::uint64_t>(i);
        const random_pair pair = draw_pair(g, c.how, seed, found.splits);
        const std::string name = "network " + std::to_string(number) + ", pair " + std::to_string(i) + ": " + pair.what;
        ++found.pairs;
        const int count = pair.how.statistics == ts::statistics_over::mini_batch ? 1 : pair.how.micro_batches;
        try {
            const bool apart = !replicas_of(g, pair.how).empty() || pair.how.statistics == ts::statistics_over::replica;
            std::optional<random_oracle> replicated;
            if (apart) {
                const auto off = [&] {
                    return nudged_oracle(c, data, count, std::ldexp(1.0, -23), 99, &pair.how).seen;
                };
                replicated.emplace(c, data, count, off, &pair.how);
            }
            random_oracle& expected = apart ? *replicated : oracle_of(count);
            if (!expected.is_usable()) {
                ++found.decided_by_rounding;
                continue;
            }
            auto backend = make(c.how, seed);
            const training_record seen = session_record(pair.how, pair.devices, backend);
            record_difference d;
            const random_oracle::finding f = expected.judge(seen, d);
            found.decided_by_rounding += f == random_oracle::finding::decided_by_rounding ? 1 : 0;
            if (f == random_oracle::finding::wrong) {
                auto alone = make(c.how, seed);
                ts::strategy s(g);
                s.micro_batches = count;
                record_difference own;
                expected.judge(session_record(s, 1, alone), own);
                const bool rough = own.largest() < 0.02 && d.loss <= 1e-4 + 10 * own.loss &&
                                   d.gradient <= 1e-4 + 10 * own.gradient && d.change <= 1e-4 + 10 * own.change;
                (rough ? found.rough : found.wrong)
                    .push_back(name + ": loss " + std::to_string(d.loss) + " gradient " + std::to_string(d.gradient) +
                               " change " + std::to_string(d.change) + " correct " +
                               std::to_string(seen.least_correct) + " of " +
                               std::to_string(expected.expected().least_correct) + " to " +
                               std::to_string(expected.expected().most_correct));
            } else if (f == random_oracle::finding::right) {
                found.worst.loss = std::max(found.worst.loss, d.loss);
                found.worst.gradient = std::max(found.worst.gradient, d.gradient);
                found.worst.change = std::max(found.worst.change, d.change);
            }
        } catch (const std::exception& e) {
            const std::string words = e.what();
            if (words.find("the plan is refused") != std::string::npos || words.find("tessera: ") != 0) {
                found.wrong.push_back(name + ": " + words);
            } else {
                found.refused.add(rule_of(words));
            }
        }
    }
    if (found.wrong.size() > before) {
        found.wrong_networks.push_back(number);
    }
}

} // namespace test_support
