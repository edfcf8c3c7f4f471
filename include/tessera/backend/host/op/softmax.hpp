// SPDX-License-Identifier: Apache-2.0
// Softmax on plain tiles, row by row.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/row_loss.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/softmax.hpp"

#include <algorithm>

namespace tessera::host {

/// Any nests of a softmax, forward or backward; see op/softmax.hpp.
class softmax_job : public job {
public:
    explicit softmax_job(const bound_call& b);

    void run(const run_state&) override;

private:
    float& of_row(const tile_view* all, int o, index_t r) const { return detail::floats(all[o].data)[r]; }

    /// Columns of the shard that the row sees.
    index_t seen(index_t r) const;

    void forward(index_t r) const;

    void backward(index_t r) const;

    compute_call c_;
    int largest_ = -1, total_ = -1, out_ = -1;
    int lengths_ = -1; ///< of padded sequences
    index_t rows_ = 0, rows_of_sample_ = 1, columns_ = 0, first_column_ = 0;
    interval matrix_;
};

inline constexpr row_list softmax_rows{
    row<op::softmax_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<softmax_job>,
            .why = "oneDNN's has no causal mask, and no partial sums, which a split of the rows' elements leaves",
        };
    }),
    row<op::padded_softmax_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<softmax_job>,
            .why = "oneDNN's knows no lengths",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/softmax.inl"
#endif

#include "tessera/base/end_header.inl"
