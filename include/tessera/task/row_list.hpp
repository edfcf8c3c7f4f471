// SPDX-License-Identifier: Apache-2.0
// What a backend offers, as a list of types: a row is made, and the kernels that it names are instantiated, where a
// table takes it up.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/record.hpp"

#include <array>

namespace tessera {

/// Rows of a backend, each a type with
///   Row::of             the operator's record;
///   Row::value<Value>   the row itself, a constant that is not made before it is named.
template <class... Row>
struct row_list {
    constexpr row_list(Row...) {}
    static constexpr bool has(const op_record& r) { return (same_operator(Row::of, r) || ...); }
    static constexpr int count_of(const op_record& r) { return ((same_operator(Row::of, r) ? 1 : 0) + ... + 0); }
    static constexpr bool has_one_of_each() { return ((count_of(Row::of) == 1) && ...); }
};

template <class... A, class... B>
constexpr row_list<A..., B...> operator+(row_list<A...>, row_list<B...>) {
    return {A{}..., B{}...};
}

/// The rows of the operators in a set (net/operator_set.hpp), made.
template <class Value, class Set, class... Row>
constexpr auto rows_among(row_list<Row...>) {
    std::array<const Value*, (std::size_t{Set::has(Row::of)} + ... + 0)> made{};
    [[maybe_unused]] std::size_t n = 0;
    [[maybe_unused]] const auto take = [&]<class R>(R) {
        if constexpr (Set::has(R::of)) {
            made[n++] = &R::template value<Value>;
        }
    };
    (take(Row{}), ...);
    return made;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
