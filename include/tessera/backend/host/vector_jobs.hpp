// SPDX-License-Identifier: Apache-2.0
// What the catalog knows of the kernels of our own: which formats they take, what they need, and the jobs that run them.
#pragma once

#include "tessera/backend/host/block_jobs.hpp"
#include "tessera/backend/host/elementwise_job.hpp"
#include "tessera/backend/host/loss_jobs.hpp"
#include "tessera/backend/host/move_jobs.hpp"
#include "tessera/backend/host/norm_jobs.hpp"
#include "tessera/backend/host/norm_lane_jobs.hpp"
#include "tessera/backend/host/row_jobs.hpp"

namespace tessera::host {

namespace detail {

/// A candidate on blocks of samples: activations in them, parameters plain.
inline candidate in_samples(const compute_call& c) {
    candidate k;
    k.engine = engine_kind::vectors;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        const operand& x = c.d->operands[o];
        const bool activation = x.kind == operand_kind::input || x.kind == operand_kind::output;
        const int f = activation && x.type == element::f32 && x.extents.rank > 1 ? format::samples16 : format::plain;
        if (is_forward(c.what)) {
            k.value[o] = f;
        } else {
            k.gradient[o] = o == c.d->output() || has(c.emits, o) ? f : -1;
            bool read = false;
            for (int e = 0; e < c.d->operands.size(); ++e) {
                read = read || (has(c.emits, e) && has(c.d->operands[e].gradient_reads, o));
            }
            k.value[o] = read ? f : -1;
        }
    }
    return k;
}

/// All operands in one format, which is any that has its elements' zeros where it is longer than they are.
inline void add_elementwise_candidates(const compute_call& c, const elementwise_row& row, std::vector<candidate>& out) {
    const bool images = c.d->operands[0].extents.rank == 4;
    for (const int f : {format::plain, format::channels_last, format::samples16, format::channels16}) {
        if ((!images && (f == format::channels_last || f == format::channels16)) ||
            (f == format::channels16 && !row.keeps_zero)) {
            continue; // the zeros that fill up blocks of channels must stay zeros
        }
        candidate e = in_samples(c);
        for (int o = 0; o < c.d->operands.size(); ++o) {
            e.value[o] = e.value[o] >= 0 ? f : -1;
            e.gradient[o] = e.gradient[o] >= 0 ? f : -1;
        }
        out.push_back(e);
    }
}

} // namespace detail

