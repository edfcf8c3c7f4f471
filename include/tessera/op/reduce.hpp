// SPDX-License-Identifier: Apache-2.0
// Sums, means, largest and smallest numbers over some dimensions, as loop nests: a split of a dimension that is reduced
// leaves partial results.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera {

namespace detail {

/// What a reduction is called: its function and the dimensions.
struct reduction_name {
    char text[48] = {};

    constexpr reduction_name(const char* what, const int* dimensions, int count) {
        int at = 0;
        for (; *what != 0; ++what) {
            text[at++] = *what;
        }
        for (int i = 0; i < count; ++i) {
            text[at++] = '_';
            text[at++] = static_cast<char>('0' + dimensions[i]);
        }
    }
};

template <class... More>
constexpr int largest_of(int first, More... more) {
    ((first = more > first ? more : first), ...);
    return first;
}

enum class reduction { sum, mean, max, min };

template <class Own, reduction How, bool Keeps, int... Dimensions>
struct reduced_dimensions : operation<Own> {
    static_assert(sizeof...(Dimensions) > 0, "tessera: say which dimensions are reduced, such as sum_over<2, 3>");
    static_assert(((Dimensions > 0 && Dimensions < max_rank) && ...),
                  "tessera: samples are not reduced, and a tensor has at most 5 dimensions: 1 to 4 may be");
    static constexpr int list[sizeof...(Dimensions)] = {Dimensions...};
    static constexpr int ranks[2] = {largest_of(Dimensions...) + 1, max_rank};

    static constexpr void body(auto& w) {
        const auto all = w.dimensions();
        nests::loop_list out;
        nests::loop_list over;
        for (int d = 0; d < all.size(); ++d) {
            const bool is_reduced = ((d == Dimensions) || ...);
            if (is_reduced) {
                over.all.push_back(all[d]);
            }
            if (!is_reduced || Keeps) {
                out.all.push_back(is_reduced ? nests::loop_handle() : all[d]); // index 0 of one
            }
        }
        const auto x = w.input(all);
        if constexpr (How == reduction::sum) {
            w.output(out) = w.sum(over, x);
        } else if constexpr (How == reduction::mean) {
            w.output(out) = w.sum(over, x / w.size(over));
        } else if constexpr (How == reduction::max) {
            w.output(out) = w.max(over, x);
        } else {
            w.output(out) = -w.max(over, -x);
        }
    }

protected:
    template <std::size_t Count>
    static constexpr reduction_name called(const char (&what)[Count]) {
        return {what, list, sizeof...(Dimensions)};
    }
};

} // namespace detail

// Layers: mean_over<2, 3> is [N,C,H,W] -> [N,C]; mean_over_kept<2, 3> is [N,C,H,W] -> [N,C,1,1], which broadcasts.
// Dimension 0, the samples, is none of them. Sums are taken in double. The gradient of the largest (smallest) number
// goes to the first of equal ones; NaN is larger than all.
// NOLINTBEGIN(bugprone-macro-parentheses): a class template's name takes none
#define TESSERA_REDUCTION(layer, how, keeps)                                                                           \
    template <int... Dimensions>                                                                                       \
    struct layer : detail::reduced_dimensions<layer<Dimensions...>, detail::reduction::how, keeps, Dimensions...> {    \
        static constexpr detail::reduction_name text = layer::called(#layer);                                          \
        static constexpr const char* name = text.text;                                                                 \
    };
TESSERA_REDUCTION(sum_over, sum, false)
TESSERA_REDUCTION(mean_over, mean, false)
TESSERA_REDUCTION(max_over, max, false)
TESSERA_REDUCTION(min_over, min, false)
TESSERA_REDUCTION(sum_over_kept, sum, true)
TESSERA_REDUCTION(mean_over_kept, mean, true)
TESSERA_REDUCTION(max_over_kept, max, true)
TESSERA_REDUCTION(min_over_kept, min, true)
#undef TESSERA_REDUCTION
// NOLINTEND(bugprone-macro-parentheses)

} // namespace tessera

#include "tessera/base/end_header.inl"
