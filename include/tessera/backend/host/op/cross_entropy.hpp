// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of whole rows, of rows that are divided between shards, and of images.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/kernels/loss.hpp"
#include "tessera/backend/host/kernels/row_loss.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/op/cross_entropy.hpp"

#include <cmath>
#include <limits>

namespace tessera::host {

namespace detail {

/// True where a call of a cross-entropy has all classes and all nests: it then needs no intermediates.
bool is_whole_loss(const compute_call& c);

} // namespace detail

/// One nest of a cross-entropy of images, or its gradient from the intermediates, on plain tiles
/// [samples][classes][plane].
class loss_nest_job : public job {
public:
    explicit loss_nest_job(const bound_call& b);

    void run(const run_state&) override;

private:
    float* rows_of(int o, index_t n) const { return detail::floats(b_.call.value[o].data) + n * rows_.length; }
    const std::int32_t* labels_of(index_t n) const;
    const float* logits(index_t n, index_t k) const { return detail::floats(b_.call.value[0].data) + rows_.at(n, k); }

    void maximum(index_t n) const;
    void sum(index_t n) const;
    void pick(index_t n) const;
    void gradient(index_t n) const;

    bound_call b_;
    detail::channel_rows rows_;
    interval classes_;
    int labels_ = -1, largest_ = -1, total_ = -1;
};

/// The same of rows, [rows][classes], of whose classes a shard may have a part: those of a vocabulary, say. The
/// gradient is computed in its own place, from each row's maximum and sum; nobody keeps probabilities.
class row_loss_nest_job : public job {
public:
    explicit row_loss_nest_job(const bound_call& b);

    void run(const run_state&) override;

private:
    void forward(index_t r) const;
    void backward(index_t r) const;

    compute_call c_;
    index_t rows_ = 0;
    interval classes_;
    int labels_ = -1, largest_ = -1, total_ = -1;
};

/// Softmax cross-entropy of the pixels of images: rows of classes, which plain tiles are transposed into sample by
/// sample.
class pixel_loss_job : public job {
public:
    explicit pixel_loss_job(const bound_call& b) : b_(b), s_(region(*b.call.d, 0, b.call.ranges).extents()) {}

    static index_t scratch(const compute_call& c, int f);

    void run(const run_state&) override;

private:
    bound_call b_;
    shape s_;
};

/// Softmax cross-entropy of whole rows, forward and backward recomputing the little that they share.
class loss_job : public job {
public:
    explicit loss_job(const bound_call& b);
    static index_t scratch(const compute_call& c);
    void run(const run_state&) override;

private:
    bound_call b_;
    int logits_ = -1, labels_ = -1, out_ = -1;
    std::ptrdiff_t rows_ = 0, classes_ = 0;
};

namespace detail {

/// The way does without the maxima and sums of rows after all.
void leave_out_intermediates(const compute_call& c, candidate& k);

void add_loss_candidates(const compute_call& c, format_table&, std::vector<candidate>& out);

} // namespace detail

inline constexpr row_list cross_entropy_rows{
    row<op::cross_entropy_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_loss_candidates,
            .make_job = [](const bound_call& b, const format_table&, dnnl_stream_t) -> owned<job> {
                if (!detail::is_whole_loss(b.call)) {
                    return b.call.d->operands[0].extents.rank > 3 ? owned<job>(new loss_nest_job(b))
                                                                  : owned<job>(new row_loss_nest_job(b));
                }
                if (b.call.d->operands[0].extents.rank > 3) {
                    return owned<job>(new pixel_loss_job(b));
                }
                return owned<job>(new loss_job(b));
            },
            .why = "oneDNN has no cross-entropy",
            .problem =
                [](const compute_call& c) {
                    return (detail::is_whole_loss(c) ? " whole" : " part") + detail::window_numbers();
                },
            .backward_follows_forward = true,
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/cross_entropy.inl"
#endif

#include "tessera/base/end_header.inl"
