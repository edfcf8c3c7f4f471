// SPDX-License-Identifier: Apache-2.0
// Bodies of contest_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/contest_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::span<const std::int64_t> number_lists::operator[](std::size_t i) const {
    return {values.data() + first[i], first[i + 1] - first[i]};
}

TESSERA_INLINE contest_problem contest_reader::run() {
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

TESSERA_INLINE void contest_reader::problem(contest_problem& result) {
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

TESSERA_INLINE void contest_reader::build(search::choice_problem& p) {
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

TESSERA_INLINE void contest_reader::pair(const number_lists& all, std::size_t i, const char* what) {
    if (all[i].size() != 2) {
        source_.refuse("has " + std::to_string(all[i].size()) + " numbers for the " + what + std::to_string(i) +
                       ", but it takes 2");
    }
}

TESSERA_INLINE std::span<const search::cost_t> contest_reader::clipped(number_lists& all, std::size_t i) {
    for (std::size_t k = all.first[i]; k < all.first[i + 1]; ++k) {
        if (all.values[k] >= contest_forbidden) all.values[k] = search::forbidden;
    }
    return all[i];
}

TESSERA_INLINE void contest_reader::lists(number_lists& all, const std::string& name) {
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

TESSERA_INLINE std::int64_t contest_reader::number() {
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

TESSERA_INLINE std::string contest_reader::text() {
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

TESSERA_INLINE void contest_reader::once(bool& seen, const std::string& name) {
    if (seen) refuse("has \"" + name + "\" twice");
    seen = true;
}

TESSERA_INLINE number_lists& contest_reader::refuse_name(const std::string& name, const char* wanted) {
    refuse("has \"" + name + "\", which means nothing here: there are " + wanted);
}

TESSERA_INLINE void contest_reader::refuse(const std::string& what) const {
    source_.refuse(what + " (byte " + std::to_string(before_ + at_) + ")");
}

TESSERA_INLINE void contest_reader::expect(char wanted) {
    if (peek() != wanted) refuse(std::string("needs '") + wanted + "'");
    take();
}

TESSERA_INLINE int contest_reader::peek() {
    int c = here();
    while (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        take();
        c = here();
    }
    return c;
}

TESSERA_INLINE int contest_reader::here() {
    if (at_ == size_) {
        before_ += size_;
        at_ = 0;
        size_ = source_.read(bytes_.data(), bytes_.size());
        if (size_ == 0) return -1;
    }
    return bytes_[at_];
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE contest_problem read_contest_problem(const std::string& path) {
    return std::make_unique<detail::contest_reader>(path)->run();
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
