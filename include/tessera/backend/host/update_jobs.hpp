// SPDX-License-Identifier: Apache-2.0
// Jobs that are no operator's: copies between tiles, sums of gradients with the optimizer's update, running statistics.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/backend/host/kernels/optimizer.hpp"
#include "tessera/backend/host/kernels/reduce.hpp"
#include "tessera/backend/reference/kernels.hpp"
#include "tessera/backend/reference/update.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/execute/local/compressed_gradient.hpp"
#include "tessera/execute/local/copy_box.hpp"
#include "tessera/execute/local/run_report.hpp"
#include "tessera/execute/local/slice_join.hpp"
#include "tessera/execute/local/tile_sum.hpp"
#include "tessera/net/parameter_groups.hpp"
#include "tessera/plan/parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

namespace tessera::host::detail {

/// Fills a tile from regions of others (plain), or from whole tiles in any one format.
class copy_job : public job {
public:
    copy_job(const plan& p, const task& t, const addresses& where);
    void run(const run_state& run) override;

private:
    struct part {
        box_copy what;
        const std::byte* from;
        int input;
        bool overwrite;
    };

    /// Whole contiguous tiles of floats are summed in one pass.
    bool sums_rows();

    reducer how_;
    bool clear_;
    std::byte* to_ = nullptr;
    element type_ = element::f32;
    std::size_t bytes_ = 0;
    std::vector<part> parts_;
};

kernels::update_formula formula_of(const update_rule& update);

/// The numbers that a rule's formula works with in a step, which a ratio of norms may scale.
kernels::formulas::update_numbers<float> numbers_of_step(const update_rule& update, const run_state& run,
                                                         double trust = 1);

/// Sums gradient contributions over a slice, and updates the slice in all copies of the parameter (or, to clip, only
/// sums it; or takes the squares that scale the parameter's steps).
class update_job : public job {
public:
    update_job(const plan& p, const task& t, const addresses& where, const update_rule& update);

    /// True where all of another job lies right behind this one's, which then does both in one pass.
    bool join(const update_job& next);
    const float* target() const { return measures_ != nullptr ? measures_ : targets_[0]; }

    void run(const run_state& run) override;

private:
    struct norm {
        double* squares;
        int parameter;
    };
    struct span {
        int parameter;
        index_t elements;
    };

    static void lose(const run_state& run, int parameter);

    kernels::update_arrays arrays() const;

    /// Says whose elements would not have been finite. Those are what they were, so that the same step on a copy finds
    /// them again.
    void lose_spans(const run_state& run, const kernels::update_step_numbers& step) const;

    /// Whether another task counts an element of the slice.
    bool is_counted(index_t i) const;
    double squares_not_counted() const;
    kernels::update_squares squares_not_counted(const run_state& run, float factor) const;

    update_rule how_;
    bool reduces_;
    double scale_;
    interval slice_; ///< of the region's elements
    index_t elements_ = 0;
    box region_;
    std::vector<box> counted_;
    std::vector<const float*> gradients_;
    std::vector<float*> targets_;
    std::vector<norm> norms_;
    const float* measures_ = nullptr;  ///< weights whose squares are taken
    std::vector<double*> layer_norms_; ///< written by who takes them, else read
    float* state_ = nullptr;
    std::vector<span> spans_; ///< the parameters, one after the other
};

/// The same for several parameters: one pass over those that lie side by side, in gradients, copies and state alike.
class message_job : public job {
public:
    message_job(const plan& p, const task& t, const graph_view& g, const addresses& where, const optimizer& update);
    std::size_t passes() const { return passes_.size(); }
    void run(const run_state& run) override;

private:
    std::vector<owned<update_job>> passes_;
};

/// What backends have in common: the sum over micro-batches, a parameter's slices joined, the average of its copies,
/// gradients compressed and their sum.
template <class Work>
class shared_job : public job {
public:
    shared_job(const plan& p, const task& t, const addresses& where) : work_(p, t, where) {}
    void run(const run_state&) override { work_.run(); }

private:
    Work work_;
};

class running_job : public job {
public:
    explicit running_job(const bound_call& b);
    void run(const run_state&) override;

private:
    bound_call b_;
    index_t per_channel_ = 1;
    int statistics_ = -1, running_ = -1;
};

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/update_jobs.inl"
#endif

#include "tessera/base/end_header.inl"
