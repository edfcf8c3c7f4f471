// SPDX-License-Identifier: Apache-2.0
// The library's searches that take moments and little to compile: strategies designed by hand, and searches under a model of costs.
#pragma once

#include "tessera/search/optcnn_compared.hpp"

#include <utility>

namespace tessera::search {

inline constexpr std::array quick_searches = join(modelled_searches, designed_strategies);

namespace detail {

template <std::size_t... I>
std::vector<const search_record*> measured_among(std::index_sequence<I...>) {
    std::vector<const search_record*> all;
    const auto add = [&]<std::size_t Number>(std::integral_constant<std::size_t, Number>) {
        if constexpr (quick_searches[Number]->is_measured) { // or a program that measures would have the code of all
            constexpr const search_record* r = quick_searches[Number];
            all.push_back(r);
        }
    };
    (add(std::integral_constant<std::size_t, I>{}), ...);
    return all;
}

} // namespace detail

/// Those that are worth a measurement wherever something is measured, as a list to which others can be added.
inline std::vector<const search_record*> measured_searches() {
    return detail::measured_among(std::make_index_sequence<std::size(quick_searches)>{});
}

} // namespace tessera::search
