// SPDX-License-Identifier: Apache-2.0
// What trains a network as a value on a backend.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/backend.hpp"

namespace tessera {

template <Backend B>
class session; // execute/session.hpp

/// What trains a network as a value on a backend: its member `session_type`, if it has one.
template <class B>
struct session_of {
    using type = session<B>;
};
template <class B>
requires requires { typename B::session_type; }
struct session_of<B> {
    using type = typename B::session_type;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
