// SPDX-License-Identifier: Apache-2.0
// Numbers, flags and choices of described values as members of JSON objects, by the names in their lists of fields.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/json.hpp"
#include "tessera/strategy/configuration.hpp"
#include "tessera/strategy/described.hpp"

#include <string>

namespace tessera::io::detail {

/// The names of all values of an enumeration, such as "ready" or "after_backward".
template <class E>
std::string names_of_values() {
    std::string names;
    for (int i = 0; i < value_count<E>; ++i) {
        names += std::string(i == 0 ? "\"" : " or \"") + to_text(static_cast<E>(i)) + "\"";
    }
    return names;
}

/// Writes the fields of `x` that are not what they are by themselves, those that are always there, and those for which
/// wants(facts) is true.
template <Described T, class Wants>
void write_fields(json& j, const T& x, Wants wants) {
    const T usual{};
    T::each_field([&](const char* name, auto member, const field_facts& f) {
        using type = std::remove_cvref_t<decltype(x.*member)>;
        if constexpr (is_plain<type>) {
            const type& value = x.*member;
            if (f.pooled || f.implied || (value == usual.*member && !f.always && !wants(f))) {
                return;
            }
            if constexpr (std::is_enum_v<type>) {
                j[name] = to_text(value);
            } else {
                j[name] = value;
            }
        }
    });
}
template <Described T>
void write_fields(json& j, const T& x) {
    write_fields(j, x, [](const field_facts&) { return false; });
}

/// Reads what write_fields() writes; what is not there is left as it is. Throws tessera::error, naming line and place,
/// for numbers out of range and for other types and words.
template <Described T>
void read_fields(json_object& o, T& x) {
    T::each_field([&](const char* name, auto member, const field_facts& f) {
        using type = std::remove_cvref_t<decltype(x.*member)>;
        if constexpr (is_plain<type>) {
            const json_value* v = f.pooled || f.implied ? nullptr : f.always ? &o.get(name) : o.find(name);
            if (v == nullptr) {
                return;
            }
            if constexpr (std::is_same_v<type, bool>) {
                x.*member = v->boolean();
            } else if constexpr (std::is_enum_v<type>) {
                for (int i = 0; i < value_count<type>; ++i) {
                    if (v->text() == to_text(static_cast<type>(i))) {
                        x.*member = static_cast<type>(i);
                        return;
                    }
                }
                v->refuse("is \"" + v->text() + "\", but must be " + names_of_values<type>());
            } else {
                x.*member = v->small(f.least, largest_count);
            }
        }
    });
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
