// SPDX-License-Identifier: Apache-2.0
// Names of operators of one's own, which no operator of the library may have.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/library.hpp"

#include <string>

namespace tessera {

/// Throws tessera::error for an operator of one's own with the name of one of the library, for which backends and
/// files, which know operators by their names, would take it.
void require_own_names(const graph_view& g);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/own_names.inl"
#endif

#include "tessera/base/end_header.inl"
