// SPDX-License-Identifier: Apache-2.0
// Look-ups of tokens on plain tiles.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/embedding.hpp"

#include <cstring>

namespace tessera::host {

/// Look-ups of tokens, and the gradient of the table.
class embedding_job : public job {
public:
    explicit embedding_job(const bound_call& b);

    void run(const run_state&) override;

private:
    compute_call c_;
    int table_ = -1;
    index_t tokens_ = 0, columns_ = 0;
    interval rows_; ///< of the table
};

inline constexpr row_list embedding_rows{
    row<op::embedding_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<embedding_job>,
            .why = "no primitive of oneDNN looks up rows",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/embedding.inl"
#endif

#include "tessera/base/end_header.inl"
