// SPDX-License-Identifier: Apache-2.0
// The name of a type as the user wrote it, and a key that identifies a type as a value.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>
#include <string_view>

namespace tessera {

namespace detail {

template <class T>
constexpr std::string_view decorated_name() {
    return __PRETTY_FUNCTION__;
}

/// How the compiler wraps a type name is learnt from a type whose name is known.
constexpr std::string_view undecorate(std::string_view decorated) {
    constexpr std::string_view probe = decorated_name<double>();
    constexpr std::size_t before = probe.find("double");
    constexpr std::size_t after = probe.size() - before - 6;
    std::string_view name = decorated.substr(before, decorated.size() - before - after);
    // g++ lists the alias behind a type as "; std::string_view = ...": cut it off.
    const std::size_t alias = name.find("; ");
    return alias == std::string_view::npos ? name : name.substr(0, alias);
}

/// FNV-1a in 64 bits.
constexpr std::uint64_t hash_text(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return h;
}

} // namespace detail

/// The full name of T as the compiler writes it, e.g. "app::conv1".
template <class T>
constexpr std::string_view full_type_name() {
    return detail::undecorate(detail::decorated_name<T>());
}

/// A value that is equal for equal types and different for different ones, in constant expressions too: a hash of the
/// full name. (The address of a variable would do as well, but g++ 12 does not compare addresses in constant
/// expressions under its undefined-behaviour sanitizer.)
using type_key = std::uint64_t;

template <class T>
inline constexpr type_key key_of = detail::hash_text(detail::decorated_name<T>());

} // namespace tessera

#include "tessera/base/end_header.inl"
