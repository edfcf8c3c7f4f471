// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Optimizer steps on a slice of the parameters: sum the gradients of several arrays left to right, update the state,
/// write the new weights to every destination. An element whose new weight or state would not be finite keeps both as
/// they are; false where there is one.
namespace tessera::host::kernels {

[[nodiscard]] inline bool update(update_formula which, const update_arrays& a,
                                 const update_step_numbers& step) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::update(which, a, step);
    case instruction_set::avx2:
        return avx2::update(which, a, step);
    case instruction_set::portable:
        break;
    }
    return portable::update(which, a, step);
}

/// The squares of weights and of their gradient, or, of Adam's formula with decoupled decay, of what LAMB takes from
/// them before the rate.
[[nodiscard]] inline update_squares squares_of(update_formula which, const update_arrays& a,
                                               const update_step_numbers& step) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::squares_of(which, a, step);
    case instruction_set::avx2:
        return avx2::squares_of(which, a, step);
    case instruction_set::portable:
        break;
    }
    return portable::squares_of(which, a, step);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
