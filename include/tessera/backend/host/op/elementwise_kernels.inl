// SPDX-License-Identifier: Apache-2.0
// Bodies of elementwise_kernels.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/elementwise_kernels.hpp"

namespace tessera::host {

TESSERA_INLINE void kernels_by_number::operator()(int which, const float* const* from, float* to,
                                                  std::ptrdiff_t count) const noexcept {
    (which < 0 ? of->forward : of->backward[which])(from, to, count);
}

TESSERA_INLINE std::array<float, expression::most_attributes> attributes_as_floats(const op_attributes& a) {
    const auto own = a.as<op::expression_attributes>();
    std::array<float, expression::most_attributes> numbers{};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        numbers[k] = static_cast<float>(own.number[k]);
    }
    return numbers;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
