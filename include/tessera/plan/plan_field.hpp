// SPDX-License-Identifier: Apache-2.0
// What the list of fields of a tile or a task says of each field. A plan's hash, its whole text, what a task does for
// one of its parameters, tasks by themselves and the damage that tests do go by these lists, so that a field that is in
// one is forgotten nowhere (docs/architecture.md#laws, 9). A field that is missing in its list fails
// tests/plan/fields.cpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/op/mask.hpp"
#include "tessera/strategy/compression.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tessera {

/// What there is to know of a field besides its name and its type.
struct plan_field {
    bool tiles = false;        ///< numbers of tiles
    bool none = false;         ///< of tiles: -1 stands for none
    bool by_parameter = false; ///< of a task of several parameters, each has its own; see part_of()
    std::uint32_t kinds = ~0U; ///< of the kinds that share a list of fields, those that have it, a bit each
};

namespace detail {

struct any_plan_field {
    template <class Member>
    constexpr void operator()(const char*, Member, const plan_field&) const {}
};

} // namespace detail

/// A type with `each_field(see)`, which calls see(name, pointer to member, plan_field) for every field.
template <class T>
concept PlanFields = requires {
    T::each_field(detail::any_plan_field{});
};

/// True where two values of a field, arrays too, are equal.
template <class T>
constexpr bool is_equal(const T& a, const T& b) {
    if constexpr (std::is_array_v<T>) {
        for (std::size_t i = 0; i < std::extent_v<T>; ++i) {
            if (!(a[i] == b[i])) {
                return false;
            }
        }
        return true;
    } else {
        return a == b;
    }
}

/// Calls f(name, value, plan_field) for every field of `x` that is not as it is in `usual`.
template <PlanFields T, class Function>
constexpr void for_each_unusual(const T& x, const T& usual, Function&& f) {
    T::each_field([&](const char* name, auto member, const plan_field& facts) {
        if (!is_equal(x.*member, usual.*member)) {
            f(name, x.*member, facts);
        }
    });
}

namespace detail {

/// The numbers of tiles in a field that has some.
template <class T, class Function>
constexpr void visit_tiles(T& value, const plan_field& facts, Function& f) {
    using type = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<type, int>) {
        f(value, facts);
    } else if constexpr (PlanFields<type>) {
        type::each_field([&](const char*, auto member, const plan_field& own) {
            if (own.tiles) {
                visit_tiles(value.*member, own, f);
            }
        });
    } else if constexpr (std::is_array_v<type> || requires { value.data(); }) {
        for (auto& item : value) {
            visit_tiles(item, facts, f);
        }
    }
}

} // namespace detail

/// Calls f(number, plan_field) for every number of a tile in `x`, also where it stands for none.
template <class T, class Function>
requires PlanFields<std::remove_const_t<T>>
constexpr void for_each_tile(T& x, Function&& f) { detail::visit_tiles(x, plan_field{}, f); }

namespace detail {

/// Hashes plans, field by field. What is as usual costs a comparison.
class plan_hasher {
public:
    std::uint64_t value() const { return hash_; }

    template <class T>
    void add(const T& x) {
        if constexpr (std::is_floating_point_v<T>) {
            word(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
        } else if constexpr (is_plain<T>) {
            word(static_cast<std::uint64_t>(x));
        } else if constexpr (std::is_same_v<T, interval>) {
            word(static_cast<std::uint64_t>(x.begin));
            word(static_cast<std::uint64_t>(x.end));
        } else if constexpr (std::is_same_v<T, box>) {
            word(static_cast<std::uint64_t>(x.rank));
            for (int d = 0; d < x.rank; ++d) {
                add(x.dim[d]);
            }
        } else if constexpr (std::is_same_v<T, compression_setting>) {
            word(hash_of_fields(x));
        } else if constexpr (PlanFields<T>) {
            T::each_field([&](const char*, auto member, const plan_field&) { add(x.*member); });
        } else { // a list
            std::uint64_t n = 0;
            for (const auto& item : x) {
                add(item);
                ++n;
            }
            word(n);
        }
    }
    /// What is not as in `usual`, each by its place in the list of fields.
    template <PlanFields T>
    void unusual(const T& x, const T& usual) {
        std::uint64_t place = 0;
        T::each_field([&](const char*, auto member, const plan_field&) {
            ++place;
            if (!is_equal(x.*member, usual.*member)) {
                word(place);
                add(x.*member);
            }
        });
        word(0);
    }

private:
    void word(std::uint64_t x) { hash_ = op::mix(hash_ ^ x); }

    std::uint64_t hash_ = 0x2545f4914f6cdd1dULL;
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
