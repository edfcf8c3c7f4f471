// SPDX-License-Identifier: Apache-2.0
// Softmax over the last dimension.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"
#include "tessera/base/finite.hpp"

#include <cmath>
#include <limits>

namespace tessera::reference {

namespace detail {

/// How many of a run's columns a softmax sees: in a causal one those up to the row's own number, of a padded sequence
/// those within its length.
template <class Real>
class columns_seen {
public:
    explicit columns_seen(const shard<Real>& s)
        : column_(s.d.loops.size() - 1), causal_(s.call.attributes.template as<op::softmax_attributes>().causal) {
        if (const int o = s.input(1); o >= 0) {
            lengths_ = s.template value<std::int32_t>(o);
            first_sample_ = s.call.value[o].region.dim[0].begin;
        }
    }

    template <class Run>
    index_t operator()(const Run& r) const {
        index_t end = r.point[column_] + r.count;
        if (causal_ && r.point[column_ - 1] + 1 < end) {
            end = r.point[column_ - 1] + 1;
        }
        if (lengths_ != nullptr && lengths_[r.point[0] - first_sample_] < end) {
            end = lengths_[r.point[0] - first_sample_];
        }
        return end - r.point[column_]; // none where negative
    }

private:
    int column_;
    bool causal_;
    const std::int32_t* lengths_ = nullptr;
    index_t first_sample_ = 0;
};

template <class Real>
void row_maximum(const shard<Real>& s) {
    const columns_seen seen_of(s);
    const Real* const px = s.value(s.input());
    Real* const to = s.value(s.intermediate(0));
    s.fill(s.intermediate(0), -std::numeric_limits<Real>::infinity());
    s.walk({s.value_at(s.input()), s.value_at(s.intermediate(0))}, [&](const auto& r) {
        const index_t seen = seen_of(r);
        for (index_t i = 0; i < seen; ++i) {
            const Real x = px[r.at[0] + i * r.step[0]];
            to[r.at[1]] = x > to[r.at[1]] || is_nan(x) ? x : to[r.at[1]];
        }
    });
}

template <class Real>
void row_exponentials(const shard<Real>& s) {
    const columns_seen seen_of(s);
    const Real* const px = s.value(s.input());
    const Real* const top = s.value(s.intermediate(0));
    Real* const to = s.value(s.intermediate(1));
    s.fill(s.intermediate(1), Real(0));
    s.walk({s.value_at(s.input()), s.value_at(s.intermediate(0)), s.value_at(s.intermediate(1))}, [&](const auto& r) {
        const index_t seen = seen_of(r);
        for (index_t i = 0; i < seen; ++i) {
            to[r.at[2]] += std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[1]]);
        }
    });
}

template <class Real>
void row_softmax(const shard<Real>& s) {
    const columns_seen seen_of(s);
    const Real* const px = s.value(s.input());
    const Real* const top = s.value(s.intermediate(0));
    const Real* const sum = s.value(s.intermediate(1));
    Real* const py = s.value(s.output());
    s.walk(
        {s.value_at(s.input()), s.value_at(s.intermediate(0)), s.value_at(s.intermediate(1)), s.value_at(s.output())},
        [&](const auto& r) {
            const index_t seen = seen_of(r);
            for (index_t i = 0; i < r.count; ++i) {
                py[r.at[3] + i * r.step[3]] =
                    i < seen ? std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[1]]) / sum[r.at[2]] : Real(0);
            }
        });
}

/// The sum of dy * y of every row.
template <class Real>
void row_total_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    const Real* const py = s.value(y);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(y), s.value_at(y), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2]] += dy[r.at[0] + i * r.step[0]] * py[r.at[1] + i * r.step[1]];
        }
    });
}

/// dx = y * (dy - sum of dy * y).
template <class Real>
void row_softmax_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const int total = s.intermediate(1);
    const Real* const dy = s.gradient(y);
    const Real* const py = s.value(y);
    const Real* const sum = s.gradient(total);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(y), s.value_at(y), s.gradient_at(total), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[3] + i * r.step[3]] += py[r.at[1] + i * r.step[1]] * (dy[r.at[0] + i * r.step[0]] - sum[r.at[2]]);
        }
    });
}

struct softmax_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        nest == 0 ? row_maximum(s) : nest == 1 ? row_exponentials(s) : row_softmax(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        o == s.input() ? row_softmax_gradient(s, o) : row_total_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list softmax_rows{
    row<op::softmax_record, detail::softmax_loops>{},
    row<op::padded_softmax_record, detail::softmax_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
