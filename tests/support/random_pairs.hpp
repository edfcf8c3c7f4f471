// SPDX-License-Identifier: Apache-2.0
// The same numbers from random networks under random strategies, schedules and policies, with short batches and
// evaluations between the steps.
#pragma once

#include "random_oracle.hpp"
#include "random_schedule.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include <optional>
#include <string>
#include <vector>

namespace test_support {

/// A strategy for a random network, with what it is.
struct random_pair {
    ts::strategy how;
    int devices = 1;
    std::string what;
};

/// Random splits; or a random pipeline with any schedule or any legal order; with a random synchronization policy, parameters on one device,
/// averages of copies, communication lanes and plans of two steps now and then.
inline random_pair draw_pair(const ts::graph_view& g, const ts::optimizer& how, std::uint64_t seed, coverage& seen) {
    random pick{ts::op::mix(seed ^ 0x9a17ULL)};
    random_pair r;
    r.devices = 1 + pick(pick(4) == 0 ? 6 : 4);
    if (pick(3) == 0) {
        r.how = random_strategy(g, r.devices, seed, seen);
        r.what = "splits";
    } else {
        pipeline_case c = random_pipeline(g, r.devices, seed, seen);
        if (pick(4) == 0) {
            c.how.follow(random_order(stages_after(g, c.how, c.stages), 1 + pick(4), c.how.micro_batches, pick));
            c.how.statistics = ts::statistics_over::micro_batch;
            c.schedule = "any legal order";
        }
        r.how = static_cast<ts::strategy&&>(c.how);
        r.what = c.schedule;
    }
    r.how.overlap = pick(3) == 0;
    const int policy = pick(3) == 0 ? -1 : pick(13);
    if (policy == 11 && how.state_count() == 0 && how.clip_norm == 0) {
        r.how.sync = ts::schedule::parameter_average(1);
        r.what += ", averages";
    } else if (policy == 12) {
        r.how.parameters_on = pick(r.devices);
        r.what += ", parameters on one device";
    } else if (policy >= 0 && policy < 11) {
        auto all = small_policies(g, r.devices);
        r.how.sync = all[place(policy)].second;
        r.what += ", " + all[place(policy)].first;
    }
    r.how.period = r.how.parameters_on < 0 && pick(5) == 0 ? 2 : 1;
    r.what += " on " + std::to_string(r.devices) + " devices, " + std::to_string(r.how.micro_batches) +
              " micro-batches" + (r.how.period > 1 ? ", two steps at a time" : "");
    return r;
}

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
};

/// `pairs_each` pairs of the random network number `number`; `make(optimizer, pair)` makes a backend. Nothing where the network is not usable.
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
        return train(session, c, data, s.period);
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
    if (!oracle_of(1).is_usable()) {
        ++found.unusable;
        return;
    }
    ++found.networks;
    count_kinds(g, found.kinds);
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
}

} // namespace test_support
