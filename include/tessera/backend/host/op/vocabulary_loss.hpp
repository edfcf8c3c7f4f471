// SPDX-License-Identifier: Apache-2.0
// The last product and its cross-entropy, in blocks of logits.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/matrices.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/vocabulary_loss.hpp"

namespace tessera::host {

namespace detail {

/// A shard's sizes, and the block of logits that is in memory at once.
struct vocabulary_sizes {
    index_t rows = 0;
    index_t words = 0;
    index_t features = 0;
    index_t block_rows = 0;
    index_t block_words = 0;

    explicit vocabulary_sizes(const compute_call& c);
    index_t block() const { return block_rows * block_words; }
    /// Of logits, and two numbers for each row of a block.
    index_t scratch() const { return 4 * block() + 16 * block_rows; }
};

} // namespace detail

/// Any nests forward, or the gradients of x and the weights together.
class vocabulary_loss_job : public job {
public:
    explicit vocabulary_loss_job(const bound_call& b);

    const char* computed_by() const override { return "oneDNN sgemm"; }
    void run(const run_state&) override;

private:
    /// Rows one after the other in every tile, by the place of the first one in each.
    struct some_rows {
        index_t sample = 0;
        index_t first = 0; ///< position in the sample
        index_t count = 0;
    };
    bool does(int nest) const { return b_.call.first_nest <= nest && nest <= b_.call.last_nest; }
    int nests() const { return b_.call.d->nests.size(); }
    /// Where a row's first number is in an operand's tile, of `each` in a row.
    index_t place_of(const box& region, const some_rows& r, index_t each) const;
    float* numbers(int o, const some_rows& r) const;
    const std::int32_t* labels(const some_rows& r) const;
    detail::matrix_view rows_of(int o, bool gradient, const some_rows& r) const;
    detail::matrix_view words_of(bool gradient, index_t first, index_t count) const;
    /// Of logits, from the scratch.
    detail::matrix_view block(index_t rows, index_t words) const;
    std::vector<some_rows> blocks() const;
    double weight_of(index_t label) const;

    void count() const;
    void forward(const some_rows& r) const;
    void take_logits(const some_rows& r, const detail::matrix_view& logits) const;
    void lose(const some_rows& r) const;
    void backward() const;
    void make_slopes(const some_rows& r, const detail::matrix_view& logits, index_t first_word) const;

    bound_call b_;
    detail::vocabulary_sizes sizes_;
    op::masked_vocabulary_loss_attributes a_;
    bool masked_;
    interval samples_, positions_, words_;
    int input_, labels_, weights_, largest_, total_, counted_;
};

namespace detail {

constexpr operator_row vocabulary_loss_row(const op_record* of) {
    return {
        .of = of,
        .add_candidates =
            [](const compute_call& c, format_table& table, std::vector<candidate>& out) {
                add_matrices(c, table, out);
                out.back().scratch = vocabulary_sizes(c).scratch();
                if (!is_forward(c.what) || c.first_nest > 0) { // of maxima and sums, which no sample stands for
                    out.back().engine = engine_kind::vectors;
                }
            },
        .make_job = make<vocabulary_loss_job>,
        .forward = "oneDNN sgemm",
        .backward = "oneDNN sgemm",
        .why = "oneDNN has no cross-entropy",
        .check = first_use::plain_loops,
    };
}

} // namespace detail

inline constexpr row_list vocabulary_loss_rows{
    row<op::vocabulary_loss_record>([](auto of) { return detail::vocabulary_loss_row(of); }),
    row<op::masked_vocabulary_loss_record>([](auto of) { return detail::vocabulary_loss_row(of); }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/vocabulary_loss.inl"
#endif

#include "tessera/base/end_header.inl"
