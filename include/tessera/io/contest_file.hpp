// SPDX-License-Identifier: Apache-2.0
// Files of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism for distributed deep learning: JSON, plain or
// gzip, of up to hundreds of megabytes, read as a stream into flat tables. The numbers are checked as they come;
// whatever is wrong is told with its byte.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/byte_source.hpp"
#include "tessera/search/certified/choice_problem.hpp"

#include <array>

namespace tessera::io {

/// A problem as the file states it. `name` is its name in the file.
struct contest_problem {
    std::string name;
    search::choice_problem problem;
};

/// Costs from which a file means "may not be chosen" (the contest's files have 1e18): they become search::forbidden,
/// which no sum hides.
inline constexpr search::cost_t contest_forbidden = 100'000'000'000'000'000;

namespace detail {

/// Numbers of lists of numbers, one after the other.
struct number_lists {
    std::vector<std::int64_t> values;
    std::vector<std::size_t> first{0};
    bool seen = false;

    std::size_t size() const { return first.size() - 1; }
    std::span<const std::int64_t> operator[](std::size_t i) const {
        return {values.data() + first[i], first[i + 1] - first[i]};
    }
};

class contest_reader {
public:
    explicit contest_reader(const std::string& path) : source_{path, "give a file of the contest's format, whole"} {}

    contest_problem run() {
        contest_problem result;
        bool has_problem = false;
        object([&](const std::string& name) {
            if (name != "problem") refuse_name(name, "\"problem\"");
            once(has_problem, name);
            problem(result);
        });
        if (!has_problem) source_.refuse("has no \"problem\"");
        if (peek() >= 0) refuse("has something after its end");
        build(result.problem);
        return result;
    }

private:
    void problem(contest_problem& result) {
        bool has_name = false, has_nodes = false, has_edges = false, has_limit = false;
        object([&](const std::string& name) {
            if (name == "name") {
                once(has_name, name);
                result.name = text();
            } else if (name == "nodes") {
                once(has_nodes, name);
                object([&](const std::string& inner) {
                    lists(inner == "intervals" ? intervals_
                          : inner == "costs"   ? costs_
                          : inner == "usages"  ? usages_
                                               : refuse_name(inner, R"("intervals", "costs" and "usages" of nodes)"),
                          inner);
                });
            } else if (name == "edges") {
                once(has_edges, name);
                object([&](const std::string& inner) {
                    lists(inner == "nodes"   ? ends_
                          : inner == "costs" ? tables_
                                             : refuse_name(inner, R"("nodes" and "costs" of edges)"),
                          inner);
                });
            } else if (name == "usage_limit") {
                once(has_limit, name);
                result.problem.limit = number();
            } else {
                refuse_name(name, R"("name", "nodes", "edges" and "usage_limit")");
            }
        });
        if (!intervals_.seen || !costs_.seen || !usages_.seen || !ends_.seen || !tables_.seen || !has_limit) {
            source_.refuse(R"(lacks one of "intervals", "costs" and "usages" of nodes, "nodes" and "costs" of edges, )"
                           R"("usage_limit")");
        }
    }

    void build(search::choice_problem& p) {
        if (intervals_.size() != costs_.size() || usages_.size() != costs_.size()) {
            source_.refuse("has intervals of " + std::to_string(intervals_.size()) + " nodes, costs of " +
                           std::to_string(costs_.size()) + " and usages of " + std::to_string(usages_.size()));
        }
        if (ends_.size() != tables_.size()) {
            source_.refuse("has nodes of " + std::to_string(ends_.size()) + " edges, but costs of " +
                           std::to_string(tables_.size()));
        }
        if (costs_.size() > INT32_MAX || ends_.size() > INT32_MAX) {
            source_.refuse("has more than 2147483647 nodes or edges");
        }
        try {
            for (std::size_t v = 0; v < costs_.size(); ++v) {
                pair(intervals_, v, "interval of node ");
                p.add_node(clipped(costs_, v), usages_[v], {intervals_[v][0], intervals_[v][1]});
            }
            for (std::size_t e = 0; e < ends_.size(); ++e) {
                pair(ends_, e, "nodes of edge ");
                const auto count = static_cast<std::int64_t>(costs_.size());
                if (ends_[e][0] >= count || ends_[e][1] >= count) {
                    source_.refuse("joins by edge " + std::to_string(e) + " a node that it does not have: there are " +
                                   std::to_string(count));
                }
                p.add_edge(static_cast<int>(ends_[e][0]), static_cast<int>(ends_[e][1]), clipped(tables_, e));
            }
        } catch (const error& wrong) {
            source_.refuse(std::string("holds no problem: ") + wrong.what());
        }
    }

