// SPDX-License-Identifier: Apache-2.0
// Bodies of product_search.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/product_search.hpp"

namespace tessera::cuda {

TESSERA_INLINE algorithm_choice product_search::search(void* self, const matrix_product& m) {
    return static_cast<product_search*>(self)->search(m);
}

TESSERA_INLINE algorithm_choice product_search::search(const matrix_product& m) {
    if (!times_) {
        return {0, m.workspace, -1};
    }
    int before = 0;
    check(cudaGetDevice(&before), "cudaGetDevice");
    check(cudaSetDevice(gpu_), "cudaSetDevice");
    const algorithm_choice found = search_here(m);
    check(cudaSetDevice(before), "cudaSetDevice");
    return found;
}

TESSERA_INLINE algorithm_choice product_search::search_here(const matrix_product& m) {
    if (handle_.get() == nullptr) {
        handle_ = make_cublas();
        stream_ = make_stream();
    }
    index_t bytes[5] = {0, 0, 0, (m.sums ? m.n : m.m) * 4, m.workspace};
    index_t all = bytes[3] + bytes[4];
    for (int i = 0; i < 3; ++i) {
        bytes[i] = m.span_of(i) * bytes_of(m.type_of(i));
        all += bytes[i];
    }
    algorithm_choice best{0, m.workspace, -1};
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (all > static_cast<index_t>(free - free / 16)) {
        return best;
    }
    device_pointer memory[5];
    memory[3] = make_device_memory(bytes[3]);
    const product_descriptors d = describe_product(m);
    if (m.bias || m.sums) {
        void* const bias = memory[3].get();
        check(cublasLtMatmulDescSetAttribute(d.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
              "cublasLtMatmulDescSetAttribute");
    }
    const std::vector<cublasLtMatmulAlgo_t> proposed = proposals_for(handle_.get(), m, d, most_proposals);
    if (proposed.size() < 2) { // none where a kernel sums beside the product
        return best;
    }
    for (const int i : {0, 1, 2, 4}) {
        memory[i] = make_device_memory(bytes[i]);
    }
    for (std::size_t i = 0; i < proposed.size(); ++i) {
        double fastest = -1;
        for (int run = 0; run < 4; ++run) { // the first of which loads the kernel
            const double taken = time(m, d, proposed[i], memory);
            if (taken < 0 || (run > 0 && best.milliseconds > 0 && taken > 2 * best.milliseconds)) {
                break;
            }
            fastest = run > 0 && (fastest < 0 || taken < fastest) ? taken : fastest;
        }
        if (fastest > 0 && (best.milliseconds < 0 || fastest < best.milliseconds)) {
            best.algorithm = static_cast<int>(i);
            best.milliseconds = fastest;
        }
    }
    return best;
}

TESSERA_INLINE double product_search::time(const matrix_product& m, const product_descriptors& d,
                                           const cublasLtMatmulAlgo_t& algorithm, const device_pointer (&memory)[5]) {
    const event_handle before = make_timer();
    const event_handle after = make_timer();
    const float one = 1;
    const float zero = 0;
    check(cudaEventRecord(before.get(), stream_.get()), "cudaEventRecord");
    const cublasStatus_t status =
        cublasLtMatmul(handle_.get(), d.product.get(), &one, memory[0].get(), d.a.get(), memory[1].get(), d.b.get(),
                       &zero, memory[2].get(), d.d.get(), memory[2].get(), d.d.get(), &algorithm, memory[4].get(),
                       to_size(m.workspace), stream_.get());
    check(cudaEventRecord(after.get(), stream_.get()), "cudaEventRecord");
    check(cudaEventSynchronize(after.get()), "cudaEventSynchronize");
    float taken = 0;
    check(cudaEventElapsedTime(&taken, before.get(), after.get()), "cudaEventElapsedTime");
    return status == CUBLAS_STATUS_SUCCESS ? static_cast<double>(taken) : -1;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
