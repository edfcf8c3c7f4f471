// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests, on plain tiles: the loops around are walked, and along the innermost one
// kernels made of their expressions run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/nest.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/backend/reference/op/nest.hpp"
#include "tessera/op/library.hpp"

#include <algorithm>
#include <limits>

namespace tessera::host {

using nest_kernel = double (*)(const float* const* from, float* to, std::ptrdiff_t count) noexcept;

/// The kernels of a program, by the numbers of its passes.
struct nest_kernels {
    nest_kernel forward[max_nests] = {};
    nest_kernel backward[nests::max_backward] = {};
};

namespace detail {

/// The program of the lowest rank whose pass number K has the same kernel.
template <const op_record& Of, int Rank, bool Backward, int K, int From = 0>
constexpr int rank_with_kernel() {
    constexpr const nests::program* other = Of.generated->of_rank[From];
    constexpr const nests::program& own = *Of.generated->of_rank[Rank];
    if constexpr (From == Rank) {
        return Rank;
    } else if constexpr (!Of.generated->takes[From]) {
        return rank_with_kernel<Of, Rank, Backward, K, From + 1>();
    } else {
        constexpr const auto& all = Backward ? other->backward.count : other->forward.count;
        if constexpr (K < all) {
            constexpr const nests::nest_pass& a = kernels::pass_at<own, Backward, K>();
            constexpr const nests::nest_pass& b = kernels::pass_at<*other, Backward, K>();
            if constexpr (kernels::same_kernel(own, a, *other, b)) {
                return From;
            } else {
                return rank_with_kernel<Of, Rank, Backward, K, From + 1>();
            }
        } else {
            return rank_with_kernel<Of, Rank, Backward, K, From + 1>();
        }
    }
}

template <const op_record& Of, int Rank>
constexpr nest_kernels kernels_of_rank() {
    nest_kernels all;
    if constexpr (Of.generated->takes[Rank]) {
        constexpr const nests::program& p = *Of.generated->of_rank[Rank];
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((all.forward[I] =
                  kernels::run_nest<*Of.generated->of_rank[rank_with_kernel<Of, Rank, false, static_cast<int>(I)>()],
                                    false, static_cast<int>(I)>),
             ...);
        }
        (std::make_index_sequence<std::size_t{p.forward.count}>{});
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((all.backward[I] =
                  kernels::run_nest<*Of.generated->of_rank[rank_with_kernel<Of, Rank, true, static_cast<int>(I)>()],
                                    true, static_cast<int>(I)>),
             ...);
        }
        (std::make_index_sequence<std::size_t{p.backward.count}>{});
    }
    return all;
}

template <const op_record& Of>
inline constexpr nest_kernels nest_kernels_of[] = {kernels_of_rank<Of, 0>(), kernels_of_rank<Of, 1>(),
                                                   kernels_of_rank<Of, 2>(), kernels_of_rank<Of, 3>(),
                                                   kernels_of_rank<Of, 4>(), kernels_of_rank<Of, 5>()};

} // namespace detail

/// The nests that a call asks for, or the passes of the gradients that it does.
class nest_job : public job {
public:
    nest_job(const bound_call& b, const nest_kernels& how);
    nest_job(const nest_job&) = delete;
    nest_job& operator=(const nest_job&) = delete;

    void run(const run_state&) override;

private:
    static constexpr index_t most =
        512; ///< points that one call of a kernel takes: floats are summed in double after so many
    static constexpr int max_leaves = max_operands + nests::max_scalars + 4;
    static constexpr int places = 16; ///< what is written, then what is read

    /// A leaf of a pass: where its numbers are.
    struct leaf {
        const float* single = nullptr;
        const double* twice = nullptr;
        const std::int32_t* integers = nullptr;
        int place = 0;   ///< in a run
        int index = -1;  ///< the loop whose index it is
        float fixed = 0; ///< its number, where it is one for all points
    };

    void backward(int o);
    /// What a pass adds to begins with nothing.
    void clear(const nests::nest_pass& pass) const;

    void run(const nests::nest_pass& pass, nest_kernel kernel);
    /// Loops around the innermost one that go on where it ends, for every operand, become part of it.
    static void merge(const description& d, const leaf* leaves, int leaf_count, int inner,
                      reference::detail::cursor (&where)[places], int used, interval* ranges, std::uint32_t& loops);
    template <class Run>
    static const float* numbers_of(const leaf& x, const Run& r, index_t begin, index_t count, int inner, float* own) {
        if (x.single == nullptr && x.twice == nullptr && x.integers == nullptr) {
            if (x.index < 0) {
                return &x.fixed;
            }
            const index_t first = r.point[x.index] + (x.index == inner ? begin : 0);
            for (index_t i = 0; i < (x.index == inner ? count : 1); ++i) {
                own[i] = static_cast<float>(first + i);
            }
            return own;
        }
        const index_t step = r.step[x.place];
        const index_t at = r.at[x.place] + begin * step;
        if (x.single != nullptr && step >= 0 && step <= 1) {
            return x.single + at;
        }
        for (index_t i = 0; i < (step == 0 ? 1 : count); ++i) {
            own[i] = x.single != nullptr  ? x.single[at + i * step]
                     : x.twice != nullptr ? static_cast<float>(x.twice[at + i * step])
                                          : static_cast<float>(x.integers[at + i * step]);
        }
        return own;
    }
    static void finish(kernels::row_use use, bool twice, void* to, index_t at, index_t step, index_t count,
                       const float* const* from, nest_kernel kernel, float* own);

    compute_call c_;
    reference::detail::shard<float> s_;
    const nests::program& p_;
    const nest_kernels& how_;
    double scalars_[nests::max_scalars] = {};
};

namespace detail {

template <const op_record& Of>
owned<job> make_nest_job(const bound_call& b, const format_table&, dnnl_stream_t) {
    const int rank = b.call.d->operands[b.call.d->find_operand(operand_kind::input, 0)].extents.rank;
    return owned<job>(new nest_job(b, nest_kernels_of<Of>[rank]));
}

} // namespace detail

/// The row of an operator that is written as loop nests.
template <const op_record& Of>
struct nest_row {
    static constexpr const op_record& of = Of;
    template <class Row>
    static constexpr Row value = {.of = &Of,
                                  .add_candidates = detail::add_in_plain,
                                  .make_job = detail::make_nest_job<Of>,
                                  .why = "kernels follow from its loop nests"};
};

inline constexpr row_list nest_rows{
    nest_row<op::instance_norm_record>{}, nest_row<op::image_layer_norm_record>{}, nest_row<op::pixel_norm_record>{},
    nest_row<op::bilinear_record>{},      nest_row<op::fixed_batch_norm_record>{},
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/nest.inl"
#endif

#include "tessera/base/end_header.inl"
