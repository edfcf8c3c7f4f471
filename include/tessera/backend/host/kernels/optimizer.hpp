// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vector.hpp"

/// Optimizer steps on a slice of the parameters: sum the gradients of several arrays left to right, update the state, write
/// the new weights to every destination. A destination may be `weights`. An element whose new weight or state would not be finite keeps both as
/// they are; false where there is one.
namespace tessera::host::kernels {

/// One step of sgd_rule. momentum is the velocity, or nullptr without momentum.
[[nodiscard]] inline bool sgd_step(const float* weights, const float* const* gradients, int gradient_count,
                                   float* momentum, float* const* destinations, int destination_count,
                                   std::ptrdiff_t count, const sgd_rule& rule) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::sgd_step(weights, gradients, gradient_count, momentum, destinations, destination_count, count,
                                rule);
    case instruction_set::avx2:
        return avx2::sgd_step(weights, gradients, gradient_count, momentum, destinations, destination_count, count,
                              rule);
    case instruction_set::portable:
        break;
    }
    return portable::sgd_step(weights, gradients, gradient_count, momentum, destinations, destination_count, count,
                              rule);
}

/// One step of adam_rule. mean and square are the running moments, zero before the first step.
[[nodiscard]] inline bool adam_step(const float* weights, const float* const* gradients, int gradient_count,
                                    float* mean, float* square, float* const* destinations, int destination_count,
                                    std::ptrdiff_t count, const adam_rule& rule) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::adam_step(weights, gradients, gradient_count, mean, square, destinations, destination_count,
                                 count, rule);
    case instruction_set::avx2:
        return avx2::adam_step(weights, gradients, gradient_count, mean, square, destinations, destination_count, count,
                               rule);
    case instruction_set::portable:
        break;
    }
    return portable::adam_step(weights, gradients, gradient_count, mean, square, destinations, destination_count, count,
                               rule);
}

} // namespace tessera::host::kernels
