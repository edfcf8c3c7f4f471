// SPDX-License-Identifier: Apache-2.0
// Pools.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"
#include "tessera/base/finite.hpp"

#include <cmath>
#include <vector>

namespace tessera::reference {

namespace detail {

/// What averages divide by.
template <class Real>
class averaged {
public:
    explicit averaged(const shard<Real>& s)
        : extents_(s.extents(s.input())), a_(op::windows_of(s.call.attributes, extents_.rank)),
          counts_padding_(op::counts_padding(s.call.attributes, extents_.rank)) {
        for (int d = 0; d < a_.dimensions; ++d) {
            loops_[d] = s.d.find_loop(op::window_dimension(d, a_.dimensions));
        }
    }
    /// Of the window at these loops, whose last one is `further` ahead.
    index_t window(const index_t* point, index_t further) const {
        index_t count = 1;
        for (int d = 0; d < a_.dimensions; ++d) {
            count *= inside(d, point[loops_[d]] + (d + 1 == a_.dimensions ? further : 0));
        }
        return count;
    }
    /// Of a whole plane or volume.
    index_t plane() const { return extents_.volume() / (extents_[0] * extents_[1]); }

private:
    /// Window positions inside the input at place `at` of the output along dimension `d`; all of them if padding
    /// counts.
    index_t inside(int d, index_t at) const {
        if (counts_padding_) {
            return a_.window[d];
        }
        index_t count = 0;
        for (index_t r = 0; r < a_.window[d]; ++r) {
            const index_t x = at * a_.stride[d] + r * a_.dilation[d] - a_.padding[d];
            count += x >= 0 && x < extents_[2 + d] ? 1 : 0;
        }
        return count;
    }

    shape extents_;
    op::windows a_;
    bool counts_padding_;
    int loops_[op::max_window_dimensions] = {};
};

template <bool Global, class Real>
void average(const shard<Real>& s) {
    const int x = s.input();
    const int y = s.output();
    const Real* const px = s.value(x);
    Real* const py = s.value(y);
    s.fill(y, Real(0));
    s.walk_inside(x, {s.value_at(x), s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[1] + i * r.step[1]] += px[r.at[0] + i * r.step[0]];
        }
    });
    const averaged<Real> over(s);
    s.walk_over(s.output_loops(), 0, {s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[0] + i * r.step[0]] /= static_cast<Real>(Global ? over.plane() : over.window(r.point, i));
        }
    });
}

/// The first of the largest elements of a window, in row-major order, gets the gradient. NaN is larger than everything,
/// and of several the last one gets it, as in PyTorch.
template <class Real>
void maximum_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const px = s.value(o);
    const Real* const dy = s.gradient(y);
    Real* const to = s.gradient(o);
    struct candidate {
        Real value = 0;
        index_t where = -1; ///< in the gradient of the input
    };
    std::vector<candidate> best(to_size(s.touched(y).volume()));
    s.walk_inside(o, {s.value_at(o), s.gradient_at(o), s.local_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const Real x = px[r.at[0] + i * r.step[0]];
            candidate& b = best[to_size(r.at[2] + i * r.step[2])];
            if (b.where < 0 || x > b.value || is_nan(x)) {
                b = {x, r.at[1] + i * r.step[1]};
            }
        }
    });
    s.walk_over(s.output_loops(), 0, {s.gradient_at(y), s.local_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const index_t where = best[to_size(r.at[1] + i * r.step[1])].where;
            if (where >= 0) {
                to[where] += dy[r.at[0] + i * r.step[0]];
            }
        }
    });
}

template <bool Global, class Real>
void average_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    Real* const to = s.gradient(o);
    const averaged<Real> over(s);
    s.walk_inside(o, {s.gradient_at(y), s.gradient_at(o)}, [&](const auto& r) {
        // A window's loops are inside those of the output, which therefore stay the same along a run.
        const index_t divisor = Global ? over.plane() : over.window(r.point, 0);
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[1] + i * r.step[1]] += dy[r.at[0] + i * r.step[0]] / static_cast<Real>(divisor);
        }
    });
}

struct largest {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        maximum(s, s.input(), s.output());
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        maximum_gradient(s, o);
    }
};

template <bool Global>
struct mean {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        average<Global>(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        average_gradient<Global>(s, o);
    }
};

} // namespace detail

inline constexpr row_list pool_rows{
    row<op::max_pool_record, detail::largest>{},
    row<op::average_pool_record, detail::mean<false>>{},
    row<op::max_pool3d_record, detail::largest>{},
    row<op::average_pool3d_record, detail::mean<false>>{},
    row<op::global_average_pool_record, detail::mean<true>>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
