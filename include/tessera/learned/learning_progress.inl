// SPDX-License-Identifier: Apache-2.0
// Bodies of learning_progress.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/learning_progress.hpp"

namespace tessera::learned {

TESSERA_INLINE void graph_progress::note(const search::placement::found& f) {
    if (where.empty() || f.better_than({where, step, excess_bytes, 0})) {
        where = f.where;
        step = f.step;
        excess_bytes = f.excess_bytes;
    }
}

} // namespace tessera::learned

namespace tessera::learned::detail {

TESSERA_INLINE void put_placement(std::string& text, const search::placement::assignment& where) {
    put(text, where.size());
    for (const int d : where) {
        put(text, d);
    }
}

TESSERA_INLINE std::size_t progress_reader::first_line(std::uint64_t& random, std::int64_t& updates) {
    const std::string_view kind = word();
    int version = 0;
    std::size_t graphs = 0;
    if (!read(version) || !read(random) || !read(updates) || !read(graphs) || kind != kind_ || version != 1) {
        refuse("its first line is another");
    }
    return graphs;
}

TESSERA_INLINE std::size_t progress_reader::count() {
    std::size_t n = 0;
    numbers(n);
    if (n > to_size(search::placement::most_nodes)) {
        refuse(line() + " is damaged");
    }
    return n;
}

TESSERA_INLINE double progress_reader::exact() {
    const std::string_view number = word();
    double x = 0;
    if (!is_number_text(number, x)) {
        refuse(line() + (number.empty() ? " ends early" : " is damaged"));
    }
    return x;
}

TESSERA_INLINE search::placement::assignment progress_reader::placement() {
    search::placement::assignment where(count());
    for (int& d : where) {
        if (!read(d)) {
            refuse(line() + " ends early");
        }
    }
    return where;
}

TESSERA_INLINE void progress_reader::end() {
    if (!word().empty()) {
        refuse("it goes on behind its last graph");
    }
}

TESSERA_INLINE std::string_view progress_reader::word() {
    constexpr std::string_view blank = " \n\t\r";
    const std::size_t begin = std::min(text_.find_first_not_of(blank, at_), text_.size());
    at_ = std::min(text_.find_first_of(blank, begin), text_.size());
    return std::string_view(text_).substr(begin, at_ - begin);
}

TESSERA_INLINE void progress_reader::refuse(const std::string& what) const {
    throw error("tessera: the progress of " + std::string(whose_) + ": " + what + "; give what to_text() has written");
}

} // namespace tessera::learned::detail

namespace tessera::learned {

TESSERA_INLINE std::string to_text(const learning_progress& p) {
    std::string text = "tessera-learning 1";
    detail::put(text, p.random, p.updates, p.graphs.size());
    text += '\n';
    for (const graph_progress& g : p.graphs) {
        detail::put(text, g.baseline.sum, g.baseline.count, g.step, g.excess_bytes);
        detail::put_placement(text, g.where);
        text += '\n';
    }
    return text;
}

TESSERA_INLINE learning_progress progress_of(const std::string& text) {
    detail::progress_reader in(text, "tessera-learning", "a learner");
    learning_progress p;
    for (std::size_t left = in.first_line(p.random, p.updates); left > 0; --left) {
        graph_progress g;
        g.baseline.sum = in.exact();
        in.numbers(g.baseline.count, g.step, g.excess_bytes);
        g.where = in.placement();
        p.graphs.push_back(std::move(g));
        in.next_graph();
    }
    in.end();
    return p;
}

TESSERA_INLINE void require_graph(const char* who, int graph, std::size_t added) {
    if (graph < 0 || graph >= static_cast<int>(added)) {
        throw error("tessera: " + std::string(who) + "there is no graph " + std::to_string(graph) + "; " +
                    std::to_string(added) + " were added");
    }
}

TESSERA_INLINE void require_same_graphs(const char* who, std::size_t graphs, std::size_t added) {
    if (graphs != added) {
        throw error("tessera: " + std::string(who) + "the progress of " + std::to_string(graphs) + " graphs, and " +
                    std::to_string(added) + " were added; add the same graphs in the same order");
    }
}

TESSERA_INLINE void require_draws(const char* who, int count) {
    if (count < 1) {
        throw error("tessera: " + std::string(who) + "the best of " + std::to_string(count) +
                    " placements; draw at least 1");
    }
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
