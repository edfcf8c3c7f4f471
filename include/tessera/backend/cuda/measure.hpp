// SPDX-License-Identifier: Apache-2.0
// Convolution algorithms chosen by measurement on the GPU, or by cuDNN's own estimate: among those that always give the same bits.
#pragma once

#include "tessera/backend/cuda/algorithms.hpp"
#include "tessera/backend/cuda/descriptors.hpp"

namespace tessera::cuda {

namespace detail {

inline index_t volume_of(const int (&e)[4]) { return index_t{e[0]} * e[1] * e[2] * e[3]; }

/// The fastest deterministic one of cuDNN's results, which are sorted by time, that rounds no more than the precision permits; workspace
/// -1 where there is none.
template <class Result>
algorithm_choice fastest(const Result* results, int count, index_t most_workspace, precision math) {
    for (int i = 0; i < count; ++i) {
        const Result& r = results[i];
        const bool exact = r.mathType == CUDNN_FMA_MATH || r.mathType == CUDNN_DEFAULT_MATH ||
                           (math != precision::fp32 && r.mathType == CUDNN_TENSOR_OP_MATH);
        if (r.status == CUDNN_STATUS_SUCCESS && r.determinism == CUDNN_DETERMINISTIC && exact &&
            static_cast<index_t>(r.memory) <= most_workspace) {
            return {static_cast<int>(r.algo), static_cast<index_t>(r.memory), static_cast<double>(r.time)};
        }
    }
    return {1, -1, -1};
}

} // namespace detail

/// Searches on the GPU that is current, in memory of its own that is released afterwards.
class convolution_search {
public:
    /// `most_workspace` bytes for any one call. Without `times`, cuDNN estimates; where it knows none, algorithm 1 is taken.
    convolution_search(int gpu, index_t most_workspace, bool times) : gpu_(gpu), most_(most_workspace), times_(times) {}

    static algorithm_choice search(void* self, const convolution& c) {
        return static_cast<convolution_search*>(self)->search(c);
    }

    algorithm_choice search(const convolution& c) {
        int before = 0;
        check(cudaGetDevice(&before), "cudaGetDevice");
        check(cudaSetDevice(gpu_), "cudaSetDevice");
        const algorithm_choice found = search_here(c);
        check(cudaSetDevice(before), "cudaSetDevice");
        return found;
    }

private:
    algorithm_choice search_here(const convolution& c) {
        if (handle_.get() == nullptr) {
            handle_ = make_cudnn();
        }
        const tensor_handle x = describe_tensor(c.x, c.type());
        const filter_handle w = describe_filter(c.w, c.type());
        const tensor_handle y = describe_tensor(c.y, c.type());
        const index_t size = bytes_of(c.type());
        const convolution_handle how = describe_convolution(c);
        algorithm_choice best{1, -1, -1};
        if (times_) {
            const device_pointer px = make_device_memory(detail::volume_of(c.x) * size);
            const device_pointer pw = make_device_memory(detail::volume_of(c.w) * size);
            const device_pointer py = make_device_memory(detail::volume_of(c.y) * size);
            const device_pointer space = make_device_memory(most_);
            best = time_all(c, x.get(), px.get(), w.get(), pw.get(), y.get(), py.get(), how.get(), space.get());
        }
        if (!times_) {
            best = estimate(c, x.get(), w.get(), y.get(), how.get());
        }
        if (best.workspace < 0) {
            best.workspace = workspace_of_first(c, x.get(), w.get(), y.get(), how.get());
        }
        return best;
    }

    algorithm_choice time_all(const convolution& c, cudnnTensorDescriptor_t x, void* px, cudnnFilterDescriptor_t w,
                              void* pw, cudnnTensorDescriptor_t y, void* py, cudnnConvolutionDescriptor_t how,
                              void* space) {
        constexpr int most = 16;
        const auto bytes = static_cast<std::size_t>(most_);
        int count = 0;
        switch (c.way) {
        case convolution::direction::forward: {
            cudnnConvolutionFwdAlgoPerf_t results[most]{};
            check(cudnnFindConvolutionForwardAlgorithmEx(handle_.get(), x, px, w, pw, how, y, py, most, &count, results,
                                                         space, bytes),
                  "cudnnFindConvolutionForwardAlgorithmEx");
            return detail::fastest(results, count, most_, c.math);
        }
        case convolution::direction::backward_data: {
            cudnnConvolutionBwdDataAlgoPerf_t results[most]{};
            check(cudnnFindConvolutionBackwardDataAlgorithmEx(handle_.get(), w, pw, y, py, how, x, px, most, &count,
                                                              results, space, bytes),
                  "cudnnFindConvolutionBackwardDataAlgorithmEx");
            return detail::fastest(results, count, most_, c.math);
        }
        case convolution::direction::backward_filter:
            break;
        }
        cudnnConvolutionBwdFilterAlgoPerf_t results[most]{};
        check(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle_.get(), x, px, y, py, how, w, pw, most, &count,
                                                            results, space, bytes),
              "cudnnFindConvolutionBackwardFilterAlgorithmEx");
        return detail::fastest(results, count, most_, c.math);
    }

    algorithm_choice estimate(const convolution& c, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                              cudnnTensorDescriptor_t y, cudnnConvolutionDescriptor_t how) {
        constexpr int most = 16;
        int count = 0;
        switch (c.way) {
        case convolution::direction::forward: {
            cudnnConvolutionFwdAlgoPerf_t results[most]{};
            check(cudnnGetConvolutionForwardAlgorithm_v7(handle_.get(), x, w, how, y, most, &count, results),
                  "cudnnGetConvolutionForwardAlgorithm_v7");
            return detail::fastest(results, count, most_, c.math);
        }
        case convolution::direction::backward_data: {
            cudnnConvolutionBwdDataAlgoPerf_t results[most]{};
            check(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_.get(), w, y, how, x, most, &count, results),
                  "cudnnGetConvolutionBackwardDataAlgorithm_v7");
            return detail::fastest(results, count, most_, c.math);
        }
        case convolution::direction::backward_filter:
            break;
        }
        cudnnConvolutionBwdFilterAlgoPerf_t results[most]{};
        check(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle_.get(), x, y, how, w, most, &count, results),
              "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
        return detail::fastest(results, count, most_, c.math);
    }

    index_t workspace_of_first(const convolution& c, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                               cudnnTensorDescriptor_t y, cudnnConvolutionDescriptor_t how) {
        std::size_t bytes = 0;
        switch (c.way) {
        case convolution::direction::forward:
            check(cudnnGetConvolutionForwardWorkspaceSize(handle_.get(), x, w, how, y,
                                                          CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &bytes),
                  "cudnnGetConvolutionForwardWorkspaceSize");
            break;
        case convolution::direction::backward_data:
            check(cudnnGetConvolutionBackwardDataWorkspaceSize(handle_.get(), w, y, how, x,
                                                               CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, &bytes),
                  "cudnnGetConvolutionBackwardDataWorkspaceSize");
            break;
        case convolution::direction::backward_filter:
            check(cudnnGetConvolutionBackwardFilterWorkspaceSize(handle_.get(), x, y, how, w,
                                                                 CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, &bytes),
                  "cudnnGetConvolutionBackwardFilterWorkspaceSize");
            break;
        }
        return static_cast<index_t>(bytes);
    }

    int gpu_;
    index_t most_;
    bool times_;
    cudnn_handle handle_;
};

} // namespace tessera::cuda
