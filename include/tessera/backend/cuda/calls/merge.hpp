// SPDX-License-Identifier: Apache-2.0
// Which tasks of a plan one vendor call does: all nests of a batch norm or a softmax whose sums no split divides, and a
// convolution or a linear layer with the activation after it. Decided on the plan, when it is bound.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/table.hpp"
#include "tessera/op/analysis.hpp"
#include "tessera/plan/plan.hpp"

#include <algorithm>

namespace tessera::cuda {

namespace detail {

class merger {
public:
    merger(plan& p, const graph_view& g) : p_(p), g_(g) {}

    void run(bool fuses);

private:
    static bool touches(const std::vector<int>& list, int t);

    // ---- whole operators --------------------------------------------------------------------------------------------

    /// A pair of tasks of one shard: the second last nest's gradients, and the input's.
    struct halves {
        std::size_t inner;
        std::size_t outer;
    };

    /// The vendor's pass needs all nests of a shard in one task, and nobody else may look at what is between them.
    void merge_nests(int op, bool keeps);

    bool forward_is_whole(int op, const description& d) const;

    /// Every gradient of the input has its gradients of what is between, on the same device, and the other way round.
    bool find_halves(int op, const description& d, std::vector<halves>& pairs) const;

    /// Whether a copy, or a task of another device, reads or writes what is between the nests.
    bool is_seen_outside(int op, std::uint32_t between) const;

    /// Adds the gradients of `inner` to those of `outer`, without the ones between.
    void merge(const task& inner, task& outer, std::uint32_t between, bool keeps) const;

    // ---- an activation in the call before it ------------------------------------------------------------------------

    /// A relu is computed by the convolution (with a bias: cuDNN's fused call has one) or linear layer before it, in
    /// place, where nobody else reads what that writes. Backward reads the relu's output, which stays: cublasLt's
    /// epilogue that would go with it (DRELU) wants a mask of bits instead, which forward would have to leave beside
    /// the output. The other activations have no such call: cublasLt's gelu is the approximation by tanh.
    void fuse_activations();

    bool may_activate(const task& t, const task& relu) const;

    plan& p_;
    const graph_view g_;
};

} // namespace detail

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/merge.inl"
#endif

#include "tessera/base/end_header.inl"
