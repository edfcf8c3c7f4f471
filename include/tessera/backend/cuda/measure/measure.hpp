// SPDX-License-Identifier: Apache-2.0
// Convolution algorithms chosen by measurement on the GPU, or by cuDNN's own estimate: among those that always give the
// same bits.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/descriptors.hpp"
#include "tessera/backend/cuda/measure/algorithms.hpp"

#include <algorithm>

namespace tessera::cuda {

namespace detail {

/// An algorithm that cuDNN proposes; what it says of its memory is not believed.
struct proposal {
    int algorithm = 1;
    math_type multipliers = math_type::plain;
    double milliseconds = -1;
};

/// Those of cuDNN's results, which are sorted by time, that give the same bits each time and round no more than the
/// precision permits.
template <class Result>
std::vector<proposal> usable(const Result* results, int count, precision math) {
    std::vector<proposal> found;
    for (int i = 0; i < count; ++i) {
        const Result& r = results[i];
        const auto multipliers = static_cast<math_type>(r.mathType);
        if (r.status == CUDNN_STATUS_SUCCESS && r.determinism == CUDNN_DETERMINISTIC &&
            rounds_as_little(multipliers, math)) {
            found.push_back({static_cast<int>(r.algo), multipliers, static_cast<double>(r.time)});
        }
    }
    return found;
}

} // namespace detail

/// Searches on the GPU that is current, in memory of its own that is released afterwards.
class convolution_search {
public:
    /// `most_workspace` bytes for any one call; 0: a 32nd of the GPU's memory, and never less than the call's arrays
    /// together, which is what tensor cores want where cuDNN turns the arrays round for them. Without `times`, and
    /// where the GPU has no room for a measurement, cuDNN estimates; where it knows none, algorithm 1 is taken.
    convolution_search(int gpu, index_t most_workspace, bool times) : gpu_(gpu), most_(most_workspace), times_(times) {}

    static algorithm_choice search(void* self, const convolution& c);

    algorithm_choice search(const convolution& c);

private:
    struct arrays {
        tensor_handle x;
        filter_handle w;
        tensor_handle y;
    };

    algorithm_choice search_here(convolution c);

    std::vector<detail::proposal> time_all(const convolution& c, const arrays& a, index_t space);

    std::vector<detail::proposal> estimate(const convolution& c, const arrays& a);

    /// Bytes that cuDNN wants for an algorithm with its multipliers: as the call will name them. -1 where it does not
    /// do it so.
    index_t workspace_of(const convolution& c, const arrays& a);

    int gpu_;
    index_t most_;
    bool times_;
    cudnn_handle handle_;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/measure/measure.inl"
#endif

#include "tessera/base/end_header.inl"
