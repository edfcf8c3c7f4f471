// SPDX-License-Identifier: Apache-2.0
// A call with its addresses and descriptors: what is left to do in a step is to hand them to the library.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/descriptors.hpp"
#include "tessera/backend/cuda/issue/module.hpp"
#include "tessera/execute/local/store.hpp"

#include <cstring>
#include <memory>
#include <utility>

namespace tessera::cuda {

/// What calls on one device of the plan share.
struct device_tools {
    int gpu = 0;
    cudaStream_t stream = nullptr;
    cudnnHandle_t cudnn = nullptr; ///< of this device alone, on its stream
    cublasLtHandle_t cublas = nullptr;
    const kernel_module* kernels = nullptr;
    void* step = nullptr; ///< step_values in device memory
};

class prepared_call {
public:
    virtual ~prepared_call() = default;
    virtual void issue(const run_state& run) = 0;
    /// In place of issue(), what a graph shall hold; after stage().
    virtual void record(const run_state& run) { issue(run); }
    /// What is done before a graph that holds the call is replayed on `stream`.
    virtual void stage(const run_state&, cudaStream_t) {}
};

namespace detail {

inline constexpr float times_one = 1;
inline constexpr float times_zero = 0;

using pointers = std::vector<void*>;

class prepared_convolution final : public prepared_call {
public:
    prepared_convolution(const convolution& c, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    convolution c_;
    pointers at_; ///< x, w, y, workspace
    device_tools t_;
    tensor_handle x_;
    filter_handle w_;
    tensor_handle y_;
    convolution_handle how_;
};

/// Adds a bias, or sums its gradient.
class prepared_bias final : public prepared_call {
public:
    prepared_bias(const int (&y)[4], bool backward, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    bool backward_;
    pointers at_;
    device_tools t_;
    tensor_handle y_;
    tensor_handle bias_;
};

class prepared_product final : public prepared_call {
public:
    prepared_product(const matrix_product& m, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    bool find_algorithm(const matrix_product& m);

    pointers at_; ///< a, b, d, bias or sums, workspace
    device_tools t_;
    product_descriptors d_;
    float scale_;
    void* workspace_ = nullptr;
    std::size_t workspace_bytes_;
    cublasLtMatmulAlgo_t algorithm_{};
    kernel_arguments sums_; ///< of a kernel after it, where cublasLt does not sum: blocks_ of it
    cudaKernel_t adds_ = nullptr;
    int blocks_ = 0;
};

class prepared_pooling final : public prepared_call {
public:
    prepared_pooling(const pooling& p, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    pointers at_;
    device_tools t_;
    float scale_;
    pooling_handle how_;
    tensor_handle x_;
    tensor_handle y_;
};

class prepared_activation final : public prepared_call {
public:
    prepared_activation(const activation& a, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    bool backward_;
    pointers at_;
    device_tools t_;
    activation_handle how_;
    tensor_handle row_;
};

class prepared_kernel final : public prepared_call {
public:
    prepared_kernel(const kernel_launch& k, const pointers& at, const device_tools& t);
    void issue(const run_state&) override { kernel_module::launch(which_, blocks_, threads_, arguments_, stream_); }

private:
    cudaKernel_t which_;
    int blocks_;
    int threads_;
    cudaStream_t stream_;
    kernel_arguments arguments_;
    device_pointer table_;
};

/// Clears, or copies within the GPU.
class prepared_memory final : public prepared_call {
public:
    prepared_memory(pointers at, index_t bytes, const device_tools& t, memory_copy::way goes = memory_copy::way::on_gpu)
        : at_(std::move(at)), bytes_(to_size(bytes)), t_(t), goes_(goes) {}
    void issue(const run_state&) override;

private:
    pointers at_;
    std::size_t bytes_;
    device_tools t_;
    memory_copy::way goes_;
};

/// What lies in a row in the caller's memory is copied from there, by the GPU alone where that memory is pinned.
/// Anything else is packed first. The caller's memory is another in every step, and a graph's copies are always the
/// same: before a graph is replayed rows go to a place of their own on the GPU, from where the graph takes them to the
/// tile (whose memory others may have until then).
class prepared_upload final : public prepared_call {
public:
    prepared_upload(const upload& u, void* to, index_t bytes, const device_tools& t);
    void stage(const run_state& run, cudaStream_t stream) override;
    void issue(const run_state& run) override;
    void record(const run_state&) override;

private:
    const void* in_row(const run_state& run) const;
    void pack(const run_state& run);
    void copy(void* to, const void* from, cudaMemcpyKind kind, cudaStream_t stream) const;

    upload u_;
    void* to_;
    std::size_t bytes_;
    device_tools t_;
    bool row_;
    pinned_pointer packed_; ///< of what does not lie in a row
    device_pointer staged_; ///< of a row that a graph takes
};

} // namespace detail

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/prepared_call.inl"
#endif

#include "tessera/base/end_header.inl"
