// SPDX-License-Identifier: Apache-2.0
// The library's searches that take moments and little to compile: strategies designed by hand, and searches under a
// model of costs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/compared.hpp"

#include <utility>

namespace tessera::search {

/// A template so that they are compiled where they are used, not wherever the header is included.
template <class Options = search_options>
inline constexpr std::array quick_searches = join(modelled_searches<Options>, designed_strategies);

/// The one of them of a name, for programs that need no others. Throws tessera::error, with names that are like it,
/// where there is none.
template <class Options = search_options>
const search_record& quick_search_named(std::string_view name) {
    return find_record(record_list(quick_searches<Options>), name, "search");
}

namespace detail {

template <class Options, std::size_t... I>
std::vector<const search_record*> measured_among(std::index_sequence<I...>) {
    std::vector<const search_record*> all;
    const auto add = [&]<std::size_t Number>(std::integral_constant<std::size_t, Number>) {
        if constexpr (quick_searches<Options>[Number]
                      -> is_measured) { // or a program that measures would have the code of all
            constexpr const search_record* r = quick_searches<Options>[Number];
            all.push_back(r);
        }
    };
    (add(std::integral_constant<std::size_t, I>{}), ...);
    return all;
}

} // namespace detail

/// Those that are worth a measurement wherever something is measured, as a list to which others can be added.
template <class Options = search_options>
std::vector<const search_record*> measured_searches() {
    return detail::measured_among<Options>(std::make_index_sequence<std::size(quick_searches<Options>)>{});
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
