// SPDX-License-Identifier: Apache-2.0
// Bodies of placeto_progress.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/placeto_progress.hpp"

namespace tessera::learned {

TESSERA_INLINE std::string to_text(const placeto_progress& p) {
    std::string text = "tessera-placeto 1";
    detail::put(text, p.random, p.updates, p.graphs.size());
    text += '\n';
    for (const placeto_graph_progress& g : p.graphs) {
        detail::put(text, g.best.evaluations, g.best.step, g.best.excess_bytes);
        detail::put_placement(text, g.best.where);
        detail::put(text, g.returns.size(), g.returns.empty() ? 0 : g.returns.front().size());
        for (const std::vector<double>& all : g.returns) {
            for (const double x : all) {
                detail::put(text, x);
            }
        }
        text += '\n';
    }
    return text;
}

TESSERA_INLINE placeto_progress placeto_progress_of(const std::string& text) {
    detail::progress_reader in(text, "tessera-placeto", "a Placeto policy");
    placeto_progress p;
    for (std::size_t left = in.first_line(p.random, p.updates); left > 0; --left) {
        placeto_graph_progress g;
        in.numbers(g.best.evaluations, g.best.step, g.best.excess_bytes);
        g.best.where = in.placement();
        const std::size_t kept = in.count();
        const std::size_t steps = in.count();
        for (std::size_t k = 0; k < kept; ++k) {
            g.returns.emplace_back();
            for (std::size_t t = 0; t < steps; ++t) {
                g.returns.back().push_back(in.exact());
            }
        }
        p.graphs.push_back(std::move(g));
        in.next_graph();
    }
    in.end();
    return p;
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
