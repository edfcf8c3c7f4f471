// SPDX-License-Identifier: Apache-2.0
// Bodies of embedding.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/embedding.hpp"

namespace tessera::host {

TESSERA_INLINE embedding_job::embedding_job(const bound_call& b) : c_(b.call) {
    const description& d = *c_.d;
    table_ = d.find_operand(operand_kind::parameter, 0);
    const box y = region(d, d.output(), c_.ranges);
    columns_ = y.dim[y.rank - 1].size();
    tokens_ = y.volume() / columns_;
    rows_ = c_.ranges[d.find_loop(loop_name::reduction)];
}

TESSERA_INLINE void embedding_job::run(const run_state&) {
    const auto* token = static_cast<const std::int32_t*>(c_.value[0].data);
    const auto bytes = to_size(columns_) * sizeof(float);
    const bool forward = is_forward(c_.what);
    float* y = detail::floats(forward ? c_.value[c_.d->output()].data : c_.gradient[c_.d->output()].data);
    float* table = detail::floats(forward ? c_.value[table_].data : c_.gradient[table_].data);
    if (!forward) {
        std::memset(table, 0, to_size(rows_.size()) * bytes);
    }
    for (index_t t = 0; t < tokens_; ++t, y += columns_) {
        const bool own = token[t] >= rows_.begin && token[t] < rows_.end;
        float* row = own ? table + (token[t] - rows_.begin) * columns_ : nullptr;
        if (forward) {
            own ? std::memcpy(y, row, bytes) : std::memset(y, 0, bytes);
        } else if (own) {
            for (index_t i = 0; i < columns_; ++i) {
                row[i] += y[i];
            }
        }
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
