// SPDX-License-Identifier: Apache-2.0
// A reference to something that can be called. std::function owns, copies and may allocate, and the core does without
// <functional>, which takes 170 ms behind tessera.hpp (g++ 12, median of 10); std::function_ref is C++26's.
#pragma once
#include "tessera/base/begin_header.inl"

namespace tessera {

template <class>
class function_ref;

/// Calls what somebody else owns, which must outlive it; empty unless it was made from something.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
public:
    function_ref() = default;
    template <class Callable>
    function_ref(const Callable& what) // NOLINT(google-explicit-constructor): parameters take any callable
        : what_(&what), call_([](const void* x, Arguments... arguments) -> Result {
              return (*static_cast<const Callable*>(x))(static_cast<Arguments>(arguments)...);
          }) {}
    function_ref(const function_ref&) = default;
    function_ref& operator=(const function_ref&) = default;

    explicit operator bool() const { return call_ != nullptr; }
    Result operator()(Arguments... arguments) const { return call_(what_, static_cast<Arguments>(arguments)...); }

private:
    const void* what_ = nullptr;
    Result (*call_)(const void*, Arguments...) = nullptr;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
