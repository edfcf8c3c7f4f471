// SPDX-License-Identifier: Apache-2.0
// The operands of a call in the terms of oneDNN: their extents, formats of weights, windows, scratch memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/execute/local/store.hpp"

namespace tessera::host::detail {

/// The descriptors of one call, in formats that are given or (weights) left to oneDNN.
struct onednn_problem {
    unique_primitive_desc pd;
    int input = -1, weight = -1, bias = -1, output = -1;
};

/// Weights [out, in, window] as oneDNN takes those of groups: [groups, out / groups, in, window].
tensor_desc group_weights(const shape& w, index_t groups, dnnl_format_tag_t tag);

tensor_desc any_weights(const shape& w, index_t groups);

tensor_desc weight_desc(const format_table& table, int f, const shape& w, index_t groups);

onednn_problem operands_of(const compute_call& c);

inline shape extents_of(const compute_call& c, int o) { return region(*c.d, o, c.ranges).extents(); }

window_steps steps_of(const compute_call& c);

index_t scratch_bytes(const unique_primitive_desc& pd);

/// The scratch memory of a job: the plan's, or where that is too small its own. Tensors of one channel lie alike in
/// several formats, and oneDNN may then take another way, with more scratch memory, than when the plan was bound; it
/// writes past its end without a word.
class job_scratch {
public:
    void* at_least(index_t wanted, void* of_plan, index_t given);

private:
    buffer own_;
};

/// Where the weights' format is asked for, by pass.
dnnl_query_t weight_query(pass what);

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/onednn/operands.inl"
#endif

#include "tessera/base/end_header.inl"
