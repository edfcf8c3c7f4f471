// SPDX-License-Identifier: Apache-2.0
// Tokens sent to experts and back on plain tiles, and the experts' products of the rows that have arrived.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/matrices.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/backend/reference/walk.hpp"
#include "tessera/op/routing.hpp"

namespace tessera::host {

namespace detail {

/// The table of slots as a shard reads it, [samples, experts, slots].
struct slot_table {
    const std::int32_t* data = nullptr;
    box region;

    explicit slot_table(const tile_view& t);

    const std::int32_t* of(index_t n, index_t e) const;
    index_t slots() const { return region.dim[2].size(); }

    /// Calls body(e, row, t) for the slots of `experts` that `tokens` of sample n have, `row` being a slot's place among
    /// those of all experts.
    template <class Body>
    void for_each(index_t n, const interval& experts, const interval& tokens, const Body& body) const {
        for (index_t e = experts.begin; e < experts.end; ++e) {
            for (index_t s = 0; s < slots(); ++s) {
                const index_t t = index_t{of(n, e)[s]} - 1;
                if (t >= tokens.begin && t < tokens.end) {
                    body(e, e * slots() + s, t);
                }
            }
        }
    }
};

/// A tile [samples, rows, columns]: the columns of a row by global numbers, from `column` on.
struct row_tile {
    float* data = nullptr;
    box region;

    explicit row_tile(const tile_view& t);

    float* at(index_t n, index_t row, index_t column) const;
};

} // namespace detail

class dispatch_job : public job {
public:
    explicit dispatch_job(const bound_call& b) : c_(b.call) {}
    void run(const run_state&) override;

private:
    // Loops besides samples and experts, and operands (op/routing.hpp).
    static constexpr int channels = 3, tokens = 4;
    static constexpr int input = 0, table = 1, output = 2;

    void forward(index_t n, index_t e) const;
    void backward(index_t n) const;

    compute_call c_;
};

class combine_job : public job {
public:
    explicit combine_job(const bound_call& b) : c_(b.call) {}
    void run(const run_state&) override;

private:
    static constexpr int tokens = 1, channels = 2, experts = 3;
    static constexpr int gates = 0, table = 1, made = 2, output = 3;

    void forward(index_t n) const;
    void gradient_of_gates(index_t n) const;
    void gradient_of_rows(index_t n) const;

    compute_call c_;
};

class routed_linear_job : public job {
public:
    explicit routed_linear_job(const bound_call& b) : c_(b.call) {}
    const char* computed_by() const override { return "oneDNN sgemm"; }
    void run(const run_state&) override;

private:
    static constexpr int outputs = 3, inputs = 4;
    static constexpr int input = 0, table = 1, weight = 2, output = 3;

    /// The product of filled rows of an expert; the first one of its weights' gradient is not added to what was there.
    void multiply(index_t n, index_t e, const interval& filled, bool first) const;
    static void clear(const detail::matrix_view& to);
    /// Rows of an operand's value or gradient.
    detail::matrix_view rows(int o, bool gradient, index_t n, const interval& which) const;
    detail::matrix_view weights(bool gradient, index_t e) const;

    compute_call c_;
};

inline constexpr row_list routing_rows{
    row<op::dispatch_tokens_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<dispatch_job>,
            .why = "copies of rows by index, which no primitive of oneDNN makes",
        };
    }),
    row<op::combine_tokens_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<combine_job>,
            .why = "sums of rows by index, which no primitive of oneDNN makes",
        };
    }),
    row<op::routed_linear_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_matrices,
            .make_job = detail::make<routed_linear_job>,
            .forward = "oneDNN sgemm",
            .backward = "oneDNN sgemm",
            .check = first_use::plain_loops,
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/routing.inl"
#endif

#include "tessera/base/end_header.inl"
