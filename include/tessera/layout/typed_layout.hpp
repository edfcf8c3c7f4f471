// SPDX-License-Identifier: Apache-2.0
// Layouts as types: layout<extents<64, 320>, dims<shards<2>, shards<1>>> is 64 x 320 numbers, the rows in two shards on
// devices 0 and 1.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp" // first, so that compilers name few headers before the words of a refusal

#include "tessera/layout/tensor_layout.hpp"
#include "tessera/layout/typed_places.hpp"

#include <type_traits>
#include <utility>

namespace tessera {

/// The extents of a tensor, outermost dimension first.
template <index_t... Extents>
struct extents;

/// How every dimension of a tensor is split.
template <class... Shards>
struct dims;

// ---- one dimension --------------------------------------------------------------------------------------------------

/// In Degree equal shards; shards<1>: not split.
template <int Degree>
struct shards;
/// In Degree shards as even as they go, where Degree does not divide the extent.
template <int Degree>
struct uneven_shards;
/// At the indices given.
template <index_t... At>
struct shards_at;
/// [Begin, End)
template <index_t Begin, index_t End>
struct range;
/// A range for each shard. Where they overlap they hold the same numbers: what windows read.
template <class... Ranges>
struct shards_over;
/// A range for each shard. Where they overlap they hold summands: what windows add to the gradient of what they read.
template <class... Ranges>
struct sums_over;

namespace detail {

/// Adds how a dimension is split to a layout; what is wrong with it.
template <class Shards>
struct dimension_of;

template <int Degree>
struct dimension_of<uneven_shards<Degree>> {
    static constexpr problem check(index_t extent, int d) {
        return Degree < 1        ? problem{rule::degree_is_zero, -1, d, Degree, 1}
               : Degree > extent ? problem{rule::degree_exceeds_extent, -1, d, Degree, extent}
                                 : problem{};
    }
    static constexpr void append(tensor_layout& l, int d) {
        l.shards[d] = Degree;
        for (int i = 0; i < Degree; ++i) {
            l.ranges.push_back(even_part(l.extents[d], Degree, i));
        }
    }
};

template <int Degree>
struct dimension_of<shards<Degree>> : dimension_of<uneven_shards<Degree>> {
    static constexpr problem check(index_t extent, int d) {
        const problem p = dimension_of<uneven_shards<Degree>>::check(extent, d);
        return !p && extent % Degree != 0 ? problem{rule::degree_does_not_divide, -1, d, Degree, extent} : p;
    }
};

template <index_t... At>
struct dimension_of<shards_at<At...>> {
    static constexpr int cuts = static_cast<int>(sizeof...(At));
    static constexpr index_t at[cuts + 1] = {At..., 0};
    static constexpr problem check(index_t extent, int d) {
        index_t last = 0;
        for (int i = 0; i < cuts; ++i) {
            if (at[i] <= last || at[i] >= extent) {
                return {rule::cuts_are_wrong, -1, d, at[i], extent};
            }
            last = at[i];
        }
        return {};
    }
    static constexpr void append(tensor_layout& l, int d) {
        l.shards[d] = cuts + 1;
        for (int i = 0; i <= cuts; ++i) {
            l.ranges.push_back({i == 0 ? 0 : at[i - 1], i == cuts ? l.extents[d] : at[i]});
        }
    }
};

template <index_t... Begin, index_t... End>
struct dimension_of<shards_over<range<Begin, End>...>> {
    static constexpr problem check(index_t extent, int d) {
        problem p = sizeof...(Begin) == 0 ? problem{rule::degree_is_zero, -1, d, 0, 1} : problem{};
        ((p = p              ? p
              : End < Begin  ? problem{rule::range_outside_extent, -1, d, End, Begin}
              : Begin < 0    ? problem{rule::range_outside_extent, -1, d, Begin, 0}
              : End > extent ? problem{rule::range_outside_extent, -1, d, End, extent}
                             : p),
         ...);
        return p;
    }
    static constexpr void append(tensor_layout& l, int d) {
        l.shards[d] = static_cast<int>(sizeof...(Begin));
        (l.ranges.push_back({Begin, End}), ...);
    }
};

template <index_t... Begin, index_t... End>
struct dimension_of<sums_over<range<Begin, End>...>> : dimension_of<shards_over<range<Begin, End>...>> {
    static constexpr void append(tensor_layout& l, int d) {
        l.adds = true;
        dimension_of<shards_over<range<Begin, End>...>>::append(l, d);
    }
};

/// The devices of `count` shards; how many are listed, or -1.
template <class Where>
struct devices_of;

template <int Start, int Stride>
struct devices_of<from_device<Start, Stride>> {
    static constexpr int listed = -1;
    static constexpr int lowest(int count) { return Stride < 0 ? Start + Stride * (count - 1) : Start; }
    static constexpr void append(tensor_layout& l, int count) {
        for (int i = 0; i < count; ++i) {
            l.devices.push_back(Start + Stride * i);
        }
    }
};

template <int... Devices>
struct devices_of<place<Devices...>> {
    static constexpr int listed = static_cast<int>(sizeof...(Devices));
    static constexpr int lowest(int) {
        int least = 0;
        ((least = Devices < least ? Devices : least), ...);
        return least;
    }
    static constexpr void append(tensor_layout& l, int) { (l.devices.push_back(Devices), ...); }
};

} // namespace detail

/// The layout of a tensor. Where says on which devices all shards lie: dimension 0 varies slowest, then the summands,
/// then the copies. A wrong one does not compile.
template <class Extents, class Dims, class Copies = replicate<1>, class Summands = partial<1>,
          class Where = from_device<0>, element Type = element::f32>
struct layout;

template <index_t... Extents, class... Shards, int Copies, int Summands, class Where, element Type>
struct layout<extents<Extents...>, dims<Shards...>, replicate<Copies>, partial<Summands>, Where, Type> {
    static constexpr int rank = static_cast<int>(sizeof...(Extents));

