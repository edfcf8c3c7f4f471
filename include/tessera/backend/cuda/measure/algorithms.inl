// SPDX-License-Identifier: Apache-2.0
// Bodies of algorithms.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/algorithms.hpp"

namespace tessera::cuda {

TESSERA_INLINE void algorithm_table::measure_products(measure_matrix_product how, void* context) {
    measure_product_ = how;
    product_context_ = context;
}

TESSERA_INLINE convolution algorithm_table::choose(convolution c) {
    c.algorithm = 0;
    c.multipliers = math_type_of(c.math);
    c.workspace = 0;
    const locked lock(mutex_);
    for (const auto& [known, choice] : convolutions_) {
        if (known == c) {
            return with(c, choice);
        }
    }
    const algorithm_choice choice =
        measure_ != nullptr ? measure_(context_, c) : algorithm_choice{1, unmeasured, -1, c.multipliers};
    convolutions_.push_back({c, choice});
    return with(c, choice);
}

TESSERA_INLINE matrix_product algorithm_table::choose(matrix_product m) {
    m.workspace = product_bytes_;
    m.algorithm = 0;
    const matrix_product what = without_scale(m);
    const locked lock(mutex_);
    for (const auto& [known, choice] : products_) {
        if (known == what) {
            m.algorithm = choice.algorithm;
            return m;
        }
    }
    if (measure_product_ != nullptr) {
        const algorithm_choice choice = measure_product_(product_context_, what);
        products_.push_back({what, choice});
        m.algorithm = choice.algorithm;
    }
    return m;
}

TESSERA_INLINE void algorithm_table::forget() {
    convolutions_.clear();
    products_.clear();
}

TESSERA_INLINE convolution algorithm_table::with(convolution c, const algorithm_choice& choice) {
    c.algorithm = choice.algorithm;
    c.multipliers = choice.multipliers;
    c.workspace = choice.workspace;
    return c;
}

TESSERA_INLINE matrix_product algorithm_table::without_scale(matrix_product m) {
    m.scale = 1;
    return m;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
