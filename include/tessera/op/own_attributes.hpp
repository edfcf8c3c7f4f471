// SPDX-License-Identifier: Apache-2.0
// An operator's own attributes by name, as files write them: those that are not what they are where nobody says.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/record.hpp"

#include <bit>

namespace tessera {

/// Calls visit(field, numbers) for every attribute that is said, in order; `numbers` are field.count of them. False where attributes are said that the
/// operator's record does not list.
template <class Visit>
constexpr bool each_said_attribute(const op_attributes& a, Visit visit) {
    const attribute_list* const list = a.kind.record->own;
    int at = 0;
    for (int f = 0; list != nullptr && f < list->count; ++f) {
        const attribute_field& field = list->fields[f];
        std::int64_t numbers[max_attributes]{};
        bool said = false;
        for (int k = 0; k < field.count; ++k, ++at) {
            numbers[k] = a.own[at] ^ list->usual[at];
            said = said || a.own[at] != 0;
        }
        if (said) {
            visit(field, numbers);
        }
    }
    for (; at < max_attributes; ++at) {
        if (a.own[at] != 0) {
            return false;
        }
    }
    return true;
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
