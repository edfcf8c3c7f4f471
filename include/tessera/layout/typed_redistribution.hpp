// SPDX-License-Identifier: Apache-2.0
// redistribution<From, To>: what it takes to bring a tensor from one layout to another, as constants.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp" // first, so that compilers name few headers before the words of a refusal

#include "tessera/layout/typed_layout.hpp"

namespace tessera {

namespace detail {

/// What a redistribution moves, without its gathers.
template <int Devices>
struct moved_numbers {
    collective kind = collective::none;
    index_t bytes = 0;
    index_t worst_bytes = 0;
    index_t received[to_size(Devices + 1)]{};
    index_t sent[to_size(Devices + 1)]{};
};

template <class From, class To>
constexpr int devices_in() {
    int n = 0;
    for (const int d : From::value().devices) {
        n = d + 1 > n ? d + 1 : n;
    }
    for (const int d : To::value().devices) {
        n = d + 1 > n ? d + 1 : n;
    }
    return n;
}

template <class From, class To>
TESSERA_VECTOR_CONSTEXPR auto moved_between() {
    moved_numbers<devices_in<From, To>()> n;
    const redistributed r = redistribute(From::value(), To::value());
    n.kind = r.kind;
    n.bytes = r.bytes;
    n.worst_bytes = r.worst_bytes;
    for (std::size_t d = 0; d < r.received.size(); ++d) {
        n.received[d] = r.received[d];
        n.sent[d] = r.sent[d];
    }
    return n;
}

template <class From, class To>
TESSERA_VECTOR_CONSTEXPR problem check_redistribution() {
    const tensor_layout a = From::value();
    const tensor_layout b = To::value();
    if (a.extents.rank != b.extents.rank) {
        return {rule::tensors_differ, -1, -1, b.extents.rank, a.extents.rank};
    }
    for (int d = 0; d < a.extents.rank; ++d) {
        if (a.extents[d] != b.extents[d]) {
            return {rule::tensors_differ, -1, d, b.extents[d], a.extents[d]};
        }
    }
    if (a.type != b.type) {
        return {rule::tensors_differ, -1, -1, static_cast<index_t>(b.type), static_cast<index_t>(a.type)};
    }
    if ((b.partial > 1 && b.partial != a.partial) || (b.adds && !(a == b))) {
        return {rule::sum_taken_apart, -1, -1, b.partial, a.partial};
    }
    return {};
}

} // namespace detail

/// Bringing a tensor from layout From to layout To. The bytes are those that the copies of a plan move between devices:
/// summands are sent to where their sum is needed, and what a device has itself, or needs for two shards, costs nothing
/// more.
template <class From, class To>
struct redistribution {
    using from = From;
    using to = To;

    static constexpr problem check() {
        if constexpr (From::ok && To::ok) {
            return detail::check_redistribution<From, To>();
        } else {
            return {rule::tensors_differ, -1, -1, 0, 0}; // refused already
        }
    }
    static constexpr problem broken = check();
    static constexpr bool test() {
        if constexpr (broken.broken == rule::none) {
            return true;
        } else if constexpr (!From::ok || !To::ok) {
            return false;
        } else if constexpr (broken.dimension >= 0) {
            return refuse<broken.broken, dimension<broken.dimension>, found<broken.found>, needed<broken.needed>, From,
                          To>();
        } else {
            return refuse<broken.broken, found<broken.found>, needed<broken.needed>, From, To>();
        }
    }
    static constexpr bool ok = test();

private:
    static constexpr auto make() {
        if constexpr (ok) {
            return detail::moved_between<From, To>();
        } else {
            return detail::moved_numbers<0>();
        }
    }
    static constexpr auto moved = make();
    static constexpr int devices = static_cast<int>(std::extent_v<decltype(moved.received)>) - 1;

public:
    static constexpr collective kind = moved.kind;
    static constexpr index_t bytes = moved.bytes;             ///< that cross from one device to another
    static constexpr index_t worst_bytes = moved.worst_bytes; ///< most that one device receives
    static constexpr index_t received(int device) { return device < devices ? moved.received[device] : 0; }
    static constexpr index_t sent(int device) { return device < devices ? moved.sent[device] : 0; }

    static std::string text() { return to_text(redistribute(From::value(), To::value())); }
};

namespace detail {

template <class End, class Begin>
constexpr bool do_meet() {
    if constexpr (std::is_same_v<End, Begin>) {
        return true;
    } else {
        return tessera::refuse<rule::redistributions_do_not_meet, End, Begin>();
    }
}

} // namespace detail

/// One redistribution after another, done at once. It moves no more than the two where no summands are added up and no
/// device has two shards.
template <class First, class Second>
using composed = redistribution<typename First::from,
                                std::conditional_t<detail::do_meet<typename First::to, typename Second::from>(),
                                                   typename Second::to, typename First::to>>;

/// The way back. There is none from a sum to its summands.
template <class Redistribution>
using inverse = redistribution<typename Redistribution::to, typename Redistribution::from>;

} // namespace tessera

#include "tessera/base/end_header.inl"
