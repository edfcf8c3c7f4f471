// SPDX-License-Identifier: Apache-2.0
// Whether a vendor's way is right for a shape: it runs once on known numbers, between guards, and some of its results
// are computed again: of sums of products (convolutions, linear layers) from the operator's description, of others by
// plain loops. Vendors' primitives are wrong for a few shapes, and say nothing.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/row.hpp"
#include "tessera/backend/host/reorder.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/base/number_text.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace tessera::host {

/// What a check costs at most, beside one run of the way.
struct sample_limits {
    index_t elements = 256; ///< of each result that are computed again
    index_t products =
        1 << 18; ///< multiply-adds for each result; but `fewest` elements are looked at whatever they take
    index_t fewest = 3;
};

namespace detail {

/// The numbers that operands are filled with: multiples of 1/16 between -1 and 1, none of them 0, of a period that is
/// prime.
class sample_numbers {
public:
    static constexpr index_t period = 8191;
    sample_numbers();
    /// Of the element at place `i`; operands begin at different ones.
    float at(index_t i) const { return of_[i % period]; }
    void fill(float* to, index_t count, index_t first) const;
    static const sample_numbers& get();

private:
    float of_[period];
};

/// Computes elements of one operand of a sum of products, or of its gradient, from the description alone.
class sampled_sum {
public:
    /// `factors`: the operands whose values, or (the output's) gradient, are multiplied; region and loops are those
    /// of the call.
    sampled_sum(const compute_call& c, int target, std::uint32_t factors);

    /// What an element costs at most.
    double products() const;

    struct result {
        double sum = 0;
        double squares = 0; ///< of the products: what rounding is measured by
    };
    result at(const index_t* element);

private:
    struct factor {
        int operand = -1;
        box region;
    };
    struct step {
        int loop = -1;
        int equation =
            -1; ///< dimension of the target that the loop follows from once the steps before are known; -1: it runs
                ///< over its range
    };

    std::uint32_t loops_of(int o) const;

    /// Loops that the target's index says first, the longest of the others last.
    void order_loops(std::uint32_t all);

    void visit(int k);

    void add();

public:
    /// Where in the numbers an operand begins.
    static index_t first_of(int o) { return 1237 * (o + 1); }

private:
    const description& d_;
    const interval* ranges_;
    int target_;
    factor factors_[2];
    int factor_count_ = 0;
    step steps_[max_loops];
    int step_count_ = 0;
    index_t at_[max_loops]{};
    const index_t* element_ = nullptr;
    result sum_;
};

/// Memory between guards, full of NaNs.
class guarded_memory {
public:
    explicit guarded_memory(index_t bytes);
    std::byte* data() const { return all_.data() + guard; }
    bool is_intact() const;

private:
    static constexpr index_t guard = 4096;
    std::size_t bytes_;
    buffer all_;
};

using job_maker = function_ref<owned<job>(const bound_call&)>;

/// One run of a way on known numbers, between guards.
class sampled_run {
public:
    struct result {
        int operand;
        bool gradient;
        int format;
        std::byte* data;
        shape extents;
    };

    sampled_run(const compute_call& given, const candidate& k, const format_table& table, dnnl_stream_t stream)
        : table_(table), stream_(stream), b_{given, k, nullptr, nullptr} {}

    /// Runs the job that `make(bound_call)` makes. Empty, or what is wrong at once: "it writes past its memory".
    std::string run(const job_maker& make);

    const std::vector<result>& results() const { return results_; }

    /// A result's elements, plain: in its own memory or in `copy`.
    const float* elements(const result& r, buffer& copy) const;

    static std::string is_wrong(const result& r, index_t element, double found, double expected);

private:
    void reorder(int from, int to, const shape& s, std::byte* source, std::byte* target) const;

    const format_table& table_;
    dnnl_stream_t stream_;
    bound_call b_;
    std::vector<guarded_memory> memory_;
    std::vector<result> results_;
};

/// Runs a way of a sum of products once, and looks at some elements of each result, corners among them. Empty where
/// they are right, else what is wrong: "element 3 of operand 2 is 0 instead of 1.25", "it writes past its memory".
/// `make(bound_call)` makes the way's job.
std::string wrong_sample(const compute_call& given, const candidate& k, const format_table& table, dnnl_stream_t stream,
                         const sample_limits& most, const job_maker& make);

/// As wrong_sample(), of operators that are no sum of products alone: parts of each result are computed again by the
/// operator's plain loops, `loops(compute_call)`, corners among them.
std::string wrong_part(const compute_call& given, const candidate& k, const format_table& table, dnnl_stream_t stream,
                       const sample_limits& most, const job_maker& make,
                       const function_ref<void(const compute_call&)>& loops);

/// Whether a reorder of known numbers out of plain memory, from one format to another, and back loses none.
bool keeps_elements(const format_table& table, const reorder_call& r, dnnl_stream_t stream);

} // namespace detail

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/sampled.inl"
#endif

#include "tessera/base/end_header.inl"
