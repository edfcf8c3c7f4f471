// SPDX-License-Identifier: Apache-2.0
// Files of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism for distributed deep learning: JSON, plain or
// gzip, of up to hundreds of megabytes, read as a stream into flat tables. The numbers are checked as they come;
// whatever is wrong is told with its byte.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/byte_source.hpp"
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
    std::span<const std::int64_t> operator[](std::size_t i) const;
};

class contest_reader {
public:
    explicit contest_reader(const std::string& path) : source_{path, "give a file of the contest's format, whole"} {}

    contest_problem run();

private:
    void problem(contest_problem& result);

    void build(search::choice_problem& p);

    void pair(const number_lists& all, std::size_t i, const char* what);

    std::span<const search::cost_t> clipped(number_lists& all, std::size_t i);

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

    void lists(number_lists& all, const std::string& name);

    /// A whole number of at least 0. JSON has no leading zeros; a fraction or an exponent is refused, for costs are
    /// whole.
    std::int64_t number();

    std::string text();

    void once(bool& seen, const std::string& name);
    number_lists& refuse_name(const std::string& name, const char* wanted);
    [[noreturn]] void refuse(const std::string& what) const;

    void expect(char wanted);
    /// The next byte that is no blank, -1 at the end; it is not taken.
    int peek();
    int here();
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
contest_problem read_contest_problem(const std::string& path);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/contest_file.inl"
#endif

#include "tessera/base/end_header.inl"
