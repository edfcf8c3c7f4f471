// SPDX-License-Identifier: Apache-2.0
// Explanations and differences as a person reads them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/explain/difference.hpp"
#include "tessera/search/explain/explain.hpp"

namespace tessera::search {

namespace detail {

/// 1234567 ns as 1.235 ms.
std::string milliseconds(index_t ns);

std::string reason(const graph_view& g, const movement& m);

} // namespace detail

/// An explanation as text: the alternatives, fastest step first, at most `most` of them and the chosen one (marked >)
/// in any case; then what moves.
std::string to_text(const graph_view& g, const explanation& e, std::size_t most = 20);

namespace detail {

/// The value of a strategy's field, for people.
template <class T>
std::string text_of_field(const T& x) {
    if constexpr (std::is_same_v<T, bool>) {
        return x ? "yes" : "no";
    } else if constexpr (std::is_enum_v<T>) {
        return to_text(x);
    } else if constexpr (std::is_arithmetic_v<T>) {
        return x < 0 ? "none" : std::to_string(x);
    } else if constexpr (std::is_same_v<T, pipeline_schedule>) {
        return x.stages == 0 ? "none"
                             : std::to_string(x.stages) + " stages on " + std::to_string(x.workers.size()) + " workers";
    } else {
        return tessera::detail::text_of(x);
    }
}

} // namespace detail

/// What two strategies do differently, a line for every operator that differs.
std::string to_text(const graph_view& g, const strategy_difference& d, const strategy& a, const strategy& b,
                    const std::string& first = "first", const std::string& second = "second");

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/explain/print.inl"
#endif

#include "tessera/base/end_header.inl"