/// Ways to compute a call with kernels of our own.
inline void add_vector_candidates(const compute_call& c, std::vector<candidate>& out) {
    if (const elementwise_row* row = elementwise_row_of(c.attributes.kind)) {
        return detail::add_elementwise_candidates(c, *row, out);
    }
    candidate k = detail::in_samples(c);
    const bool forward = is_forward(c.what);
    switch (c.attributes.kind) {
    case op_kind::conv2d:
        if (c.attributes.groups == 1 && conv_job::fits(c)) {
            k.scratch = conv_job::scratch(c);
            out.push_back(k);
        }
        return;
    case op_kind::linear:
        if (c.d->operands[0].extents.rank == 2 && linear_job::fits(c)) {
            k.scratch = linear_job::scratch(c);
            out.push_back(k);
        }
        return;
    case op_kind::layer_norm:
    case op_kind::softmax:
    case op_kind::embedding:
        out.push_back(detail::in_format(c, format::plain));
        return;
    case op_kind::max_pool:
    case op_kind::average_pool:
        for (const int f : {format::samples16, format::channels16, format::channels_last, format::plain}) {
            if ((f != format::samples16 && c.attributes.kind == op_kind::average_pool) || !pooling_job::fits(c, f)) {
                continue;
            }
            candidate e;
            e.engine = engine_kind::vectors;
            (forward ? e.value : e.gradient)[0] = f;
            (forward ? e.value : e.gradient)[c.d->output()] = f;
            e.unused = forward ? 0 : bit(0);
            e.workspace = pooling_job::workspace(c, f);
            out.push_back(e);
        }
        return;
    case op_kind::cross_entropy: {
        const int rank = c.d->operands[0].extents.rank;
        if (!detail::is_whole_loss(c)) {
            if (rank != 3) { // plain loops do sequences
                out.push_back(detail::in_format(c, format::plain));
            }
        } else if (rank > 3) {
            for (const int f : {format::channels_last, format::plain}) {
                candidate e = detail::in_format(c, f);
                e.scratch = pixel_loss_job::scratch(c, f);
                e.value[c.d->output()] = forward ? format::plain : -1; // rows of images, not images
                for (int o = 0; o < c.d->operands.size(); ++o) {
                    if (c.d->operands[o].kind == operand_kind::intermediate) {
                        e.unused |= bit(o);
                        e.value[o] = -1;
                    }
                }
                out.push_back(e);
            }
        } else {
            k.scratch = loss_job::scratch(c);
            for (int o = 0; o < c.d->operands.size(); ++o) {
                if (c.d->operands[o].kind == operand_kind::intermediate) {
                    k.unused |= bit(o);
                    k.value[o] = -1;
                }
            }
            if (rank == 2) {
                out.push_back(k);
            }
            for (int o = 0; o < c.d->operands.size(); ++o) {
                k.value[o] = k.value[o] >= 0 ? format::plain : -1;
                k.gradient[o] = k.gradient[o] >= 0 ? format::plain : -1;
            }
            out.push_back(k);
        }
        return;
    }
    case op_kind::concat:
        if (c.d->operands[0].extents.rank == 4 && concat_job::axis(c) == 1) {
            out.push_back(detail::in_format(c, format::channels_last));
            if (concat_job::in_whole_blocks(c)) {
                out.push_back(detail::in_format(c, format::channels16));
            }
        }
        if (concat_job::axis(c) == 1) {
            out.push_back(detail::in_format(c, format::samples16));
        }
        out.push_back(detail::in_format(c, format::plain));
        return;
    case op_kind::batch_norm:
    case op_kind::global_average_pool:
        for (const int f : {format::channels16, format::channels_last}) {
            if (c.d->operands[0].extents.rank == 4) {
                candidate e = detail::in_format(c, f);
                const int y = c.d->output();
                if (c.attributes.kind == op_kind::batch_norm) {
                    e.scratch = batch_norm_lanes_job::scratch(c, f);
                } else {
                    e.value[y] = e.value[y] >= 0 ? format::plain : -1;
                    e.gradient[y] = e.gradient[y] >= 0 ? format::plain : -1;
                }
                out.push_back(e);
            }
        }
        [[fallthrough]];
    case op_kind::dropout:
    case op_kind::channel_dropout:
        out.push_back(detail::in_format(c, format::samples16));
        out.push_back(detail::in_format(c, format::plain));
        return;
    default:
        return;
    }
}

// A template only so that it is compiled where a backend is used.
template <class Call>
owned<job> make_vector_job(const Call& b, const format_table& table) {
    using made = owned<job>;
    switch (b.call.attributes.kind) {
    case op_kind::conv2d:
        return made(new conv_job(b));
    case op_kind::linear:
        return made(new linear_job(b));
    case op_kind::max_pool:
    case op_kind::average_pool:
        return made(new pooling_job(b));
    case op_kind::cross_entropy: {
        if (!detail::is_whole_loss(b.call)) {
            return made(new loss_nest_job(b));
        }
        if (b.call.d->operands[0].extents.rank > 3) {
            return made(new pixel_loss_job(b));
        }
        return made(new loss_job(b));
    }
    case op_kind::batch_norm: {
        const int out = b.call.d->output();
        const int f = b.how.value[0] >= 0 ? b.how.value[0] : b.how.gradient[out];
        if (f == format::channels16 || f == format::channels_last) {
            return made(new batch_norm_lanes_job(b, f));
        }
        return made(new batch_norm_job(b));
    }
    case op_kind::dropout:
    case op_kind::channel_dropout:
        return made(new dropout_job(b));
    case op_kind::layer_norm:
        return made(new layer_norm_job(b));
    case op_kind::softmax:
        return made(new softmax_job(b));
    case op_kind::embedding:
        return made(new embedding_job(b));
    case op_kind::concat:
        return made(new concat_job(b));
    case op_kind::global_average_pool:
        if (const int f = is_forward(b.call.what) ? b.how.value[0] : b.how.gradient[0];
            f == format::channels16 || f == format::channels_last) {
            return made(new global_average_lanes_job(b));
        }
        return made(new global_average_job(b));
    default:
        return made(new elementwise_job(b, table));
    }
}

} // namespace tessera::host
