// SPDX-License-Identifier: Apache-2.0
// Bodies of offload_of.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/search/offload/offload_of.hpp"

namespace tessera::search {

TESSERA_INLINE offload_of offload_of_text(const std::string& word) {
    for (const offload_of x : {offload_of::activations, offload_of::optimizer, offload_of::both}) {
        if (word == to_text(x)) {
            return x;
        }
    }
    throw error("tessera: '" + word +
                "' does not say what may wait in the host's memory; say activations, optimizer or both");
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