    static TESSERA_VECTOR_CONSTEXPR problem check() {
        if (sizeof...(Shards) != sizeof...(Extents) || rank > max_rank) {
            return {rule::layout_has_wrong_rank, -1, -1, sizeof...(Shards), rank > max_rank ? max_rank : rank};
        }
        if (Copies < 1 || Summands < 1) {
            return {rule::degree_is_zero, -1, -1, Copies < 1 ? Copies : Summands, 1};
        }
        constexpr index_t extent[] = {Extents..., 1};
        problem p;
        int d = 0;
        ((p = p ? p : detail::dimension_of<Shards>::check(extent[d], d), ++d), ...);
        if (p) {
            return p;
        }
        tensor_layout l = without_devices();
        constexpr int listed = detail::devices_of<Where>::listed;
        if (listed >= 0 && listed != l.count()) {
            return {rule::placement_has_wrong_size, -1, -1, listed, l.count()};
        }
        if (const int lowest = detail::devices_of<Where>::lowest(l.count()); lowest < 0) {
            return {rule::device_does_not_exist, -1, -1, lowest, 0};
        }
        return {};
    }
    static constexpr problem broken = check();
    static constexpr bool test() {
        if constexpr (broken.broken == rule::none) {
            return true;
        } else if constexpr (broken.dimension >= 0) {
            return refuse<broken.broken, extents<Extents...>, dimension<broken.dimension>, found<broken.found>,
                          needed<broken.needed>>();
        } else {
            return refuse<broken.broken, extents<Extents...>, found<broken.found>, needed<broken.needed>>();
        }
    }
    static constexpr bool ok = test();

