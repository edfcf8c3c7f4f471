// SPDX-License-Identifier: Apache-2.0
// Bodies of update.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/update.hpp"

namespace tessera::reference {

TESSERA_INLINE double trust_of(const update_rule& update, const layer_squares& all) {
    return formulas::trust_of(settings_in<formulas::update_settings>(update), all.weights, all.measured);
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
