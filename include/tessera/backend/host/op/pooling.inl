// SPDX-License-Identifier: Apache-2.0
// Bodies of pooling.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/pooling.hpp"

namespace tessera::host::detail {

TESSERA_INLINE kernels::pool_shape pool_shape_of(const compute_call& c, int f) {
    const local_window g(c);
    kernels::pool_shape s;
    switch (f) {
    case format::samples16:
        s.planes = to_int((g.x[0] + 15) / 16 * g.x[1]);
        break;
    case format::channels16:
        s.planes = to_int(g.x[0] * ((g.x[1] + 15) / 16));
        break;
    case format::channels_last:
        s.planes = to_int(g.x[0]);
        s.lanes = to_int(g.x[1]);
        break;
    default:
        s.planes = to_int(g.x[0] * g.x[1]);
        s.lanes = 1;
        break;
    }
    const int h = g.a.dimensions - 2; // of the height, in what is said of each dimension
    s.in_height = to_int(g.x[2 + h]);
    s.in_width = to_int(g.x[3 + h]);
    s.out_height = to_int(g.y[2 + h]);
    s.out_width = to_int(g.y[3 + h]);
    s.window_h = to_int(g.a.window[h]);
    s.window_w = to_int(g.a.window[h + 1]);
    s.stride_h = to_int(g.a.stride[h]);
    s.stride_w = to_int(g.a.stride[h + 1]);
    s.pad_top = to_int(g.pad_begin[h]);
    s.pad_left = to_int(g.pad_begin[h + 1]);
    if (h > 0) {
        s.in_depth = to_int(g.x[2]);
        s.out_depth = to_int(g.y[2]);
        s.window_d = to_int(g.a.window[0]);
        s.stride_d = to_int(g.a.stride[0]);
        s.pad_front = to_int(g.pad_begin[0]);
    }
    return s;
}

TESSERA_INLINE bool counts_padding(const compute_call& c) {
    return op::counts_padding(c.attributes, c.d->operands[0].extents.rank);
}

TESSERA_INLINE pool_problem make_average_pool(const compute_call& c, const tensor_desc& x, const tensor_desc& y) {
    const window_steps g = steps_of(c);
    const op::windows a = op::windows_of(c.attributes, c.d->operands[0].extents.rank);
    const dnnl_dims_t kernel = {a.window[0], a.window[1], a.window[2]};
    const dnnl_alg_kind_t how = counts_padding(c) ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
    const auto made = [&](const primitive_descs& make) { return make.pooling(how, x, y, kernel, g); };
    pool_problem p;
    p.forward = make_primitive_desc(c.what == pass::evaluate ? direction::inference : direction::forward, {}, made);
    if (!is_forward(c.what) && p.forward) {
        p.pd = make_primitive_desc(direction::backward_data, p.forward, made);
    }
    return p;
}

TESSERA_INLINE void add_max_pool_candidates(const compute_call& c, format_table&, std::vector<candidate>& out) {
    for (const int f : {format::samples16, format::channels16, format::channels_last, format::plain}) {
        add_pooling_candidate<true>(c, f, out);
    }
}

TESSERA_INLINE void add_average_pool_candidates(const compute_call& c, format_table& table,
                                                std::vector<candidate>& out) {
    const int in = c.d->find_operand(operand_kind::input);
    const int result = c.d->output();
    for (const int f : {format::channels16, format::channels_last, format::plain}) {
        const pool_problem p =
            make_average_pool(c, table.desc(f, extents_of(c, in)), table.desc(f, extents_of(c, result)));
        if (!p.forward || (!is_forward(c.what) && !p.pd)) {
            continue;
        }
        candidate k;
        k.engine = engine_kind::onednn;
        if (is_forward(c.what)) {
            k.value[in] = f;
            k.value[result] = f;
        } else {
            k.gradient[in] = f;
            k.gradient[result] = f;
            k.unused = bit(in);
        }
        k.scratch = scratch_bytes(is_forward(c.what) ? p.forward : p.pd);
        out.push_back(k);
    }
    add_pooling_candidate<false>(c, format::samples16, out);
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE average_pool_job::average_pool_job(const bound_call& b, const format_table& table,
                                                  dnnl_stream_t stream) {
    const compute_call& c = b.call;
    const int in = c.d->find_operand(operand_kind::input);
    const int out = c.d->output();
    const bool forward = is_forward(c.what);
    const tensor_desc x = table.desc(forward ? b.how.value[in] : b.how.gradient[in], detail::extents_of(c, in));
    const tensor_desc y = table.desc(forward ? b.how.value[out] : b.how.gradient[out], detail::extents_of(c, out));
    const detail::pool_problem p = detail::make_average_pool(c, x, y);
    const unique_primitive_desc& pd = forward ? p.forward : p.pd;
    if (!pd) {
        throw error("tessera: oneDNN has no pooling where it had one when the plan was bound");
    }
    primitive_.make(pd);
    primitive_.stream = stream;
    primitive_.bind(forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_SRC, x, forward ? c.value[in].data : c.gradient[in].data);
    primitive_.bind(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y, forward ? c.value[out].data : c.gradient[out].data);
    primitive_.bind(DNNL_ARG_SCRATCHPAD, query(pd, dnnl_query_scratchpad_md), b.scratch);
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
