// SPDX-License-Identifier: Apache-2.0
// The exception that every user error reaches the user as.
#pragma once
#include "tessera/base/begin_header.inl"

#include <stdexcept>

namespace tessera {

/// Says what is wrong, where, and what to do about it.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
