// SPDX-License-Identifier: Apache-2.0
// What a learner knows besides its weights and its optimizer's state: its random numbers, baselines and best
// placements; as text, too. And what all learners ask of the graphs that they were given.
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

    void note(const search::placement::found& f);
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

void put_placement(std::string& text, const search::placement::assignment& where);

/// Reads the text of a progress: a line for the whole, and one for each graph. Throws tessera::error for any other.
class progress_reader {
public:
    /// `kind` is the text's first word, `whose` who it is of, in words.
    progress_reader(const std::string& text, const char* kind, const char* whose)
        : text_(text), kind_(kind), whose_(whose) {}

    /// The first line; returns the number of graphs.
    std::size_t first_line(std::uint64_t& random, std::int64_t& updates);
    template <class... Numbers>
    void numbers(Numbers&... x) {
        if (!(read(x) && ...)) {
            refuse(line() + " is damaged");
        }
    }
    std::size_t count();
    double exact();
    search::placement::assignment placement();
    void next_graph() { ++graph_; }
    void end();

private:
    /// The next one; empty at the end.
    std::string_view word();
    template <class T>
    bool read(T& x) {
        const std::string_view w = word();
        const auto [end, failed] = std::from_chars(w.data(), w.data() + w.size(), x);
        return failed == std::errc{} && end == w.data() + w.size() && !w.empty();
    }
    std::string line() const { return "the line of graph " + std::to_string(graph_); }
    [[noreturn]] void refuse(const std::string& what) const;

    std::string text_;
    std::size_t at_ = 0;
    const char* kind_;
    const char* whose_;
    int graph_ = 0;
};

} // namespace detail

/// One line for the whole, and one for each graph; sums in hexadecimal, so that nothing is lost.
std::string to_text(const learning_progress& p);

/// What to_text() has written. Throws tessera::error for any other text.
learning_progress progress_of(const std::string& text);

// `who` is a learner's name with a colon and a space behind it, or empty.

/// Throws tessera::error unless a graph of this number was added.
void require_graph(const char* who, int graph, std::size_t added);

/// Throws tessera::error unless a progress is of as many graphs as were added.
void require_same_graphs(const char* who, std::size_t graphs, std::size_t added);

/// Throws tessera::error for the best of no placements.
void require_draws(const char* who, int count);

/// Gives a trainer the parameters of another one whose network has the same.
template <class To, class From>
void copy_weights(To& to, From& from) {
    for (int p = 0; p < to.graph().parameter_count; ++p) {
        to.values().set_parameter(p, from.values().parameter(p));
    }
}

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/learning_progress.inl"
#endif

#include "tessera/base/end_header.inl"
