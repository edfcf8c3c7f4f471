// SPDX-License-Identifier: Apache-2.0
// What a pipeline does with a micro-batch in a stage.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>

namespace tessera {

/// What is done with one micro-batch in one stage.
enum class action_kind : std::uint8_t {
    forward,
    recompute, ///< forward once more, of the operators that say so; without it the first backward action begins with it
    backward,  ///< gradients of inputs and parameters
    backward_input,  ///< gradients of inputs ...
    backward_weight, ///< ... and those of parameters, when the inputs' are done
};

constexpr const char* to_text(action_kind k) {
    constexpr const char* names[] = {"forward", "recompute", "backward", "backward-input", "backward-weight"};
    return names[static_cast<int>(k)];
}

} // namespace tessera

#include "tessera/base/end_header.inl"
