// SPDX-License-Identifier: Apache-2.0
// Values that list their fields once, by name: what hashes, prints, compares, writes and reads them goes by that list,
// so that a field that is in it is lost nowhere. (A field that is in the value and not in its list fails
// tests/io/strategy_fields.cpp.)
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/mask.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tessera {

/// What there is to know of a field besides its name and its type.
struct field_facts {
    const char* words = nullptr; ///< what texts for people call it; null: as its name
    int least = 0;               ///< the least that a file may say
    bool always = false;  ///< files must have it; others they leave out where they are what they are by themselves
    bool pooled = false;  ///< a place in the strategy's pool of numbers, which says nothing by itself
    bool implied = false; ///< follows from other fields
    bool places = false;  ///< where shards run, which may be said in several ways
    bool permits = false; ///< allows something, and changes nothing that runs
};

namespace detail {

struct any_field {
    template <class Member>
    constexpr void operator()(const char*, Member, const field_facts&) const {}
};

} // namespace detail

/// A type with `each_field(see)`, which calls see(name, pointer to member, facts) for every field.
template <class T>
concept Described = requires {
    T::each_field(detail::any_field{});
};

/// How many values an enumeration has, counted from 0; 0: it does not say.
template <class E>
inline constexpr int value_count = 0;

/// Numbers, flags and choices.
template <class T>
inline constexpr bool is_plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// A number for what a described value says, the same wherever and whenever it is computed.
template <class T>
constexpr std::uint64_t hash_of_fields(const T& x) {
    if constexpr (std::is_floating_point_v<T>) { // every bit, so that no two numbers are one
        return op::mix(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
    } else if constexpr (is_plain<T>) {
        return op::mix(static_cast<std::uint64_t>(x));
    } else if constexpr (Described<T>) {
        std::uint64_t h = 0x9ae16a3b2f90404fULL;
        T::each_field([&](const char* name, auto member, const field_facts&) {
            for (const char* c = name; *c != 0; ++c) {
                h = op::mix(h ^ static_cast<unsigned char>(*c));
            }
            h = op::mix(h ^ hash_of_fields(x.*member));
        });
        return h;
    } else { // a list
        std::uint64_t h = 0;
        std::uint64_t n = 0;
        for (const auto& item : x) {
            h = op::mix(h ^ hash_of_fields(item));
            ++n;
        }
        return op::mix(h ^ n);
    }
}

/// True where all fields of two described values are equal. (Not constrained: nvcc asks while the type is not
/// complete.)
template <class T>
constexpr bool same_fields(const T& a, const T& b) {
    bool same = true;
    T::each_field([&](const char*, auto member, const field_facts&) {
        constexpr std::size_t items = std::extent_v<std::remove_reference_t<decltype(a.*member)>>;
        if constexpr (items > 0) { // an array
            for (std::size_t i = 0; i < items; ++i) {
                same = same && (a.*member)[i] == (b.*member)[i];
            }
        } else {
            same = same && a.*member == b.*member;
        }
    });
    return same;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
