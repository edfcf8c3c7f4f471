// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of logits and labels.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

#include <cmath>

namespace tessera::reference {

namespace detail {

/// A class's index at every point of a cross-entropy.
cursor class_at();

template <class Real>
void sum_exponentials(const shard<Real>& s) {
    const int x = s.input();
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const Real* const px = s.value(x);
    const Real* const top = s.value(largest);
    Real* const to = s.value(total);
    s.fill(total, Real(0));
    s.walk({s.value_at(x), s.value_at(largest), s.value_at(total)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] += std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[1] + i * r.step[1]]);
        }
    });
}

/// log(sum of exp(x)) - x[label], from the shard that has the label's class. The difference of logits comes first: an
/// offset that they share then costs the loss no digits.
template <class Real>
void negative_log_likelihood(const shard<Real>& s) {
    const int x = s.input();
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const int y = s.output();
    const Real* const px = s.value(x);
    const std::int32_t* const labels = s.template value<std::int32_t>(s.input(1));
    const Real* const top = s.value(largest);
    const Real* const sum = s.value(total);
    Real* const py = s.value(y);
    s.fill(y, Real(0));
    s.walk({s.value_at(x), s.value_at(s.input(1)), s.value_at(largest), s.value_at(total), s.value_at(y), class_at()},
           [&](const auto& r) {
               for (index_t i = 0; i < r.count; ++i) {
                   if (labels[r.at[1] + i * r.step[1]] == r.at[5] + i * r.step[5]) {
                       py[r.at[4] + i * r.step[4]] += std::log(sum[r.at[3] + i * r.step[3]]) +
                                                      (top[r.at[2] + i * r.step[2]] - px[r.at[0] + i * r.step[0]]);
                   }
               }
           });
}

/// (softmax - 1 at the label) * loss_scale.
template <class Real>
void softmax_gradient(const shard<Real>& s, int o) {
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const Real* const px = s.value(o);
    const std::int32_t* const labels = s.template value<std::int32_t>(s.input(1));
    const Real* const top = s.value(largest);
    const Real* const sum = s.value(total);
    const Real scale = static_cast<Real>(s.call.loss_scale);
    Real* const to = s.gradient(o);
    s.walk(
        {s.value_at(o), s.value_at(s.input(1)), s.value_at(largest), s.value_at(total), s.gradient_at(o), class_at()},
        [&](const auto& r) {
            for (index_t i = 0; i < r.count; ++i) {
                const Real p =
                    std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[2] + i * r.step[2]]) / sum[r.at[3] + i * r.step[3]];
                const bool hit = labels[r.at[1] + i * r.step[1]] == r.at[5] + i * r.step[5];
                to[r.at[4] + i * r.step[4]] += (p - (hit ? Real(1) : Real(0))) * scale;
            }
        });
}

struct cross_entropy_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        nest == 0   ? maximum(s, s.input(), s.intermediate(0))
        : nest == 1 ? sum_exponentials(s)
                    : negative_log_likelihood(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        softmax_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list cross_entropy_rows{
    row<op::cross_entropy_record, detail::cross_entropy_loops>{},
};

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/op/cross_entropy.inl"
#endif

#include "tessera/base/end_header.inl"
