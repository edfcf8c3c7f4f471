// SPDX-License-Identifier: Apache-2.0
// Random strategies by which equal parts of a machine do the same, simulated from two parts and as a whole.
#pragma once

#include "policies.hpp"
#include "random_case.hpp"
#include "random_pipeline.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/coarse/parts.hpp"
#include "tessera/search/equal_parts.hpp"

#include <map>
#include <string>
#include <vector>

namespace test_support {

struct parts_findings {
    int drawn = 0;                    ///< strategies
    int illegal = 0;                  ///< of these
    int folded = 0;                   ///< of which two parts were simulated, and everything
    int by_parts[5]{};                ///< of these: parts of 1 device, of 2, of more; pipelines; ZeRO 3
    std::map<std::string, int> whole; ///< why all devices were simulated
    std::vector<std::string> wrong;
};

/// A machine of nodes that are alike.
inline ts::device_graph random_nodes(random& pick) {
    const int nodes = 1 + pick(2);
    switch (pick(5)) {
    case 0:
        return ts::machines::p100_nodes(nodes);
    case 1:
        return ts::machines::k80_nodes(nodes);
    case 2:
        return ts::machines::v100_nodes(nodes);
    case 3:
        return ts::fully_linked(ts::machines::p100_cluster(3 * nodes));
    default:
        return ts::machines::h100_nodes(nodes);
    }
}

inline std::string different_memory(const std::vector<ts::index_t>& found, const std::vector<ts::index_t>& all) {
    std::string text;
    for (std::size_t d = 0; d < all.size(); ++d) {
        if (found[d] != all[d]) {
            text += "; device " + std::to_string(d) + " holds " + std::to_string(found[d]) + ", all " +
                    std::to_string(all[d]);
        }
    }
    return text;
}

/// One random strategy of a network. Both simulations must say the same of step, bytes and memory.
inline void try_parts(const random_case& network, std::uint64_t seed, coverage& seen, parts_findings& found) {
    random pick{ts::op::mix(seed ^ 0x9a475ULL)};
    const ts::cluster on(random_nodes(pick));
    std::vector<int> counts;
    for (int c = 3; c <= on.devices(); ++c) {
        if (on.devices() % c == 0) {
            counts.push_back(c);
        }
    }
    if (counts.empty()) {
        return;
    }
    const int parts = counts[ts::to_size(pick(static_cast<int>(counts.size())))];
    const int devices = on.devices() / parts;
    const ts::graph one = ts::with_batch(network.network.view(), 24); // which most degrees and micro-batches divide
    pipeline_case part = random_pipeline(one.view(), devices, seed, seen);
    if (pick(3) == 0) {
        const ts::strategy split = ts::search::mesh(one.view(), 1, devices);
        part.how.ops = split.ops;
        part.how.pool = split.pool;
        part.how.schedule = {};
        part.stages = 1;
    }
    const ts::graph g = ts::with_batch(one.view(), one.view().tensors[0].extents[0] * parts);
    ts::strategy s = ts::search::repeated(g.view(), devices, part.how, parts);
    s.overlap = pick(4) == 0;
    s.sums_first = pick(4) == 0;
    std::string policy;
    if (pick(3) != 0) {
        const auto all = small_policies(g.view(), on.devices());
        const auto& [name, sync] = all[ts::to_size(pick(static_cast<int>(all.size())))];
        policy = name;
        s.sync = sync;
    }
    ts::lower_options lowering;
    lowering.update = network.how;
    if (pick(4) != 0) {
        lowering.update = ts::optimizer(ts::adam{});
    }
    const ts::search::equal_parts x = ts::search::equal_parts_of(g.view(), on, s, lowering);
    std::string whole = x.whole;
    ++found.drawn;
    if (x.parts > 1) {
        ts::search::parts_step r;
        ts::search::finished_step all;
        try {
            ts::require(g.view(), s.view(), on.devices());
            r = ts::search::simulate_planned_parts(on, x, {}, lowering);
            if (r.whole.empty()) {
                all = ts::search::simulate_finished(g.view(), on, s, {}, lowering);
            }
        } catch (const ts::error&) {
            ++found.illegal; // as searches meet them
            return;
        }
        whole = r.whole;
        if (r.whole.empty()) {
            ++found.folded;
            ++found.by_parts[devices < 3 ? devices - 1 : 2];
            found.by_parts[3] += part.stages > 1 ? 1 : 0;
            found.by_parts[4] += s.sync.shards_parameters ? 1 : 0;
            const bool same = r.step.makespan == all.makespan && r.step.moved_bytes == all.moved_bytes &&
                              r.step.peak_bytes == all.peak_bytes && r.step.fits == all.fits;
            if (!same) {
                found.wrong.push_back(
                    "network " + std::to_string(network.seed) + " seed " + std::to_string(seed) + " on " +
                    on.graph().name + ", " + std::to_string(x.parts) + " parts of " + std::to_string(on.devices()) +
                    " devices, " + part.schedule + " " + policy + (s.overlap ? " overlap" : "") + ": " +
                    std::to_string(r.step.makespan) + " ns, all " + std::to_string(all.makespan) + "; " +
                    std::to_string(r.step.moved_bytes) + " bytes, all " + std::to_string(all.moved_bytes) +
                    different_memory(r.step.peak_bytes, all.peak_bytes));
            }
        }
    }
    if (!whole.empty()) {
        const std::size_t device = whole.find("what device");
        ++found.whole[device == 0 ? "parts send to each other or share lanes" : whole];
    }
}

} // namespace test_support
