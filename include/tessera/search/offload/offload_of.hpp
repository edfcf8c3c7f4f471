// SPDX-License-Identifier: Apache-2.0
// What a search may leave in the host's memory, by name.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>
#include <string>

namespace tessera::search {

/// What may wait in the host's memory.
enum class offload_of : std::uint8_t {
    activations, ///< outputs of operators, between forward and backward
    optimizer,   ///< the optimizer's state, which the host steps with (strategy::state_on_host)
    both,        ///< whatever of the two makes the step that fits the shortest
};

constexpr const char* to_text(offload_of x) {
    constexpr const char* names[] = {"activations", "optimizer", "both"};
    return names[static_cast<int>(x)];
}
/// Throws tessera::error for another word.
offload_of offload_of_text(const std::string& word);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/offload/offload_of.inl"
#endif

#include "tessera/base/end_header.inl"
