// SPDX-License-Identifier: Apache-2.0
// What a learner knows besides its weights and its optimizer's state: its random numbers, baselines and best placements; as text, too. And what all learners
// ask of the graphs that they were given.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/learned/ppo.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace tessera::learned {

/// Of one graph.
struct graph_progress {
    mean_so_far baseline;
    search::placement::assignment where{}; ///< the best placement so far; empty: there is none
    index_t step = 0;                      ///< ns
    index_t excess_bytes = 0;
    friend bool operator==(const graph_progress& a, const graph_progress& b) {
        return !(a.baseline.sum < b.baseline.sum || a.baseline.sum > b.baseline.sum) &&
               a.baseline.count == b.baseline.count && a.where == b.where && a.step == b.step &&
               a.excess_bytes == b.excess_bytes;
    }

    void note(const search::placement::found& f) {
        if (where.empty() || f.better_than({where, step, excess_bytes, 0})) {
            where = f.where;
            step = f.step;
            excess_bytes = f.excess_bytes;
        }
    }
};

struct learning_progress {
    std::uint64_t random = 0; ///< state of the random numbers
    std::int64_t updates = 0;
    std::vector<graph_progress> graphs;
    friend bool operator==(const learning_progress&, const learning_progress&) = default;
};

namespace detail {

/// Adds words with spaces between them: whole numbers, and doubles with all of their bits.
template <class... Numbers>
void put(std::string& text, Numbers... x) {
    const auto one = [&](auto number) {
        text += text.empty() || text.back() == '\n' || text.back() == ' ' ? "" : " ";
        if constexpr (std::is_floating_point_v<decltype(number)>) {
            text += exact_text(number);
        } else {
            text += std::to_string(number);
        }
    };
    (one(x), ...);
}

inline void put_placement(std::string& text, const search::placement::assignment& where) {
    put(text, where.size());
    for (const int d : where) {
        put(text, d);
    }
}

/// Reads the text of a progress: a line for the whole, and one for each graph. Throws tessera::error for any other.
class progress_reader {
public:
    /// `kind` is the text's first word, `whose` who it is of, in words.
    progress_reader(const std::string& text, const char* kind, const char* whose)
        : text_(text), kind_(kind), whose_(whose) {}

    /// The first line; returns the number of graphs.
    std::size_t first_line(std::uint64_t& random, std::int64_t& updates) {
        const std::string_view kind = word();
        int version = 0;
        std::size_t graphs = 0;
        if (!read(version) || !read(random) || !read(updates) || !read(graphs) || kind != kind_ || version != 1) {
            refuse("its first line is another");
        }
        return graphs;
    }
    template <class... Numbers>
    void numbers(Numbers&... x) {
        if (!(read(x) && ...)) {
            refuse(line() + " is damaged");
        }
    }
    std::size_t count() {
        std::size_t n = 0;
        numbers(n);
        if (n > static_cast<std::size_t>(search::placement::most_nodes)) {
            refuse(line() + " is damaged");
        }
        return n;
    }
    double exact() {
        const std::string_view number = word();
        double x = 0;
        if (!is_number_text(number, x)) {
            refuse(line() + (number.empty() ? " ends early" : " is damaged"));
        }
        return x;
    }
    search::placement::assignment placement() {
        search::placement::assignment where(count());
        for (int& d : where) {
            if (!read(d)) {
                refuse(line() + " ends early");
            }
        }
        return where;
    }
    void next_graph() { ++graph_; }
    void end() {
        if (!word().empty()) {
            refuse("it goes on behind its last graph");
        }
    }

private:
    /// The next one; empty at the end.
    std::string_view word() {
        constexpr std::string_view blank = " \n\t\r";
        const std::size_t begin = std::min(text_.find_first_not_of(blank, at_), text_.size());
        at_ = std::min(text_.find_first_of(blank, begin), text_.size());
        return std::string_view(text_).substr(begin, at_ - begin);
    }
    template <class T>
    bool read(T& x) {
        const std::string_view w = word();
        const auto [end, failed] = std::from_chars(w.data(), w.data() + w.size(), x);
        return failed == std::errc{} && end == w.data() + w.size() && !w.empty();
    }
    std::string line() const { return "the line of graph " + std::to_string(graph_); }
    [[noreturn]] void refuse(const std::string& what) const {
        throw error("tessera: the progress of " + std::string(whose_) + ": " + what +
                    "; give what to_text() has written");
    }

    std::string text_;
    std::size_t at_ = 0;
    const char* kind_;
    const char* whose_;
    int graph_ = 0;
};

} // namespace detail

/// One line for the whole, and one for each graph; sums in hexadecimal, so that nothing is lost.
inline std::string to_text(const learning_progress& p) {
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

/// What to_text() has written. Throws tessera::error for any other text.
inline learning_progress progress_of(const std::string& text) {
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

// `who` is a learner's name with a colon and a space behind it, or empty.

/// Throws tessera::error unless a graph of this number was added.
inline void require_graph(const char* who, int graph, std::size_t added) {
    if (graph < 0 || graph >= static_cast<int>(added)) {
        throw error("tessera: " + std::string(who) + "there is no graph " + std::to_string(graph) + "; " +
                    std::to_string(added) + " were added");
    }
}

/// Throws tessera::error unless a progress is of as many graphs as were added.
inline void require_same_graphs(const char* who, std::size_t graphs, std::size_t added) {
    if (graphs != added) {
        throw error("tessera: " + std::string(who) + "the progress of " + std::to_string(graphs) + " graphs, and " +
                    std::to_string(added) + " were added; add the same graphs in the same order");
    }
}

/// Throws tessera::error for the best of no placements.
inline void require_draws(const char* who, int count) {
    if (count < 1) {
        throw error("tessera: " + std::string(who) + "the best of " + std::to_string(count) +
                    " placements; draw at least 1");
    }
}

/// Gives a trainer the parameters of another one whose network has the same.
template <class To, class From>
void copy_weights(To& to, From& from) {
    for (int p = 0; p < to.graph().parameter_count; ++p) {
        to.values().set_parameter(p, from.values().parameter(p));
    }
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
