// SPDX-License-Identifier: Apache-2.0
// An operator's own attributes by name, as files write them: those that are not what they are where nobody says.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/record.hpp"

#include <bit>

namespace tessera {

/// Calls visit(field, numbers) for every attribute but those for which skip(field, place of its first number in
/// op_attributes::own) is true, in order; `numbers` are field.count of them. False where attributes are said that the
/// operator's record does not list.
template <class Skip, class Visit>
constexpr bool each_attribute(const op_attributes& a, Skip skip, Visit visit) {
    const attribute_list* const list = a.kind.record->own;
    int at = 0;
    for (int f = 0; list != nullptr && f < list->count; ++f) {
        const attribute_field& field = list->fields[f];
        std::int64_t numbers[max_attributes]{};
        for (int k = 0; k < field.count; ++k) {
            numbers[k] = a.own[at + k] ^ list->usual[at + k];
        }
        if (!skip(field, at)) {
            visit(field, numbers);
        }
        at += field.count;
    }
    for (; at < max_attributes; ++at) {
        if (a.own[at] != 0) {
            return false;
        }
    }
    return true;
}

/// The same for every attribute that is not what it is in the operator's struct of attributes by itself.
template <class Visit>
constexpr bool each_said_attribute(const op_attributes& a, Visit visit) {
    const auto is_usual = [&](const attribute_field& field, int at) {
        bool said = false;
        for (int k = 0; k < field.count; ++k) {
            said = said || a.own[at + k] != 0;
        }
        return !said;
    };
    return each_attribute(a, is_usual, visit);
}

/// The numbers of an attribute, each by what it is: integer(std::int64_t), number(double) or flag(bool).
template <class Integer, class Number, class Flag>
constexpr auto by_type(const attribute_field& field, std::int64_t n, Integer integer, Number number, Flag flag) {
    return field.type == attribute_type::flag     ? flag(n != 0)
           : field.type == attribute_type::number ? number(std::bit_cast<double>(n))
                                                  : integer(n);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
