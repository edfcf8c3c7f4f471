// SPDX-License-Identifier: Apache-2.0
// Algorithms of matrix products chosen by measurement on the GPU, among those that cublasLt proposes: its first is not
// always the fastest, above all where rows do not begin at multiples of 16 bytes (a vocabulary of 50257 tokens).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/descriptors.hpp"
#include "tessera/backend/cuda/measure/algorithms.hpp"

#include <algorithm>

namespace tessera::cuda {

/// Searches on the GPU that is current, in memory of its own that is released afterwards.
class product_search {
public:
    /// Without `times`, and where the GPU has no room for a measurement, cublasLt's first proposal is taken.
    product_search(int gpu, bool times) : gpu_(gpu), times_(times) {}

    static algorithm_choice search(void* self, const matrix_product& m);

    algorithm_choice search(const matrix_product& m);

private:
    algorithm_choice search_here(const matrix_product& m);

    /// Milliseconds, or -1 where cublasLt does not run it after all.
    double time(const matrix_product& m, const product_descriptors& d, const cublasLtMatmulAlgo_t& algorithm,
                const device_pointer (&memory)[5]);

    int gpu_;
    bool times_;
    cublas_handle handle_;
    stream_handle stream_;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/measure/product_search.inl"
#endif

#include "tessera/base/end_header.inl"
