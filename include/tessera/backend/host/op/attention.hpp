// SPDX-License-Identifier: Apache-2.0
// Attention on plain tiles, without the matrix of weights; see kernels/attention.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/kernels/attention.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/attention.hpp"

#include <vector>

namespace tessera::host {

namespace detail {

/// A shard for the kernels; without what the run decides.
kernels::attention_shape attention_shape_of(const compute_call& c);

} // namespace detail

/// Any nests of an attention forward, or all gradients that are asked for in one pass.
class attention_job : public job {
public:
    explicit attention_job(const bound_call& b);

    void run(const run_state& run) override;

private:
    int input(int slot) const { return b_.call.d->find_operand(operand_kind::input, slot); }
    int intermediate(int slot) const { return b_.call.d->find_operand(operand_kind::intermediate, slot); }

    template <class Float>
    kernels::attention_rows<Float> rows(const tile_view& v, bool of_queries, index_t width) const;
    template <class Float>
    kernels::attention_numbers<Float> numbers(const tile_view& v) const;
    kernels::attention_extras extras() const;

    void forward(const kernels::attention_shape& s) const;
    void backward(const kernels::attention_shape& s);

    /// By how far a query is behind a key there are so many numbers of bias, another 63 of which the kernels read with
    /// the last ones.
    index_t bias_each() const { return shape_.queries + shape_.keys - 1 + 63; }
    index_t bias_heads() const { return (shape_.groups - 1) * shape_.group_step + shape_.group_heads; }
    void take_table();
    void give_table_gradient() const;

    bound_call b_;
    kernels::attention_shape shape_;
    std::vector<float> bias_;           ///< for each head by how far the query is behind the key
    std::vector<float> alibi_;          ///< of ALiBi, where a table is added to it
    std::vector<float> bias_gradient_;  ///< likewise
    std::vector<std::int32_t> buckets_; ///< of a table, by how far the query is behind the key
};

namespace detail {

/// Of the two passes backward the first.
constexpr bool emits_means(const compute_call& c) {
    return has(c.emits, c.d->find_operand(operand_kind::intermediate, 1));
}

constexpr operator_row attention_row(const op_record* of) {
    return {
        .of = of,
        .add_candidates =
            [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                const kernels::attention_shape s = attention_shape_of(c);
                if (kernels::fits(s)) {
                    out.push_back(in_format(c, format::plain));
                    out.back().scratch =
                        static_cast<index_t>(is_forward(c.what) ? kernels::attention_forward_scratch(s)
                                             : emits_means(c)   ? kernels::attention_means_scratch(s)
                                                                : kernels::attention_backward_scratch(s));
                }
            },
        .make_job = make<attention_job>,
        .why = "oneDNN's keeps a matrix of weights for backward, and knows no parts of rows",
    };
}

} // namespace detail

inline constexpr row_list attention_rows{
    row<op::attention_record>([](auto of) { return detail::attention_row(of); }),
    row<op::padded_attention_record>([](auto of) { return detail::attention_row(of); }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/attention.inl"
#endif

#include "tessera/base/end_header.inl"