    static TESSERA_VECTOR_CONSTEXPR tensor_layout value() {
        tensor_layout l = without_devices();
        detail::devices_of<Where>::append(l, l.count());
        return l;
    }
    static std::string text() { return to_text(value()); }

private:
    static TESSERA_VECTOR_CONSTEXPR tensor_layout without_devices() {
        tensor_layout l;
        l.extents = make_shape(Extents...);
        l.type = Type;
        l.replicate = Copies;
        l.partial = Summands;
        int d = 0;
        (detail::dimension_of<Shards>::append(l, d++), ...);
        return l;
    }
};

// ---- the type of a value --------------------------------------------------------------------------------------------

namespace detail {

/// A layout's numbers as a constant, for a Source whose make() makes it.
template <int Ranges, int Devices>
struct layout_numbers {
    shape extents;
    element type = element::f32;
    int shards[max_rank]{};
    int replicate = 1;
    int partial = 1;
    bool adds = false;
    interval ranges[static_cast<std::size_t>(Ranges + 1)]{};
    int devices[static_cast<std::size_t>(Devices + 1)]{};
};

struct layout_size {
    int ranges = 0;
    int devices = 0;
};

constexpr layout_size size_of(const tensor_layout& l) {
    return {static_cast<int>(l.ranges.size()), static_cast<int>(l.devices.size())};
}

template <class Source>
TESSERA_VECTOR_CONSTEXPR auto numbers_of() {
    require_constant_vectors<Source>();
    constexpr layout_size size = size_of(Source::make());
    layout_numbers<size.ranges, size.devices> n;
    const tensor_layout l = Source::make();
    n.extents = l.extents;
    n.type = l.type;
    n.replicate = l.replicate;
    n.partial = l.partial;
    n.adds = l.adds;
    for (int d = 0; d < max_rank; ++d) {
        n.shards[d] = l.shards[d];
    }
    for (int i = 0; i < size.ranges; ++i) {
        n.ranges[i] = l.ranges[static_cast<std::size_t>(i)];
    }
    for (int i = 0; i < size.devices; ++i) {
        n.devices[i] = l.devices[static_cast<std::size_t>(i)];
    }
    return n;
}

template <class Source>
struct layout_of_value {
    static constexpr auto numbers = numbers_of<Source>();
    static constexpr int count = static_cast<int>(std::extent_v<decltype(numbers.devices)>) - 1;

    static constexpr int first_range(int d) {
        int first = 0;
        for (int k = 0; k < d; ++k) {
            first += numbers.shards[k];
        }
        return first;
    }
    template <int D, std::size_t... I>
    static constexpr auto dimension(std::index_sequence<I...>) {
        constexpr int n = static_cast<int>(sizeof...(I));
        constexpr const interval* r = numbers.ranges + first_range(D);
        constexpr index_t extent = numbers.extents.extent[D];
        constexpr bool even = ((r[I] == even_part(extent, n, I)) && ...);
        constexpr bool cut =
            ((r[I].begin == (I == 0 ? 0 : r[I == 0 ? 0 : I - 1].end)) && ...) && r[n - 1].end == extent;
        constexpr bool overlap = ((I > 0 && r[I].begin < r[I == 0 ? 0 : I - 1].end) || ...);
        if constexpr (even) {
            return std::type_identity<std::conditional_t<extent % n == 0, shards<n>, uneven_shards<n>>>{};
        } else if constexpr (cut) {
            return cuts<D>(std::make_index_sequence<sizeof...(I) - 1>());
        } else if constexpr (overlap && numbers.adds) {
            return std::type_identity<sums_over<range<r[I].begin, r[I].end>...>>{};
        } else {
            return std::type_identity<shards_over<range<r[I].begin, r[I].end>...>>{};
        }
    }
    template <int D, std::size_t... I>
    static constexpr auto cuts(std::index_sequence<I...>) {
        return std::type_identity<shards_at<numbers.ranges[first_range(D) + static_cast<int>(I)].end...>>{};
    }
    template <std::size_t... D>
    static constexpr auto all_dimensions(std::index_sequence<D...>) {
        return std::type_identity<dims<typename decltype(dimension<D>(
            std::make_index_sequence<static_cast<std::size_t>(numbers.shards[D])>()))::type...>>{};
    }
    template <std::size_t... D>
    static constexpr auto all_extents(std::index_sequence<D...>) {
        return std::type_identity<extents<numbers.extents.extent[D]...>>{};
    }
    template <std::size_t... I>
    static constexpr auto where(std::index_sequence<I...>) {
        constexpr int start = numbers.devices[0];
        constexpr int stride = count > 1 ? numbers.devices[1] - start : 1;
        if constexpr (((numbers.devices[I] == start + stride * static_cast<int>(I)) && ...)) {
            return std::type_identity<from_device<start, stride>>{};
        } else {
            return std::type_identity<place<numbers.devices[I]...>>{};
        }
    }
    using rank = std::make_index_sequence<static_cast<std::size_t>(numbers.extents.rank)>;
    using type = layout<typename decltype(all_extents(rank()))::type, typename decltype(all_dimensions(rank()))::type,
                        replicate<numbers.replicate>, partial<numbers.partial>,
                        typename decltype(where(std::make_index_sequence<static_cast<std::size_t>(count)>()))::type,
                        numbers.type>;
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
