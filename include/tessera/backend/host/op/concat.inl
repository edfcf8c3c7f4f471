// SPDX-License-Identifier: Apache-2.0
// Bodies of concat.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/concat.hpp"

namespace tessera::host {

TESSERA_INLINE concat_job::concat_job(const bound_call& b) {
    const compute_call& c = b.call;
    const description& d = *c.d;
    const int out = d.output();
    const bool forward = is_forward(c.what);
    const box y = region(d, out, c.ranges);
    const int f = forward ? b.how.value[out] : b.how.gradient[out];
    const int a = axis(c);
    detail::channel_rows rows(y.extents(), f);
    if (a != 1) { // plain
        rows.length = 1;
        for (int k = a + 1; k < y.rank; ++k) {
            rows.length *= y.dim[k].size();
        }
        rows.channels = y.dim[a].size();
        rows.blocks = y.volume() / (rows.length * rows.channels);
    }
    auto* all = detail::floats(forward ? c.value[out].data : c.gradient[out].data);
    for (int o = 0; o < out; ++o) {
        const box x = region(d, o, c.ranges);
        if (x.empty() || !(forward || has(c.emits, o))) {
            continue;
        }
        piece p;
        p.input = detail::floats(forward ? c.value[o].data : c.gradient[o].data);
        p.output = all + (x.dim[a].begin - d.operands[o].dim[a].offset - y.dim[a].begin) * rows.length;
        p.row = x.dim[a].size() * rows.length;
        pieces_.push_back(p);
    }
    blocks_ = rows.blocks;
    step_ = rows.channels * rows.length;
    forward_ = forward;
}

TESSERA_INLINE int concat_job::axis(const compute_call& c) {
    return op::axis_of(c.attributes.as<op::concat_attributes>().axis, c.d->operands[0].extents.rank);
}

TESSERA_INLINE bool concat_job::in_whole_blocks(const compute_call& c) {
    const int out = c.d->output();
    const index_t first = region(*c.d, out, c.ranges).dim[1].begin;
    for (int o = 0; o < out; ++o) {
        const box x = region(*c.d, o, c.ranges);
        const index_t begin = x.dim[1].begin - c.d->operands[o].dim[1].offset - first;
        if (!x.empty() && (begin % 16 != 0 || x.dim[1].size() % 16 != 0)) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE void concat_job::run(const run_state&) {
    for (index_t b = 0; b < blocks_; ++b) {
        for (const piece& p : pieces_) {
            float* x = p.input + b * p.row;
            float* y = p.output + b * step_;
            std::memcpy(forward_ ? y : x, forward_ ? x : y, to_size(p.row) * sizeof(float));
        }
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
