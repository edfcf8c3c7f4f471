// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, in plain tiles: a permutation, a part, a repetition, each as nested loops with strides.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/broadcast_to.hpp"
#include "tessera/op/flip.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/roll.hpp"
#include "tessera/op/upsample.hpp"
#include "tessera/task/element_move.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace tessera::host {

namespace detail {

/// One move between two arrays, with the loops in the order in which it is fastest.
class mover {
public:
    mover(const element_move& m, const float* from, float* to);

    void run() const { descend(0, from_, to_); }

private:
    static constexpr index_t tile = 16;

    void descend(int l, const float* from, float* to) const;
    void copy(const float* from, float* to) const;
    /// Two loops: the source's neighbours lie along the first, the target's along the second.
    void transpose(const float* from, float* to) const;
    void sum(const float* from, float* to) const;
    void add_rows(int l, const float* from, float* to, bool& first) const;
    float sum_at(int l, const float* from) const;

    element_move m_;
    const float* from_;
    float* to_;
    int outer_ = 0;
    bool tiled_ = false;
    bool by_element_ = false;
};

} // namespace detail

/// Moves what the shard reads of each input into its output, or gradients back.
class move_job : public job {
public:
    explicit move_job(const bound_call& b);

    void run(const run_state&) override;

private:
    std::vector<detail::mover> moves_;
    float* zeros_ = nullptr;
    std::size_t zero_count_ = 0;
};

/// What a move's row is but for its operator.
inline constexpr auto move_row = [](auto of) {
    return operator_row{
        .of = of,
        .add_candidates = detail::add_in_plain,
        .make_job = detail::make<move_job>,
        .why = "a copy computes nothing; one set of loops with strides serves all moves, forward and backward",
    };
};

inline constexpr row_list move_rows{
    row<op::broadcast_to_record>(move_row),
    row<op::crop_record>(move_row),
    row<op::flip_record>(move_row),
    row<op::pad_record>(move_row),
    row<op::permute_record>(move_row),
    row<op::roll_record>(move_row),
    row<op::upsample_nearest_record>(move_row),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/move.inl"
#endif

#include "tessera/base/end_header.inl"