    void pair(const number_lists& all, std::size_t i, const char* what) {
        if (all[i].size() != 2) {
            source_.refuse("has " + std::to_string(all[i].size()) + " numbers for the " + what + std::to_string(i) +
                           ", but it takes 2");
        }
    }

    std::span<const search::cost_t> clipped(number_lists& all, std::size_t i) {
        for (std::size_t k = all.first[i]; k < all.first[i + 1]; ++k) {
            if (all.values[k] >= contest_forbidden) all.values[k] = search::forbidden;
        }
        return all[i];
    }

    template <class Member>
    void object(const Member& member) {
        expect('{');
        if (peek() == '}') {
            take();
            return;
        }
        for (;;) {
            const std::string name = text();
            expect(':');
            member(name);
            if (peek() == ',') {
                take();
                continue;
            }
            expect('}');
            return;
        }
    }

    void lists(number_lists& all, const std::string& name) {
        once(all.seen, name);
        expect('[');
        if (peek() == ']') {
            take();
            return;
        }
        for (;;) {
            expect('[');
            if (peek() == ']') {
                take();
            } else {
                for (;;) {
                    all.values.push_back(number());
                    if (peek() != ',') break;
                    take();
                }
                expect(']');
            }
            all.first.push_back(all.values.size());
            if (peek() != ',') break;
            take();
        }
        expect(']');
    }

    /// A whole number of at least 0. JSON has no leading zeros; a fraction or an exponent is refused, for costs are
    /// whole.
    std::int64_t number() {
        const int first = peek();
        if (first == '-') refuse("has a negative number");
        if (first < '0' || first > '9') refuse("needs a whole number");
        take();
        std::int64_t value = first - '0';
        int digits = 1;
        for (int c = here(); c >= '0' && c <= '9'; c = here()) {
            if (value == 0 || ++digits > 18 + (value < 900'000'000'000'000'000 ? 1 : 0)) {
                refuse(value == 0 ? "has a number that starts with 0" : "has a number above 9e18");
            }
            value = value * 10 + (c - '0');
            take();
        }
        if (const int c = here(); c == '.' || c == 'e' || c == 'E') refuse("has a number that is not whole");
        return value;
    }

    std::string text() {
        expect('"');
        std::string s;
        for (;;) {
            const int c = here();
            if (c < 0x20 || c == '\\') refuse("has a text that does not end, or with escapes, which no name here has");
            take();
            if (c == '"') return s;
            s.push_back(static_cast<char>(c));
            if (s.size() > 4096) refuse("has a name of more than 4096 bytes");
        }
    }

    void once(bool& seen, const std::string& name) {
        if (seen) refuse("has \"" + name + "\" twice");
        seen = true;
    }
    number_lists& refuse_name(const std::string& name, const char* wanted) {
        refuse("has \"" + name + "\", which means nothing here: there are " + wanted);
    }
    [[noreturn]] void refuse(const std::string& what) const {
        source_.refuse(what + " (byte " + std::to_string(before_ + at_) + ")");
    }

    void expect(char wanted) {
        if (peek() != wanted) refuse(std::string("needs '") + wanted + "'");
        take();
    }
    /// The next byte that is no blank, -1 at the end; it is not taken.
    int peek() {
        int c = here();
        while (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            take();
            c = here();
        }
        return c;
    }
    int here() {
        if (at_ == size_) {
            before_ += size_;
            at_ = 0;
            size_ = source_.read(bytes_.data(), bytes_.size());
            if (size_ == 0) return -1;
        }
        return bytes_[at_];
    }
    void take() { ++at_; }

    mutable byte_source source_;
    std::array<std::uint8_t, 1U << 16U> bytes_{};
    std::size_t at_ = 0, size_ = 0, before_ = 0;
    number_lists intervals_, costs_, usages_, ends_, tables_;
};

} // namespace detail

/// Reads a problem of the contest. Throws tessera::error for a file that cannot be read or is cut short, for anything
/// that the format does not have, for numbers that are negative, not whole or too large, for tables of the wrong size,
/// and for edges to nodes that are not there.
inline contest_problem read_contest_problem(const std::string& path) {
    return std::make_unique<detail::contest_reader>(path)->run();
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
