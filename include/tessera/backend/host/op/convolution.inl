// SPDX-License-Identifier: Apache-2.0
// Bodies of convolution.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/convolution.hpp"

namespace tessera::host::detail {

TESSERA_INLINE kernels::conv_shape conv_shape_of(const compute_call& c) {
    const local_window g(c);
    kernels::conv_shape s;
    s.blocks = blocks_of(g.x[0]);
    s.in_channels = to_int(g.x[1]);
    s.in_height = to_int(g.x[2]);
    s.in_width = to_int(g.x[3]);
    s.out_channels = to_int(g.y[1]);
    s.out_height = to_int(g.y[2]);
    s.out_width = to_int(g.y[3]);
    s.kernel_h = to_int(g.a.window[0]);
    s.kernel_w = to_int(g.a.window[1]);
    s.stride_h = to_int(g.a.stride[0]);
    s.stride_w = to_int(g.a.stride[1]);
    s.pad_top = to_int(g.pad_begin[0]);
    s.pad_left = to_int(g.pad_begin[1]);
    s.dilation_h = to_int(g.a.dilation[0]);
    s.dilation_w = to_int(g.a.dilation[1]);
    return s;
}

TESSERA_INLINE index_t conv_kernels::scratch(const compute_call& c) {
    const shape_type s = conv_shape_of(c);
    return static_cast<index_t>(is_forward(c.what)               ? kernels::conv_forward_scratch(s)
                                : c.what == pass::backward_input ? kernels::conv_backward_data_scratch(s)
                                                                 : kernels::conv_backward_weights_scratch(s));
}

TESSERA_INLINE void conv_kernels::forward(const float* x, const float* w, const float* b, float* y, const shape_type& s,
                                          void* scratch) {
    kernels::conv_forward(x, w, b, y, s, false, true, scratch);
}

TESSERA_INLINE void conv_kernels::input_gradient(const float* dy, const float* w, float* dx, const shape_type& s,
                                                 void* scratch) {
    kernels::conv_backward_data(dy, w, dx, s, true, scratch);
}

TESSERA_INLINE void conv_kernels::weight_gradient(const float* x, const float* dy, float* dw, float* db,
                                                  const shape_type& s, void* scratch) {
    kernels::conv_backward_weights(x, dy, dw, db, s, false, scratch);
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE onednn_convolution::onednn_convolution(const compute_call& c, engine_kind engine)
    : steps_(detail::steps_of(c)),
      how_(engine == engine_kind::winograd ? dnnl_convolution_winograd : dnnl_convolution_direct) {}

TESSERA_INLINE index_t onednn_convolution::groups(const compute_call& c) {
    return op::convolution_groups(c.attributes, c.d->operands[0].extents.rank) == 1
               ? 1
               : c.ranges[c.d->find_loop(loop_name::channel)].size();
}

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE bool is_small_window(const compute_call& c) {
    const local_window g(c);
    return g.a.dimensions == 2 && g.is_symmetric() && g.a.window[0] == 3 && g.a.window[1] == 3 && g.a.stride[0] == 1 &&
           g.a.stride[1] == 1 && !g.a.is_dilated() && onednn_convolution::groups(c) == 1;
}

TESSERA_INLINE void add_all_onednn_convolutions(const compute_call& c, format_table& table,
                                                std::vector<candidate>& out) {
    constexpr product_formats formats[] = {{format::channels16, format::channels16},
                                           {format::channels_last, format::channels_last},
                                           {format::plain, format::channels16},
                                           {format::plain, format::channels_last},
                                           {format::plain, format::plain}};
    const index_t channels = extents_of(c, c.d->find_operand(operand_kind::input))[1];
    for (const engine_kind engine : {engine_kind::onednn, engine_kind::winograd}) {
        if (engine == engine_kind::winograd && !(has_winograd && is_small_window(c))) {
            continue;
        }
        for (const product_formats& f : formats) {
            const bool mixed = f.x != f.y;
            if (mixed && (engine == engine_kind::winograd || channels > 4)) {
                continue; // a mixed pair pays for few channels only
            }
            add_product_candidate<onednn_convolution>(c, engine, f, false, table, out);
        }
    }
}

TESSERA_INLINE bool leaves_both_ends(const local_window& g, int d) {
    const index_t reach = (g.a.window[d] - 1) * g.a.dilation[d] + 1;
    const index_t input = g.x[2 + d];
    for (index_t o = 0; o < g.y[2 + d]; ++o) {
        const index_t first = o * g.a.stride[d] - g.pad_begin[d];
        const index_t next = first + g.a.stride[d];
        if (first < 0 && (first + reach > input || (next > 0 && o + 1 < g.y[2 + d] && next + reach > input))) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE bool is_reordered_wrong(const compute_call& c, const candidate& k, const local_window& g) {
    constexpr index_t most = 6144;
    const int weight = c.d->find_operand(operand_kind::parameter, 0);
    const int f = k.value[weight] >= 0 ? k.value[weight] : k.gradient[weight];
    const index_t outputs = g.y[1] / onednn_convolution::groups(c);
    index_t elements = 1;
    for (int d = 0; d < g.a.dimensions; ++d) {
        elements *= g.a.window[d];
    }
    return DNNL_VERSION_MAJOR == 2 && f >= format::opaque && outputs > 16 && outputs % 16 != 0 && elements > most;
}

TESSERA_INLINE bool has_wrong_loops(const compute_call& c, const local_window& g) {
    constexpr index_t most_rows = 16;
    if (c.what != pass::backward_weight) {
        return false;
    }
    const bool is_volume = g.a.dimensions > 2;
    bool any = is_volume && leaves_both_ends(g, 0);
    for (int d = 0; d < g.a.dimensions; ++d) { // of windows longer than a volume nothing is known
        any = any || (is_volume && (g.a.window[d] - 1) * g.a.dilation[d] + 1 > g.x[2 + d]);
        any = any || (d + 1 < g.a.dimensions && g.a.window[d] > most_rows);
    }
    return any;
}

TESSERA_INLINE bool is_proved(const compute_call& c, const candidate& k, const format_table& table) {
    const local_window g(c);
    if (is_reordered_wrong(c, k, g)) {
        return false;
    }
    if (!has_wrong_loops(c, g)) { // of any format: where an extent is 1 all look alike
        return true;
    }
    const onednn_problem p = problem_of<onednn_convolution>(c, k, table);
    return p.pd && implementation_name(p.pd).find("gemm") != std::string::npos;
}

TESSERA_INLINE void add_onednn_convolutions(const compute_call& c, format_table& table, std::vector<candidate>& out) {
    std::vector<candidate> all;
    add_all_onednn_convolutions(c, table, all);
    for (const candidate& k : all) {
        if (is_proved(c, k, table)) {
            out.push_back(k);
        }
    }
}

TESSERA_INLINE void add_conv_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out) {
    add_onednn_convolutions(c, table, out);
    if (c.attributes.as<op::conv2d_attributes>().groups == 1) {
        add_in_samples<conv_job>(c, out);
    }
}

TESSERA_INLINE double conv_effort(const compute_call& c, const candidate& k, double flops) {
    const shape w = extents_of(c, c.d->find_operand(operand_kind::parameter, 0));
    const bool in_plain = k.engine != engine_kind::vectors && entry_format(k) == format::plain;
    flops = in_plain ? flops * 3.0 : product_effort(c, k, flops, w[0] < 32 || w[1] < 32);
    return flops * (k.engine == engine_kind::winograd ? 0.7 : 1.0);
}

TESSERA_INLINE std::string conv_problem(const compute_call& c) {
    return window_problem(c, op::convolution_groups(c.attributes, c.d->operands[0].extents.rank));
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
