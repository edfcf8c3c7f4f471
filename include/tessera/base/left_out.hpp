// SPDX-License-Identifier: Apache-2.0
// What a record may leave out: a function, or what a pointer points to. A pointer that is null would do, but g++ does
// not compare an address with null in a constant expression under -fsanitize=undefined
// (-fno-delete-null-pointer-checks), so that whether there is one is said beside it.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>
#include <type_traits>

namespace tessera {

/// A pointer to a constant, or null.
template <class T>
struct optional_pointer {
    const T* to = nullptr;
    bool is_there = false;

    constexpr optional_pointer() = default;
    constexpr optional_pointer(std::nullptr_t) {}
    /// In a constant expression the address of something.
    constexpr optional_pointer(const T* x) : to(x), is_there(std::is_constant_evaluated() || x != nullptr) {}

    constexpr const T& operator*() const { return *to; }
    constexpr const T* operator->() const { return to; }
    constexpr operator const T*() const { return to; }
    friend constexpr bool operator==(const optional_pointer& x, std::nullptr_t) { return !x.is_there; }
};

template <class Signature>
struct optional_function;

/// A function or a lambda without captures, or null.
template <class Result, class... Arguments>
struct optional_function<Result(Arguments...)> {
    Result (*call)(Arguments...) = nullptr;
    bool is_there = false;

    constexpr optional_function() = default;
    constexpr optional_function(std::nullptr_t) {}
    /// A name alone would be compared with null, which g++ refuses in constants with the undefined-behaviour sanitizer:
    /// function_of().
    constexpr optional_function(Result (*f)(Arguments...)) = delete;
    /// A lambda without captures.
    template <class Function>
    constexpr optional_function(Function f) : call(f), is_there(true) {}

    constexpr Result operator()(Arguments... all) const { return call(static_cast<Arguments>(all)...); }
    friend constexpr bool operator==(const optional_function& f, std::nullptr_t) { return !f.is_there; }
};

/// A function by its name, where a choice between it and null is a constant.
template <class Result, class... Arguments>
constexpr optional_function<Result(Arguments...)> function_of(Result (*f)(Arguments...)) {
    optional_function<Result(Arguments...)> there;
    there.call = f;
    there.is_there = true;
    return there;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
