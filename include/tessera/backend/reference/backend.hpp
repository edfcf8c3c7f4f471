// SPDX-License-Identifier: Apache-2.0
// The reference backend as an executor's backend: plans in plain loops and plain formats. It tests plans; it is not
// fast.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/kernels.hpp"
#include "tessera/backend/reference/rounded.hpp"
#include "tessera/backend/reference/update.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/execute/local/compressed_gradient.hpp"
#include "tessera/execute/local/copy_box.hpp"
#include "tessera/execute/local/jobs_by_plan.hpp"
#include "tessera/execute/local/run_report.hpp"
#include "tessera/execute/local/slice_join.hpp"
#include "tessera/execute/local/store.hpp"
#include "tessera/execute/local/tile_sum.hpp"
#include "tessera/net/parameter_groups.hpp"
#include "tessera/plan/call.hpp"
#include "tessera/plan/parts.hpp"

#include <deque>

namespace tessera::reference {

class backend {
public:
    /// With the rows of a set of operators alone.
    template <OperatorSet Set = all_operators>
    explicit backend(const optimizer& update_rule = {}, Set = {})
        : optimizer_(update_rule), rows_(rows_of<float, Set>()) {}

    static constexpr bool supports(const op_record& r, pass what, precision math) {
        return reference::supports(r, what, math);
    }

    void bind(plan&, const graph_view& g, const parameter_store*);
    void start(int) {}
    void to_plain(const tile& t, const std::byte* from, float* to) const { numbers_of(t.type, from, t.elements, to); }
    void from_plain(const tile& t, const float* from, std::byte* to) const;

    /// Lets go of what was prepared for a plan.
    void unload(const addresses& where) { prepared_.drop(where); }

    runnable prepare(const plan& p, int index, const graph_view& g, const addresses& where);

private:
    struct compute_job {
        description d;
        compute_call call;
        const operator_row<float>* row = nullptr;
        index_t per_channel = 1;
        rounded_operands rounded;
    };
    struct copy_job {
        std::vector<box_copy> boxes;
        std::vector<const std::byte*> from;
        std::vector<int> input; ///< tensor, where the source is handed in by the caller
        std::vector<char> overwrite;
        std::byte* to = nullptr;
        index_t bytes = 0;
        element type = element::f32;
        bool clear = false;
        reducer how = reducer::sum;
    };
    struct update_job {
        update_rule how;
        std::vector<const float*> gradients;
        std::vector<float*> weights;
        std::vector<double*> norms;
        std::vector<int> normed; ///< whose norms they are
        std::vector<double*> layer_norms;
        const float* measures = nullptr; ///< weights whose norm is taken
        int parameter = -1;
        float* state = nullptr;
        index_t first = 0; ///< of the slice's elements in the region
        std::vector<float> sum;
        bool reduce_only = false;
        double scale = 1;
        box region;
        std::vector<box> counted;
    };

    /// Of one plan.
    struct prepared {
        std::deque<compute_job> computes;
        std::deque<copy_job> copies;
        std::deque<std::deque<update_job>> updates; ///< by task: one for each of its parameters
        std::deque<tile_sum> sums;
        std::deque<slice_join> joins;
        std::deque<copy_average> averages;
        std::deque<gradient_compression> compressions;
        std::deque<gradient_decompression> decompressions;
    };

    template <class Job>
    Job& keep(std::deque<Job> prepared::*kind, const addresses& where) {
        return prepared_.with(where, [&](prepared& of) -> Job& { return (of.*kind).emplace_back(); });
    }

    runnable prepare_compute(const plan& p, const task& t, const graph_view& g, const addresses& where);

    static void add_rounded(compute_job& j, const plan& p, const task& t);

    runnable prepare_copy(const plan& p, const task& t, const addresses& where);

    runnable prepare_update(const plan& p, const task& t, const graph_view& g, const addresses& where);

    void fill(update_job& j, const plan& p, const task& t, const addresses& where) const;

    static bool is_counted(const update_job& u, index_t flat);

    static void step(update_job& u, const run_state& run);

    static void lose(const run_state& run, int parameter);

    optimizer optimizer_;
    row_table<float> rows_;
    jobs_by_plan<prepared> prepared_;
};

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/backend.inl"
#endif

#include "tessera/base/end_header.inl"
