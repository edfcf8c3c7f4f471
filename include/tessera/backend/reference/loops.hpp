// SPDX-License-Identifier: Apache-2.0
// Loops that several operators share.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/shard.hpp"
#include "tessera/base/finite.hpp"

#include <cmath>
#include <limits>

namespace tessera::reference::detail {

template <class Real>
void maximum(const shard<Real>& s, int from, int to) {
    const Real* const px = s.value(from);
    Real* const py = s.value(to);
    s.fill(to, -std::numeric_limits<Real>::infinity());
    s.walk_inside(from, {s.value_at(from), s.value_at(to)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const Real x = px[r.at[0] + i * r.step[0]];
            Real& y = py[r.at[1] + i * r.step[1]];
            y = x > y || is_nan(x) ? x : y;
        }
    });
}

template <class Real, class Function>
void map(const shard<Real>& s, int from, Function f) {
    const int y = s.output();
    const Real* const px = s.value(from);
    Real* const py = s.value(y);
    s.walk_inside(from, {s.value_at(from), s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[1] + i * r.step[1]] = f(px[r.at[0] + i * r.step[0]]);
        }
    });
}

/// gradient[o] += gradient[output] * value[other], the rule of products, without the points at which one of `inside` is
/// outside its tensor.
template <class Real>
void multiply_gradient(const shard<Real>& s, int o, int other, std::uint32_t inside) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    const Real* const factor = s.value(other);
    Real* const to = s.gradient(o);
    s.walk_over(s.all_loops(), inside, {s.gradient_at(y), s.value_at(other), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] += dy[r.at[0] + i * r.step[0]] * factor[r.at[1] + i * r.step[1]];
        }
    });
}

/// gradient[o] = gradient[output], where the index of `o` is inside it.
template <class Real>
void pass_gradient(const shard<Real>& s, int o) {
    const Real* const dy = s.gradient(s.output());
    Real* const to = s.gradient(o);
    s.walk_inside(o, {s.gradient_at(s.output()), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[1] + i * r.step[1]] += dy[r.at[0] + i * r.step[0]];
        }
    });
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
