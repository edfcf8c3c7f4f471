// SPDX-License-Identifier: Apache-2.0
// Bodies of evaluation.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/evaluation.hpp"

namespace tessera::detail {

TESSERA_INLINE std::vector<row_leader> leaders_of(const logit_rows& r, std::span<const float> logits) {
    std::vector<row_leader> leaders(to_size(r.count()));
    const float* next = logits.data();
    for (index_t n = 0; n < r.samples; ++n) {
        for (index_t c = 0; c < r.classes; ++c) {
            for (index_t q = 0; q < r.plane; ++q) {
                row_leader& best = leaders[to_size(n * r.plane + q)];
                const row_leader here{*next++, static_cast<std::int32_t>(r.first_class + c)};
                best = best < here ? here : best;
            }
        }
    }
    return leaders;
}

TESSERA_INLINE void merge_leaders(const box& all, const box& part, std::span<const row_leader> found,
                                  std::span<row_leader> leaders) {
    const int axis = op::channel_dimension(all.rank);
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto left = static_cast<index_t>(i);
        index_t row = 0;
        index_t step = 1;
        for (int d = all.rank - 1; d >= 0; --d) {
            if (d != axis) {
                row += (part.dim[d].begin - all.dim[d].begin + left % part.dim[d].size()) * step;
                left /= part.dim[d].size();
                step *= all.dim[d].size();
            }
        }
        row_leader& best = leaders[to_size(row)];
        best = best < found[i] ? found[i] : best;
    }
}

TESSERA_INLINE void count_correct(const op_attributes& a, std::span<const row_leader> leaders,
                                  const std::int32_t* labels, evaluation& e) {
    const auto& ignored = record_of(a).ignored;
    for (const row_leader& best : leaders) {
        const std::int32_t label = *labels++;
        if (ignored != nullptr && label == ignored(a)) {
            continue;
        }
        e.correct += best.number == label ? 1 : 0;
        ++e.rows;
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
