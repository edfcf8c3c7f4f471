// SPDX-License-Identifier: Apache-2.0
// Bodies of compared.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/compared.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE compared_search compare_with_baselines(const graph_view& g, const cluster& on, const std::string& name,
                                                      const strategy& found, const compare_options& o) {
    require(g, found.view(), on.devices());
    compared_search r;
    const auto add = [&](const std::string& called, const strategy& s) {
        for (const compared_strategy& other : r.all) {
            if (is_same(other.value, s)) {
                return;
            }
        }
        compared_strategy x{called, s, {}};
        try {
            require(g, s.view(), on.devices());
            x.step = simulate_finished(g, on, s, o.times, o.lowering);
        } catch (const error& e) {
            x.refused = e.what();
        }
        r.all.push_back(std::move(x));
    };
    add(name, found);
    if (!r.all[0].refused.empty()) {
        throw error(r.all[0].refused);
    }
    int node = 1;
    while (node < on.devices() && on.node_of(node) == on.node_of(0)) {
        ++node;
    }
    for (const search_record* b : designed_strategies) {
        if (b->is_baseline && applies(*b, g, on)) {
            add(std::string(b->title), b->run(g, on, {}).best);
        }
    }
    if (node > 1 && node < on.devices()) {
        add("data parallel on one node", data_parallel(g, node));
    }
    for (std::size_t i = 1; i < r.all.size(); ++i) {
        const compared_strategy& x = r.all[i];
        const compared_strategy& best = r.all[r.fastest];
        const bool may = x.step.fits || !o.memory_limit || !best.step.fits;
        const bool lacks = o.memory_limit && !best.step.fits && x.step.fits;
        if (x.refused.empty() && may && (lacks || x.step.makespan < best.step.makespan)) {
            r.fastest = i;
        }
    }
    r.returned = o.faithful ? 0 : r.fastest;
    return r;
}

TESSERA_INLINE std::string to_text(const compared_search& r) {
    std::string text = "returned: " + r.result().name + "\n";
    for (std::size_t i = 0; i < r.all.size(); ++i) {
        const compared_strategy& x = r.all[i];
        char line[200];
        print_to(line, sizeof line, "%s %-28s %12.3f ms a step%s", i == r.returned ? ">" : " ", x.name.c_str(),
                 static_cast<double>(x.step.makespan) * 1e-6, x.step.fits ? "" : ", which does not fit");
        text += x.refused.empty() ? std::string(line) + "\n" : "  " + x.name + ": refused: " + x.refused + "\n";
    }
    if (r.shortfall() > 0) {
        char line[200];
        print_to(line, sizeof line, "%s is %.3f ms a step slower than %s\n", r.all[0].name.c_str(),
                 static_cast<double>(r.shortfall()) * 1e-6, r.all[r.fastest].name.c_str());
        text += line;
    }
    return text;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
