// SPDX-License-Identifier: Apache-2.0
// Bodies of contiguous.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/contiguous.hpp"

namespace tessera::search::placement::detail {

TESSERA_INLINE std::vector<int> order_of_blocks(const split_blocks& b, int kind, random_numbers& pick) {
    std::vector<std::vector<int>> out(to_size(b.count()));
    std::vector<int> waits(to_size(b.count()), 0);
    for (const auto& [from, to] : b.edges) {
        out[to_size(from)].push_back(to);
        ++waits[to_size(to)];
    }
    std::vector<int> free;
    for (int v = b.count() - 1; v >= 0; --v) {
        if (waits[to_size(v)] == 0) {
            free.push_back(v);
        }
    }
    std::vector<int> order;
    while (!free.empty()) {
        const bool lowest = kind == 0 || (kind > 1 && pick(4) == 0);
        const std::size_t i = lowest      ? to_size(std::min_element(free.begin(), free.end()) - free.begin())
                              : kind == 1 ? free.size() - 1
                                          : free.size() - 1 - to_size(pick(std::min(3, static_cast<int>(free.size()))));
        const int v = free[i];
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
        order.push_back(v);
        for (const int w : out[to_size(v)]) {
            if (--waits[to_size(w)] == 0) {
                free.push_back(w);
            }
        }
    }
    return order;
}

TESSERA_INLINE double beyond(const split_problem& p) {
    double sum = 1;
    for (const split_node& n : p.nodes) {
        sum += n.cpu_time + n.accelerator_time + n.output_cost;
    }
    return 2 * sum;
}

TESSERA_INLINE std::string why_none(const split_problem& p, const split_blocks& b, const downsets& sets,
                                    const contiguous_options& o) {
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        if (p.nodes[v].accelerated) {
            continue;
        }
        return text_of_node(p.nodes[v]) + " runs on no accelerator, and there is no CPU; give one";
    }
    split_problem sizes = p; // the least greatest size, by the same programme
    sizes.memory = most_split_number;
    split_blocks of_sizes = b;
    of_sizes.accelerator_time = b.size;
    of_sizes.outputs.clear();
    piece_search least(sizes, of_sizes, sets);
    std::string text = "the memory of " + fixed_text(p.memory) + " bytes is too small for a contiguous split over " +
                       std::to_string(p.accelerators) + " accelerators";
    double all = 1;
    for (const double s : b.size) {
        all += s;
    }
    if (least.run(2 * all, o.most_pairs)) {
        text += "; with " + std::to_string(static_cast<std::int64_t>(std::ceil(least.found()))) +
                " bytes on each there is one";
    }
    return text;
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE contiguous_found contiguous_optimum(const split_problem& p, const contiguous_options& o) {
    const split_blocks blocks(p);
    contiguous_found best;
    best.load = detail::beyond(p);
    const auto keep = [&](detail::piece_search& search, double limit) {
        const std::int64_t before = search.pairs();
        const bool found = search.run(limit, before + o.most_pairs - best.pairs);
        best.pairs += search.pairs() - before;
        if (found) {
            best.devices = search.chain();
            best.load = max_load(p, best.devices);
        }
        return found;
    };
    random_numbers pick{o.seed};
    for (int k = 0; k < std::max(1, o.orders); ++k) {
        const downsets prefixes(detail::order_of_blocks(blocks, k, pick));
        detail::piece_search search(p, blocks, prefixes);
        best.lower_bound = search.lower_bound();
        keep(search, best.load);
    }
    // Tables take 12 bytes for every downset and number of devices; a gigabyte is enough.
    const std::size_t entries = to_size(p.accelerators + 1) * to_size(p.cpus + 1);
    const downsets sets(blocks.count(), blocks.edges,
                        std::min(o.most_downsets, std::size_t{1} << 30U) / (1 + entries / 64));
    if (!sets.complete()) {
        best.why = best.devices.empty() ? "none was found, and there are too many downsets to look at all" : "";
        best.load = best.devices.empty() ? 0 : best.load;
        return best;
    }
    best.downsets = sets.count();
    detail::piece_search search(p, blocks, sets);
    // The lower the limit, the fewer pieces there are to look at; what is found below any limit is the optimum.
    for (const double above : {1.03, 1.12}) {
        const double limit = best.lower_bound * above;
        if (!best.proved && limit < best.load) {
            best.proved = keep(search, limit);
        }
    }
    if (!best.proved) {
        keep(search, best.load);
        best.proved = !search.stopped();
    }
    if (best.devices.empty()) {
        best.load = 0;
        best.why = best.proved ? detail::why_none(p, blocks, sets, o) : "none was found before the work was spent";
    } else if (best.proved) {
        best.lower_bound = best.load;
    }
    return best;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
