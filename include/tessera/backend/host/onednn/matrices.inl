// SPDX-License-Identifier: Apache-2.0
// Bodies of matrices.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/matrices.hpp"

namespace tessera::host::detail {

TESSERA_INLINE void multiply_matrices(const matrix_view& a, const matrix_view& b, const matrix_view& c, float factor,
                                      float keep) {
    if (c.column_stride != 1) {
        return multiply_matrices(b.transposed(), a.transposed(), c.transposed(), factor, keep);
    }
    const single_thread alone;
    static thread_local const bool ready = (require_headroom(), true); // some is made at the first call
    static_cast<void>(ready);
    const auto leading = [](const matrix_view& m) {
        const bool by_rows = m.column_stride == 1;
        const index_t stride = by_rows ? m.row_stride : m.column_stride;
        const index_t least = by_rows ? m.columns : m.rows;
        return stride > least ? stride : least; // of a single row or column no stride is taken
    };
    check(dnnl_sgemm(a.column_stride == 1 ? 'N' : 'T', b.column_stride == 1 ? 'N' : 'T', c.rows, c.columns, a.columns,
                     factor, a.data, leading(a), b.data, leading(b), keep, c.data, leading(c)),
          "dnnl_sgemm");
}

TESSERA_INLINE void add_matrices(const compute_call& c, format_table&, std::vector<candidate>& out) {
    out.push_back(in_format(c, format::plain));
    out.back().engine = engine_kind::onednn;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
