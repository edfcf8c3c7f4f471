// SPDX-License-Identifier: Apache-2.0
// Bodies of prepared_call.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepared_call.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE prepared_convolution::prepared_convolution(const convolution& c, pointers at, const device_tools& t)
    : c_(c), at_(std::move(at)), t_(t), x_(describe_tensor(c.x, c.type())), w_(describe_filter(c.w, c.type())),
      y_(describe_tensor(c.y, c.type())), how_(describe_convolution(c)) {
    at_.resize(4, nullptr);
}

TESSERA_INLINE void prepared_convolution::issue(const run_state&) {
    const auto workspace = to_size(c_.workspace);
    switch (c_.way) {
    case convolution::direction::forward:
        check(cudnnConvolutionForward(t_.cudnn, &times_one, x_.get(), at_[0], w_.get(), at_[1], how_.get(),
                                      static_cast<cudnnConvolutionFwdAlgo_t>(c_.algorithm), at_[3], workspace,
                                      &times_zero, y_.get(), at_[2]),
              "cudnnConvolutionForward");
        break;
    case convolution::direction::backward_data:
        check(cudnnConvolutionBackwardData(t_.cudnn, &times_one, w_.get(), at_[1], y_.get(), at_[2], how_.get(),
                                           static_cast<cudnnConvolutionBwdDataAlgo_t>(c_.algorithm), at_[3], workspace,
                                           &times_zero, x_.get(), at_[0]),
              "cudnnConvolutionBackwardData");
        break;
    case convolution::direction::backward_filter:
        check(cudnnConvolutionBackwardFilter(t_.cudnn, &times_one, x_.get(), at_[0], y_.get(), at_[2], how_.get(),
                                             static_cast<cudnnConvolutionBwdFilterAlgo_t>(c_.algorithm), at_[3],
                                             workspace, &times_zero, w_.get(), at_[1]),
              "cudnnConvolutionBackwardFilter");
        break;
    }
}

TESSERA_INLINE prepared_bias::prepared_bias(const int (&y)[4], bool backward, pointers at, const device_tools& t)
    : backward_(backward), at_(std::move(at)), t_(t), y_(describe_tensor(y)) {
    const int bias[4] = {1, y[1], 1, 1};
    bias_ = describe_tensor(bias);
}

TESSERA_INLINE void prepared_bias::issue(const run_state&) {
    if (backward_) {
        check(cudnnConvolutionBackwardBias(t_.cudnn, &times_one, y_.get(), at_[0], &times_zero, bias_.get(), at_[1]),
              "cudnnConvolutionBackwardBias");
    } else {
        check(cudnnAddTensor(t_.cudnn, &times_one, bias_.get(), at_[0], &times_one, y_.get(), at_[1]),
              "cudnnAddTensor");
    }
}

TESSERA_INLINE prepared_product::prepared_product(const matrix_product& m, pointers at, const device_tools& t)
    : at_(std::move(at)), t_(t), d_(describe_product(m)), scale_(m.scale), workspace_bytes_(to_size(m.workspace)) {
    workspace_ = m.workspace > 0 ? at_.back() : nullptr;
    if (m.bias || m.sums) {
        check(
            cublasLtMatmulDescSetAttribute(d_.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at_[3], sizeof(void*)),
            "cublasLtMatmulDescSetAttribute");
    }
    bool found = find_algorithm(m);
    if (!found && m.sums) { // cublasLt need not have this epilogue for every type: a kernel sums then
        const cublasLtEpilogue_t none = CUBLASLT_EPILOGUE_DEFAULT;
        check(cublasLtMatmulDescSetAttribute(d_.product.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, &none, sizeof none),
              "cublasLtMatmulDescSetAttribute");
        found = find_algorithm(m);
        sums_.at[0] = at_[1];
        sums_.at[1] = at_[3];
        sums_.numbers.set(kernels::matrix_numbers{.rows = m.k, .columns = m.n});
        blocks_ = static_cast<int>((m.n + 255) / 256);
        adds_ = t_.kernels->find(kernels::column_sums, m.type_of(1));
    }
    if (!found) {
        throw error("tessera: cublasLt has no algorithm for a product of " + std::to_string(m.m) + " x " +
                    std::to_string(m.n) + " x " + std::to_string(m.k) + " in " + to_text(m.math));
    }
}

TESSERA_INLINE void prepared_product::issue(const run_state&) {
    check(cublasLtMatmul(t_.cublas, d_.product.get(), &scale_, at_[0], d_.a.get(), at_[1], d_.b.get(), &times_zero,
                         at_[2], d_.d.get(), at_[2], d_.d.get(), &algorithm_, workspace_, workspace_bytes_, t_.stream),
          "cublasLtMatmul");
    if (blocks_ > 0) {
        kernel_module::launch(adds_, blocks_, 256, sums_, t_.stream);
    }
}

TESSERA_INLINE bool prepared_product::find_algorithm(const matrix_product& m) {
    const auto proposed = proposals_for(t_.cublas, m, d_, m.algorithm + 1);
    if (proposed.empty()) {
        return false;
    }
    algorithm_ = proposed[std::min(proposed.size() - 1, to_size(m.algorithm))];
    return true;
}

TESSERA_INLINE prepared_pooling::prepared_pooling(const pooling& p, pointers at, const device_tools& t)
    : at_(std::move(at)), t_(t), scale_(p.scale), how_(describe_pooling(p)), x_(describe_tensor(p.x, p.type)),
      y_(describe_tensor(p.y, p.type)) {}

