// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and change none.
#pragma once
#include "tessera/base/begin_header.inl"

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

/// Zeros where there is no input.
struct padded_copy_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        s.fill(s.output(), Real(0));
        copy_loops::forward(s, nest);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        pass_gradient(s, o);
    }
};

/// Elements meet by their number in the sample, which some descriptions do not say.
struct reshape_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const Real* const x = s.value(s.input());
        Real* const y = s.value(s.output());
        each(s, s.call.value[s.input()].region, s.call.value[s.output()].region,
             [&](index_t from, index_t to) { y[to] = x[from]; });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        each(s, s.call.gradient[o].region, s.call.gradient[s.output()].region,
             [&](index_t to, index_t from) { dx[to] = dy[from]; });
    }

private:
    /// Calls body(place in x, place in y) for all elements that the shard touches.
    template <class Real, class Body>
    static void each(const shard<Real>& s, const box& x, const box& y, const Body& body) {
        const box all = s.touched(s.output());
        const shape& outer = s.extents(s.output());
        const shape& inner = s.extents(s.input());
        for (index_t i = 0; i < all.volume(); ++i) {
            index_t rest = i;
            index_t number = 0; // in the whole tensor
            index_t to = 0;
            index_t stride = 1;
            index_t dense = 1;
            for (int k = all.rank - 1; k >= 0; --k) {
                const index_t at = all.dim[k].begin + rest % all.dim[k].size();
                rest /= all.dim[k].size();
                number += at * stride;
                stride *= outer[k];
                to += (at - y.dim[k].begin) * dense;
                dense *= y.dim[k].size();
            }
            index_t from = 0;
            dense = 1;
            for (int k = inner.rank - 1; k >= 0; --k) {
                from += (number % inner[k] - x.dim[k].begin) * dense;
                number /= inner[k];
                dense *= x.dim[k].size();
            }
            body(from, to);
        }
    }
};

} // namespace detail

inline constexpr row_list copy_rows{
    row<op::broadcast_to_record, detail::copy_loops>{},
    row<op::concat_record, detail::copy_loops>{},
    row<op::crop_record, detail::copy_loops>{},
    row<op::flip_record, detail::copy_loops>{},
    row<op::pad_record, detail::padded_copy_loops>{},
    row<op::permute_record, detail::copy_loops>{},
    row<op::reshape_record, detail::reshape_loops>{},
    row<op::roll_record, detail::copy_loops>{},
    row<op::upsample_nearest_record, detail::copy_loops>{},
    row<op::flatten_record, detail::copy_loops>{},
    row<op::slice_record, detail::copy_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
