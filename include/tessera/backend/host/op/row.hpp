// SPDX-License-Identifier: Apache-2.0
// What the host offers for an operator: a row of the table in table.hpp, beside its code.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/choose/problem.hpp"
#include "tessera/op/record.hpp"
#include "tessera/task/row_list.hpp"

#include <vector>

namespace tessera::host {

/// What a vendor's results are compared with when a shape is met for the first time.
enum class first_use : std::uint8_t {
    none,            ///< nothing: all ways are the library's own
    sum_of_products, ///< the sum of products that the description says, and a bias
    plain_loops,     ///< the operator's plain loops
};

/// A row is dispatch and documentation in one; a test holds its words against the jobs that it makes. Of calls that
/// none of its ways takes (a dilated window, say) the reference's plain loops are the way, as of operators without a
/// row.
struct operator_row {
    const op_record* of = nullptr;
    /// Appends the ways to compute a call; of equally good ones the first is taken.
    void (*add_candidates)(const compute_call&, format_table&, std::vector<candidate>&) = nullptr;
    /// Of any of these ways.
    owned<job> (*make_job)(const bound_call&, const format_table&, dnnl_stream_t) = nullptr;

    // What computes each pass in fp32: job::computed_by() of every way, with commas between them.
    const char* forward = "own kernel";
    const char* backward = "own kernel";
    const char* why = ""; ///< there is something else than oneDNN among them

    /// What tells local problems apart behind the extents of their operands; null: nothing does.
    std::string (*problem)(const compute_call&) = nullptr;
    /// What a way is worth by rules of thumb: floating-point operations of equal cost. Null: all ways are as good.
    double (*effort)(const compute_call&, const candidate&, double flops) = nullptr;
    /// Backward relies on the way that forward took: on what it leaves behind, or leaves out.
    bool backward_follows_forward = false;
    /// How what oneDNN makes of a shape is checked the first time (choose/sampled.hpp). Every row with a way of
    /// oneDNN's has one, which a test holds.
    first_use check = first_use::none;
};

namespace detail {

/// Made by Make{}(record), a generic lambda: what its body names is instantiated when it is called, and not before.
template <const op_record& Of, class Make>
struct lazy_row {
    static constexpr const op_record& of = Of;
    template <class Row>
    static constexpr Row value = Make{}(&Of);
};

} // namespace detail

/// A row of the library's: row<record>([](auto of) { return operator_row{.of = of, ...}; }).
template <const op_record& Of, class Make>
constexpr detail::lazy_row<Of, Make> row(Make) {
    return {};
}

namespace detail {

/// The ways of a row that takes plain tiles alone.
void add_in_plain(const compute_call& c, format_table&, std::vector<candidate>& out);

/// The job of a row that has one for all ways.
template <class Job>
owned<job> make(const bound_call& b, const format_table&, dnnl_stream_t) {
    return owned<job>(new Job(b));
}

} // namespace detail

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/row.inl"
#endif

#include "tessera/base/end_header.inl"
