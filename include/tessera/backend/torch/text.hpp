// SPDX-License-Identifier: Apache-2.0
// Python as text: numbers, regions and names that are free.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/free_names.hpp"
#include "tessera/base/quoted.hpp"

#include <charconv>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace tessera::torch {

/// The shortest text that is this number again; infinities as Python has them.
std::string text_of(double x);
inline std::string text_of(index_t n) { return std::to_string(n); }
inline std::string text_of(bool yes) { return yes ? "True" : "False"; }

/// A text as a literal.
inline std::string literal(std::string_view text) { return quoted::python(text); }

/// Texts one behind the other.
std::string joined(std::initializer_list<std::string_view> texts);

/// "(a, b)" and "(a,)" of what each(0) to each(count - 1) say.
template <class Each>
std::string tuple_of(int count, Each each) {
    std::string text = "(";
    for (int i = 0; i < count; ++i) {
        text += (i > 0 ? ", " : "") + each(i);
    }
    return text + (count == 1 ? ",)" : ")");
}

/// ((0, 32), (0, 10)): for every dimension the first index and the one behind the last.
std::string text_of(const box& b);
std::string text_of(const shape& s);

/// Words of Python, and names that every program has.
const std::set<std::string>& python_words();

/// What belongs to a name of free_names, for a reason of its own: no other name is equal.
inline std::string derived(std::string_view name, std::string_view of) { return joined({name, "__", of}); }
/// The variable of a rank's shard or tile `number`, of those that share a name.
std::string numbered(const std::string& name, int number);

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/text.inl"
#endif

#include "tessera/base/end_header.inl"