TESSERA_INLINE void prepared_pooling::issue(const run_state&) {
    check(cudnnPoolingForward(t_.cudnn, how_.get(), &scale_, x_.get(), at_[0], &times_zero, y_.get(), at_[1]),
          "cudnnPoolingForward");
}

TESSERA_INLINE prepared_activation::prepared_activation(const activation& a, pointers at, const device_tools& t)
    : backward_(a.backward), at_(std::move(at)), t_(t), how_(describe_activation(a)) {
    const int row[4] = {1, 1, 1, static_cast<int>(a.count)};
    row_ = describe_tensor(row, a.type);
}

TESSERA_INLINE void prepared_activation::issue(const run_state&) {
    cudnnTensorDescriptor_t d = row_.get();
    if (backward_) {
        check(cudnnActivationBackward(t_.cudnn, how_.get(), &times_one, d, at_[0], d, at_[1], d, at_[0], &times_zero, d,
                                      at_[2]),
              "cudnnActivationBackward");
    } else {
        check(cudnnActivationForward(t_.cudnn, how_.get(), &times_one, d, at_[0], &times_zero, d, at_[1]),
              "cudnnActivationForward");
    }
}

TESSERA_INLINE prepared_kernel::prepared_kernel(const kernel_launch& k, const pointers& at, const device_tools& t)
    : which_(t.kernels->find(*k.which, k.type)), blocks_(k.blocks), threads_(k.threads), stream_(t.stream) {
    arguments_.numbers = k.numbers;
    const auto fixed = to_size(k.pointers);
    std::copy(at.begin(), at.begin() + k.pointers, arguments_.at);
    std::size_t next = fixed;
    const std::size_t table = at.size() - fixed;
    const std::size_t bytes = table * sizeof(void*) + k.constants.size() * sizeof(index_t);
    if (bytes > 0) {
        table_ = make_device_memory(static_cast<index_t>(bytes));
        auto* const start = static_cast<std::byte*>(table_.get());
        std::vector<std::byte> both(bytes);
        if (table > 0) {
            std::memcpy(both.data(), at.data() + fixed, table * sizeof(void*));
            arguments_.at[next++] = start;
        }
        if (!k.constants.empty()) {
            std::memcpy(both.data() + table * sizeof(void*), k.constants.data(), k.constants.size() * sizeof(index_t));
            arguments_.at[next++] = start + table * sizeof(void*);
        }
        copy_to_gpu(start, both.data(), bytes, t.stream);
    }
    if (k.reads_step) {
        arguments_.at[next] = t.step;
    }
}

TESSERA_INLINE void prepared_memory::issue(const run_state&) {
    if (at_.size() == 1) {
        check(cudaMemsetAsync(at_[0], 0, bytes_, t_.stream), "cudaMemsetAsync");
    } else {
        const cudaMemcpyKind kind = goes_ == memory_copy::way::on_gpu    ? cudaMemcpyDeviceToDevice
                                    : goes_ == memory_copy::way::to_host ? cudaMemcpyDeviceToHost
                                                                         : cudaMemcpyHostToDevice;
        check(cudaMemcpyAsync(at_[1], at_[0], bytes_, kind, t_.stream), "cudaMemcpyAsync");
    }
}

TESSERA_INLINE prepared_upload::prepared_upload(const upload& u, void* to, index_t bytes, const device_tools& t)
    : u_(u), to_(to), bytes_(to_size(bytes)), t_(t),
      row_(u.what.row * bytes_of(u.type) == bytes && u.what.to_start == 0) {
    if (!row_) {
        packed_ = make_pinned_memory(bytes);
    }
}

TESSERA_INLINE void prepared_upload::stage(const run_state& run, cudaStream_t stream) {
    if (!row_) {
        pack(run);
        return;
    }
    if (staged_.get() == nullptr) {
        staged_ = make_device_memory(static_cast<index_t>(bytes_));
    }
    copy(staged_.get(), in_row(run), cudaMemcpyHostToDevice, stream);
}

TESSERA_INLINE void prepared_upload::issue(const run_state& run) {
    if (row_) {
        copy(to_, in_row(run), cudaMemcpyHostToDevice, t_.stream);
    } else {
        pack(run);
        copy(to_, packed_.get(), cudaMemcpyHostToDevice, t_.stream);
    }
}

TESSERA_INLINE void prepared_upload::record(const run_state&) {
    if (row_) {
        copy(to_, staged_.get(), cudaMemcpyDeviceToDevice, t_.stream);
    } else {
        copy(to_, packed_.get(), cudaMemcpyHostToDevice, t_.stream);
    }
}

TESSERA_INLINE const void* prepared_upload::in_row(const run_state& run) const {
    return static_cast<const std::byte*>(run.inputs[u_.tensor]) + u_.what.from_start * bytes_of(u_.type);
}

TESSERA_INLINE void prepared_upload::pack(const run_state& run) {
    u_.what.apply(run.inputs[u_.tensor], packed_.get(), u_.type, true, reducer::none);
}

TESSERA_INLINE void prepared_upload::copy(void* to, const void* from, cudaMemcpyKind kind, cudaStream_t stream) const {
    check(cudaMemcpyAsync(to, from, bytes_, kind, stream), "cudaMemcpyAsync");
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
