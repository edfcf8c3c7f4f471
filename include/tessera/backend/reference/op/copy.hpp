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

inline constexpr row_list copy_rows{
    row<op::concat_record, detail::copy_loops>{},
    row<op::flatten_record, detail::copy_loops>{},
    row<op::slice_record, detail::copy_loops>{},
};

} // namespace tessera::reference
