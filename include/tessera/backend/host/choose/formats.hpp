// SPDX-License-Identifier: Apache-2.0
// What passes between tasks in which memory format on the host, what its reorders cost, and the formats in which
// parameters are stored.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/chooser.hpp"

namespace tessera::host::detail {} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/formats.inl"
#endif

#include "tessera/base/end_header.inl"
