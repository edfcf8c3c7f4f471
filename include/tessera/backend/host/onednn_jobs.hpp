// SPDX-License-Identifier: Apache-2.0
// Convolution, matrix product and pooling through oneDNN: which formats it takes, and the jobs that run it.
#pragma once

#include "tessera/backend/host/call.hpp"
#include "tessera/execute/store.hpp"

namespace tessera::host {

namespace detail {

/// The descriptors of one call, in formats that are given or (weights) left to oneDNN.
struct onednn_problem {
    unique_primitive_desc pd;
    int input = -1, weight = -1, bias = -1, output = -1;
};

inline tensor_desc any_weights(const shape& w, index_t groups) {
    if (groups == 1) {
        return memory_desc(w, dnnl_format_tag_any);
    }
    return memory_desc(make_shape(groups, w[0] / groups, w[1], w[2], w[3]), dnnl_format_tag_any);
}

inline tensor_desc weight_desc(const format_table& table, int f, const shape& w, index_t groups) {
    if (f >= format::opaque) {
        return table.desc(f, w);
    }
    if (groups == 1) {
        return table.desc(f, w);
    }
    return memory_desc(make_shape(groups, w[0] / groups, w[1], w[2], w[3]), dnnl_abcde);
}

inline index_t local_groups(const compute_call& c) {
    if (c.attributes.kind != op_kind::conv2d || c.attributes.groups == 1) {
        return 1;
    }
    return c.ranges[c.d->find_loop(loop_name::channel)].size();
}

inline onednn_problem operands_of(const compute_call& c) {
    onednn_problem p;
    p.input = c.d->find_operand(operand_kind::input);
    p.weight = c.d->find_operand(operand_kind::parameter, 0);
    p.bias = c.d->find_operand(operand_kind::parameter, 1);
    p.output = c.d->output();
    return p;
}

inline shape extents_of(const compute_call& c, int o) { return region(*c.d, o, c.ranges).extents(); }

/// The same, where a matrix product takes the positions of sequences for samples.
inline shape product_extents_of(const compute_call& c, int o) {
    const shape s = extents_of(c, o);
    return s.rank == 3 ? make_shape(s[0] * s[1], s[2]) : s;
}

inline window_steps steps_of(const compute_call& c) {
    const local_window g(c);
    window_steps s;
    for (int k = 0; k < 2; ++k) {
        s.stride[k] = c.attributes.stride[k];
        s.dilation[k] = c.attributes.dilation[k] - 1;
        s.begin[k] = g.pad_begin[k];
        s.end[k] = g.pad_end[k];
    }
    return s;
}

/// The primitive descriptor of a convolution's or matrix product's pass. `x`, `w`, `y` describe its tensors, w possibly as "any".
template <class Call>
onednn_problem make_product(const Call& c, engine_kind engine, const tensor_desc& x, const tensor_desc& w,
                            const tensor_desc& y) {
    onednn_problem p = operands_of(c);
    const bool has_bias =
        p.bias >= 0 && c.first_part && c.what != pass::backward_input && (is_forward(c.what) || has(c.emits, p.bias));
    tensor_desc b;
    if (has_bias) {
        b = memory_desc(extents_of(c, p.bias), dnnl_a);
    }
    const tensor_desc* bias = has_bias ? &b : nullptr;
    const bool is_linear = c.attributes.kind == op_kind::linear;
    const window_steps g = is_linear ? window_steps() : steps_of(c);
    const dnnl_alg_kind_t how = engine == engine_kind::winograd ? dnnl_convolution_winograd : dnnl_convolution_direct;
    const auto made_with = [&](const tensor_desc* added) {
        return [&, added](const primitive_descs& make) {
            return is_linear ? make.inner_product(x, w, added, y) : make.convolution(how, x, w, added, y, g);
        };
    };
    if (is_forward(c.what)) {
        p.pd = make_primitive_desc(direction::forward, {}, made_with(bias));
        return p;
    }
    const unique_primitive_desc hint = make_primitive_desc(direction::forward, {}, made_with(nullptr), true);
    if (hint) {
        p.pd =
            make_primitive_desc(c.what == pass::backward_input ? direction::backward_data : direction::backward_weights,
                                hint, made_with(bias));
    }
    return p;
}

inline index_t scratch_bytes(const unique_primitive_desc& pd) {
    return host::bytes_of(query(pd, dnnl_query_scratchpad_md));
}

/// The scratch memory of a job: the plan's, or where that is too small its own. Tensors of one channel lie alike in several formats, and
/// oneDNN may then take another way, with more scratch memory, than when the plan was bound; it writes past its end without a word.
class job_scratch {
public:
    void* at_least(index_t wanted, void* of_plan, index_t given) {
        if (wanted <= given) {
            return of_plan;
        }
        own_ = buffer(wanted);
        return own_.data();
    }

private:
    buffer own_;
};

/// Where the weights' format is asked for, by pass.
inline dnnl_query_t weight_query(pass what) {
    return what == pass::backward_weight ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
}

} // namespace detail

/// Ways in which oneDNN computes a convolution or matrix product; none where it has only reference implementations.
template <class Call>
void add_product_candidates(const Call& c, format_table& table, std::vector<candidate>& out) {
    const detail::onednn_problem o = detail::operands_of(c);
    const shape xs = detail::product_extents_of(c, o.input);
    const shape ws = detail::extents_of(c, o.weight);
    const shape ys = detail::product_extents_of(c, o.output);
    const bool is_linear = c.attributes.kind == op_kind::linear;
    const index_t groups = detail::local_groups(c);
    struct pair {
        int x, y;
    };
    constexpr pair linear_formats[] = {{format::plain, format::plain}};
    constexpr pair conv_formats[] = {{format::channels16, format::channels16},
                                     {format::channels_last, format::channels_last},
                                     {format::plain, format::channels16},
                                     {format::plain, format::channels_last},
                                     {format::plain, format::plain}};
    const std::span<const pair> formats =
        is_linear ? std::span<const pair>(linear_formats) : std::span<const pair>(conv_formats);
    // With padding on one side only (a shard that ends inside the image) its input gradients come out wrong in oneDNN 2.6.
    const auto even_padding = [&] {
        const local_window g(c);
        return g.pad_begin[0] == g.pad_end[0] && g.pad_begin[1] == g.pad_end[1];
    };
    const bool small_window = !is_linear && even_padding() && c.attributes.window[0] == 3 &&
                              c.attributes.window[1] == 3 && c.attributes.stride[0] == 1 &&
                              c.attributes.stride[1] == 1 && c.attributes.dilation[0] == 1 &&
                              c.attributes.dilation[1] == 1 && groups == 1;
    for (const engine_kind engine : {engine_kind::onednn, engine_kind::winograd}) {
        for (const pair f : formats) {
            for (const bool plain_weights : {false, true}) {
                if ((engine == engine_kind::winograd && (!has_winograd || !small_window || f.x != f.y)) ||
                    (plain_weights && !is_linear)) {
                    continue;
                }
                if (f.x == format::plain && f.y != format::plain && xs[1] > 4) {
                    continue; // a mixed pair pays for few channels only
                }
                const tensor_desc w = plain_weights ? detail::weight_desc(table, format::plain, ws, groups)
                                                    : detail::any_weights(ws, groups);
                const detail::onednn_problem p =
                    detail::make_product(c, engine, table.desc(f.x, xs), w, table.desc(f.y, ys));
                if (!p.pd) {
                    continue;
                }
                candidate k;
                k.engine = engine;
                const int weights = table.number(query(p.pd, detail::weight_query(c.what)));
                k.scratch = detail::scratch_bytes(p.pd);
                if (is_forward(c.what)) {
                    k.value[p.input] = f.x;
                    k.value[p.weight] = weights;
                    k.value[p.output] = f.y;
                    if (p.bias >= 0) {
                        k.value[p.bias] = format::plain;
                    }
                } else {
                    k.gradient[p.output] = f.y;
                    if (c.what == pass::backward_input) {
                        k.gradient[p.input] = f.x;
                        k.value[p.weight] = weights;
                    } else {
                        k.value[p.input] = f.x;
                        k.gradient[p.weight] = weights;
                        if (p.bias >= 0 && has(c.emits, p.bias)) {
                            k.gradient[p.bias] = format::plain;
                        }
                    }
                }
                bool again = false;
                for (const candidate& e : out) {
                    again = again || same_formats(e, k);
                }
                if (!again) {
                    out.push_back(k);
                }
            }
        }
    }
}

/// A convolution or matrix product by oneDNN.
template <class Call>
class product_job : public job {
public:
    product_job(const Call& b, const format_table& table, dnnl_stream_t stream) {
        const compute_call& c = b.call;
        const detail::onednn_problem o = detail::operands_of(c);
        const index_t groups = detail::local_groups(c);
        const auto format_of = [&](int which) {
            return b.how.value[which] >= 0 ? b.how.value[which] : b.how.gradient[which];
        };
        const auto data_of = [&](int which, bool gradient) {
            return gradient ? c.gradient[which].data : c.value[which].data;
        };
        const tensor_desc x = table.desc(format_of(o.input), detail::product_extents_of(c, o.input));
        const tensor_desc w = detail::weight_desc(table, format_of(o.weight), detail::extents_of(c, o.weight), groups);
        const tensor_desc y = table.desc(format_of(o.output), detail::product_extents_of(c, o.output));
        const detail::onednn_problem p = detail::make_product(c, b.how.engine, x, w, y);
        if (!p.pd) {
            throw error("tessera: oneDNN has no implementation where it had one when the plan was bound");
        }
        primitive_.make(p.pd);
        primitive_.stream = stream;
        const bool forward = is_forward(c.what);
        const bool to_input = c.what == pass::backward_input;
        primitive_.bind(to_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x, data_of(o.input, to_input));
        primitive_.bind(forward || to_input ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, w,
                        data_of(o.weight, !forward && !to_input));
        primitive_.bind(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y, data_of(o.output, !forward));
        const bool has_bias = o.bias >= 0 && c.first_part && !to_input && (forward || has(c.emits, o.bias));
        if (has_bias) {
            primitive_.bind(forward ? DNNL_ARG_BIAS : DNNL_ARG_DIFF_BIAS,
                            memory_desc(detail::extents_of(c, o.bias), dnnl_a), data_of(o.bias, !forward));
        }
        primitive_.bind(DNNL_ARG_SCRATCHPAD, query(p.pd, dnnl_query_scratchpad_md),
                        scratch_.at_least(detail::scratch_bytes(p.pd), b.scratch, b.how.scratch));
    }
    void run(const run_state&) override { primitive_.execute(); }

private:
    detail::job_scratch scratch_;
    primitive_job primitive_;
};

namespace detail {

struct pool_problem {
    unique_primitive_desc forward;
    unique_primitive_desc pd; ///< of the pass that was asked for; null if that is forward
};

template <class Call>
pool_problem make_pool(const Call& c, const tensor_desc& x, const tensor_desc& y) {
    const window_steps g = steps_of(c);
    const dnnl_dims_t kernel = {c.attributes.window[0], c.attributes.window[1]};
    const dnnl_alg_kind_t how = c.attributes.kind == op_kind::max_pool ? dnnl_pooling_max
                                : c.attributes.count_padding           ? dnnl_pooling_avg_include_padding
                                                                       : dnnl_pooling_avg_exclude_padding;
    const auto made = [&](const primitive_descs& make) { return make.pooling(how, x, y, kernel, g); };
    pool_problem p;
    p.forward = make_primitive_desc(c.what == pass::evaluate ? direction::inference : direction::forward, {}, made);
    if (!is_forward(c.what) && p.forward) {
        p.pd = make_primitive_desc(direction::backward_data, p.forward, made);
    }
    return p;
}

inline bool has_workspace(const pool_problem& p, const compute_call& c) {
    return c.attributes.kind == op_kind::max_pool && c.what != pass::evaluate &&
           query(p.forward, dnnl_query_workspace_md).rank() > 0;
}

} // namespace detail

template <class Call>
void add_pool_candidates(const Call& c, format_table& table, std::vector<candidate>& out) {
    const int in = c.d->find_operand(operand_kind::input);
    const int result = c.d->output();
    for (const int f : {format::channels16, format::channels_last, format::plain}) {
        const detail::pool_problem p = detail::make_pool(c, table.desc(f, detail::extents_of(c, in)),
                                                         table.desc(f, detail::extents_of(c, result)));
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
        k.scratch = detail::scratch_bytes(is_forward(c.what) ? p.forward : p.pd);
        if (detail::has_workspace(p, c)) {
            k.workspace = host::bytes_of(query(p.forward, dnnl_query_workspace_md));
        }
        out.push_back(k);
    }
}

template <class Call>
class pool_job : public job {
public:
    pool_job(const Call& b, const format_table& table, dnnl_stream_t stream) {
        const compute_call& c = b.call;
        const int in = c.d->find_operand(operand_kind::input);
        const int out = c.d->output();
        const bool forward = is_forward(c.what);
        const tensor_desc x = table.desc(forward ? b.how.value[in] : b.how.gradient[in], detail::extents_of(c, in));
        const tensor_desc y = table.desc(forward ? b.how.value[out] : b.how.gradient[out], detail::extents_of(c, out));
        const detail::pool_problem p = detail::make_pool(c, x, y);
        const unique_primitive_desc& pd = forward ? p.forward : p.pd;
        if (!pd) {
            throw error("tessera: oneDNN has no pooling where it had one when the plan was bound");
        }
        primitive_.make(pd);
        primitive_.stream = stream;
        primitive_.bind(forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_SRC, x,
                        forward ? c.value[in].data : c.gradient[in].data);
        primitive_.bind(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y,
                        forward ? c.value[out].data : c.gradient[out].data);
        if (detail::has_workspace(p, c)) {
            primitive_.bind(DNNL_ARG_WORKSPACE, query(p.forward, dnnl_query_workspace_md), b.workspace);
        }
        primitive_.bind(DNNL_ARG_SCRATCHPAD, query(pd, dnnl_query_scratchpad_md), b.scratch);
    }
    void run(const run_state&) override { primitive_.execute(); }

private:
    primitive_job primitive_;
};

/// From one format to another, for tensors that are not in blocks of samples.
class reorder_job : public job {
public:
    reorder_job(const tensor_desc& from, const tensor_desc& to, void* source, void* target, void* scratch,
                dnnl_stream_t stream) {
        const unique_primitive_desc pd = make(from, to);
        primitive_.make(pd);
        primitive_.stream = stream;
        primitive_.bind(DNNL_ARG_FROM, from, source);
        primitive_.bind(DNNL_ARG_TO, to, target);
        primitive_.bind(DNNL_ARG_SCRATCHPAD, query(pd, dnnl_query_scratchpad_md), scratch);
    }
    static index_t scratch_bytes(const tensor_desc& from, const tensor_desc& to) {
        return detail::scratch_bytes(make(from, to));
    }
    void run(const run_state&) override { primitive_.execute(); }

private:
    static unique_primitive_desc make(const tensor_desc& from, const tensor_desc& to) {
        const single_thread alone;
        dnnl_primitive_desc_t pd = nullptr;
        check(dnnl_reorder_primitive_desc_create(&pd, from.get(), engine(), to.get(), engine(), user_scratchpad()),
              "dnnl_reorder_primitive_desc_create");
        return unique_primitive_desc(pd);
    }
    primitive_job primitive_;
};

} // namespace tessera::host
