// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and change none.
#pragma once

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

namespace detail {

struct copy_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        for (int k = 0; s.input(k) >= 0; ++k) {
            if (!s.touched(s.input(k)).empty()) {
                map(s, s.input(k), [](Real x) { return x; });
            }
        }
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        pass_gradient(s, o);
    }
};

} // namespace detail

template <class Real>
inline constexpr operator_row<Real> copy_rows[] = {
    row_of<Real, detail::copy_loops>(op::concat_record),
    row_of<Real, detail::copy_loops>(op::flatten_record),
    row_of<Real, detail::copy_loops>(op::slice_record),
};

} // namespace tessera::reference
