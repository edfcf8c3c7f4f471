// SPDX-License-Identifier: Apache-2.0
// Concatenation in any format in which the parts lie in whole rows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/concat.hpp"

#include <cstring>

namespace tessera::host {

/// Copies the channels of the inputs side by side, or their gradients apart.
class concat_job : public job {
public:
    explicit concat_job(const bound_call& b) {
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

    static int axis(const compute_call& c) {
        return op::axis_of(c.attributes.as<op::concat_attributes>().axis, c.d->operands[0].extents.rank);
    }

    /// True where all inputs start and end at the borders of blocks of 16 channels.
    static bool in_whole_blocks(const compute_call& c) {
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

    void run(const run_state&) override {
        for (index_t b = 0; b < blocks_; ++b) {
            for (const piece& p : pieces_) {
                float* x = p.input + b * p.row;
                float* y = p.output + b * step_;
                std::memcpy(forward_ ? y : x, forward_ ? x : y, static_cast<std::size_t>(p.row) * sizeof(float));
            }
        }
    }

private:
    struct piece {
        float* input = nullptr;
        float* output = nullptr;
        index_t row = 0;
    };
    std::vector<piece> pieces_;
    index_t blocks_ = 0, step_ = 0;
    bool forward_ = true;
};

inline constexpr row_list concat_rows{
    row<op::concat_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates =
                [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                    const bool of_channels = concat_job::axis(c) == 1;
                    if (c.d->operands[0].extents.rank >= 4 && of_channels) {
                        out.push_back(detail::in_format(c, format::channels_last));
                        if (concat_job::in_whole_blocks(c)) {
                            out.push_back(detail::in_format(c, format::channels16));
                        }
                    }
                    if (of_channels) {
                        out.push_back(detail::in_format(c, format::samples16));
                    }
                    out.push_back(detail::in_format(c, format::plain));
                },
            .make_job = detail::make<concat_job>,
            .why = "a copy computes nothing; one loop serves forward and backward, in blocks of 16 samples too",
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
