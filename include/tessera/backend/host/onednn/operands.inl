// SPDX-License-Identifier: Apache-2.0
// Bodies of operands.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/operands.hpp"

namespace tessera::host::detail {

TESSERA_INLINE tensor_desc group_weights(const shape& w, index_t groups, dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {groups, w[0] / groups};
    for (int d = 1; d < w.rank; ++d) {
        dims[d + 1] = w[d];
    }
    return tensor_desc(w.rank + 1, dims, tag);
}

TESSERA_INLINE tensor_desc any_weights(const shape& w, index_t groups) {
    return groups == 1 ? memory_desc(w, dnnl_format_tag_any) : group_weights(w, groups, dnnl_format_tag_any);
}

TESSERA_INLINE tensor_desc weight_desc(const format_table& table, int f, const shape& w, index_t groups) {
    if (f >= format::opaque) {
        return table.desc(f, w);
    }
    if (groups == 1) {
        return table.desc(f, w);
    }
    return group_weights(w, groups, plain_tag(w.rank + 1));
}

TESSERA_INLINE onednn_problem operands_of(const compute_call& c) {
    onednn_problem p;
    p.input = c.d->find_operand(operand_kind::input);
    p.weight = c.d->find_operand(operand_kind::parameter, 0);
    p.bias = c.d->find_operand(operand_kind::parameter, 1);
    p.output = c.d->output();
    return p;
}

TESSERA_INLINE window_steps steps_of(const compute_call& c) {
    const local_window g(c);
    window_steps s;
    for (int k = 0; k < g.a.dimensions; ++k) {
        s.stride[k] = g.a.stride[k];
        s.dilation[k] = g.a.dilation[k] - 1;
        s.begin[k] = g.pad_begin[k];
        s.end[k] = g.pad_end[k];
    }
    return s;
}

TESSERA_INLINE index_t scratch_bytes(const unique_primitive_desc& pd) {
    return host::bytes_of(query(pd, dnnl_query_scratchpad_md));
}

TESSERA_INLINE void* job_scratch::at_least(index_t wanted, void* of_plan, index_t given) {
    if (wanted <= given) {
        return of_plan;
    }
    own_ = buffer(wanted);
    return own_.data();
}

TESSERA_INLINE dnnl_query_t weight_query(pass what) {
    return what == pass::backward_weight ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
