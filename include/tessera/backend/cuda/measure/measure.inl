// SPDX-License-Identifier: Apache-2.0
// Bodies of measure.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/measure.hpp"

namespace tessera::cuda {

TESSERA_INLINE algorithm_choice convolution_search::search(void* self, const convolution& c) {
    return static_cast<convolution_search*>(self)->search(c);
}

TESSERA_INLINE algorithm_choice convolution_search::search(const convolution& c) {
    int before = 0;
    check(cudaGetDevice(&before), "cudaGetDevice");
    check(cudaSetDevice(gpu_), "cudaSetDevice");
    const algorithm_choice found = search_here(c);
    check(cudaSetDevice(before), "cudaSetDevice");
    return found;
}

TESSERA_INLINE algorithm_choice convolution_search::search_here(convolution c) {
    if (handle_.get() == nullptr) {
        handle_ = make_cudnn();
    }
    const arrays a{describe_tensor(c.x, c.type()), describe_filter(c.w, c.type()), describe_tensor(c.y, c.type())};
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const index_t most = most_ > 0 ? most_ : std::max(static_cast<index_t>(total) / 32, c.array_bytes());
    // Some is left to others, and for what an allocation takes besides its bytes.
    const index_t space = std::min(most, static_cast<index_t>(free - free / 16) - c.array_bytes());
    for (const detail::proposal& p : times_&& space > 0 ? time_all(c, a, space) : estimate(c, a)) {
        c.algorithm = p.algorithm;
        c.multipliers = p.multipliers;
        const index_t bytes = workspace_of(c, a);
        if (bytes >= 0 && bytes <= most) {
            return {c.algorithm, bytes, p.milliseconds, c.multipliers};
        }
    }
    c.algorithm = 1;
    c.multipliers = math_type_of(c.math);
    const index_t bytes = workspace_of(c, a);
    if (bytes < 0) {
        throw error("tessera: cuDNN has no algorithm that gives the same bits each time for a convolution of " +
                    std::to_string(c.x[0]) + " samples, " + std::to_string(c.x[1]) + " to " + std::to_string(c.y[1]) +
                    " channels; use another precision or another split");
    }
    return {c.algorithm, bytes, -1, c.multipliers};
}

TESSERA_INLINE std::vector<detail::proposal> convolution_search::time_all(const convolution& c, const arrays& a,
                                                                          index_t space) {
    const auto volume = [&](const tensor_extents& e) { return volume_of(e) * bytes_of(c.type()); };
    const device_pointer px = make_device_memory(volume(c.x));
    const device_pointer pw = make_device_memory(volume(c.w));
    const device_pointer py = make_device_memory(volume(c.y));
    const device_pointer work = make_device_memory(space);
    const convolution_handle how = describe_convolution(c);
    const auto bytes = to_size(space);
    constexpr int most = 16;
    int count = 0;
    switch (c.way) {
    case convolution::direction::forward: {
        cudnnConvolutionFwdAlgoPerf_t results[most]{};
        check(cudnnFindConvolutionForwardAlgorithmEx(handle_.get(), a.x.get(), px.get(), a.w.get(), pw.get(), how.get(),
                                                     a.y.get(), py.get(), most, &count, results, work.get(), bytes),
              "cudnnFindConvolutionForwardAlgorithmEx");
        return detail::usable(results, count, c.math);
    }
    case convolution::direction::backward_data: {
        cudnnConvolutionBwdDataAlgoPerf_t results[most]{};
        check(cudnnFindConvolutionBackwardDataAlgorithmEx(handle_.get(), a.w.get(), pw.get(), a.y.get(), py.get(),
                                                          how.get(), a.x.get(), px.get(), most, &count, results,
                                                          work.get(), bytes),
              "cudnnFindConvolutionBackwardDataAlgorithmEx");
        return detail::usable(results, count, c.math);
    }
    case convolution::direction::backward_filter:
        break;
    }
    cudnnConvolutionBwdFilterAlgoPerf_t results[most]{};
    check(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle_.get(), a.x.get(), px.get(), a.y.get(), py.get(),
                                                        how.get(), a.w.get(), pw.get(), most, &count, results,
                                                        work.get(), bytes),
          "cudnnFindConvolutionBackwardFilterAlgorithmEx");
    return detail::usable(results, count, c.math);
}

TESSERA_INLINE std::vector<detail::proposal> convolution_search::estimate(const convolution& c, const arrays& a) {
    const convolution_handle how = describe_convolution(c);
    constexpr int most = 16;
    int count = 0;
    switch (c.way) {
    case convolution::direction::forward: {
        cudnnConvolutionFwdAlgoPerf_t results[most]{};
        check(cudnnGetConvolutionForwardAlgorithm_v7(handle_.get(), a.x.get(), a.w.get(), how.get(), a.y.get(), most,
                                                     &count, results),
              "cudnnGetConvolutionForwardAlgorithm_v7");
        return detail::usable(results, count, c.math);
    }
    case convolution::direction::backward_data: {
        cudnnConvolutionBwdDataAlgoPerf_t results[most]{};
        check(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_.get(), a.w.get(), a.y.get(), how.get(), a.x.get(),
                                                          most, &count, results),
              "cudnnGetConvolutionBackwardDataAlgorithm_v7");
        return detail::usable(results, count, c.math);
    }
    case convolution::direction::backward_filter:
        break;
    }
    cudnnConvolutionBwdFilterAlgoPerf_t results[most]{};
    check(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle_.get(), a.x.get(), a.y.get(), how.get(), a.w.get(), most,
                                                        &count, results),
          "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    return detail::usable(results, count, c.math);
}

TESSERA_INLINE index_t convolution_search::workspace_of(const convolution& c, const arrays& a) {
    const convolution_handle how = describe_convolution(c);
    std::size_t bytes = 0;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    switch (c.way) {
    case convolution::direction::forward:
        status = cudnnGetConvolutionForwardWorkspaceSize(handle_.get(), a.x.get(), a.w.get(), how.get(), a.y.get(),
                                                         static_cast<cudnnConvolutionFwdAlgo_t>(c.algorithm), &bytes);
        break;
    case convolution::direction::backward_data:
        status = cudnnGetConvolutionBackwardDataWorkspaceSize(handle_.get(), a.w.get(), a.y.get(), how.get(), a.x.get(),
                                                              static_cast<cudnnConvolutionBwdDataAlgo_t>(c.algorithm),
                                                              &bytes);
        break;
    case convolution::direction::backward_filter:
        status = cudnnGetConvolutionBackwardFilterWorkspaceSize(
            handle_.get(), a.x.get(), a.y.get(), how.get(), a.w.get(),
            static_cast<cudnnConvolutionBwdFilterAlgo_t>(c.algorithm), &bytes);
        break;
    }
    return status == CUDNN_STATUS_SUCCESS ? static_cast<index_t>(bytes) : -1;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
