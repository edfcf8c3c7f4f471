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
    explicit concat_job(const bound_call& b);

    static int axis(const compute_call& c);

    /// True where all inputs start and end at the borders of blocks of 16 channels.
    static bool in_whole_blocks(const compute_call& c);

    void run(const run_state&) override;

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

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/concat.inl"
#endif

#include "tessera/base/end_header.inl"
