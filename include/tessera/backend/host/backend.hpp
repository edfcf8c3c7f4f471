// SPDX-License-Identifier: Apache-2.0
// The host backend: oneDNN, kernels of our own, and shared memory between the devices of a process.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/bind.hpp"
#include "tessera/backend/host/update_jobs.hpp"
#include "tessera/execute/local/jobs_by_plan.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/net/own_names.hpp"

namespace tessera::host {

struct backend_options {
    tuning how = tuning::estimate;
    std::uint64_t seed = 0;   ///< of tuning::random
    std::string profile_path; ///< where measured times are kept; empty: for the life of the backend

    /// All fields by name; `permits`: it changes no number that is computed.
    template <class See>
    static constexpr void each_field(See&& see) {
        see("how", &backend_options::how, {});
        see("seed", &backend_options::seed, {});
        see("profile_path", &backend_options::profile_path, {.permits = true});
    }
};

/// Backend for executor<> and session<> on this machine's processors.
class backend {
public:
    using options = backend_options; ///< that a trainer and sharded hand on

    /// With the rows of a set of operators alone, as all of the following.
    template <OperatorSet Set = all_operators>
    explicit backend(const optimizer& update = {}, const backend_options& given = {}, Set = {})
        : optimizer_(update), options_(given), profile_(given.profile_path), rows_(rows_of<Set>()),
          catalog_(formats_, profile_, rows_) {}
    template <OperatorSet Set = all_operators>
    backend(const optimizer& update, const session_options& from, Set operators = {})
        : backend(update, together(from, {}), operators) {}
    /// The same with options of its own besides: it measures where either says so. Throws tessera::error for two
    /// profiles.
    template <OperatorSet Set = all_operators>
    backend(const optimizer& update, const session_options& from, const backend_options& own, Set operators = {})
        : backend(update, together(from, own), operators) {}

    static constexpr bool supports(const op_record& r, pass what, precision math) {
        return host::supports(r, what, math);
    }

    /// What it was made with, for those who compare (execute/ranks/training_identity.hpp).
    const backend_options& made_with() const { return options_; }

    /// Chooses implementations and formats; see bind.hpp. A store fixes the formats of parameters.
    void bind(plan& p, const graph_view& g, const parameter_store* store);

    /// What it measures from now on is what all processes of a group have agreed on; null: what it measures itself.
    void agree_over(process_group* group) { profile_.agree_over(group); }

    void start(int) {}

    runnable prepare(const plan& p, int index, const graph_view& g, const addresses& where);

    /// Lets go of what was prepared for a plan.
    void unload(const addresses& where) { prepared_.drop(where); }

    /// Copies a tile out of its format.
    void to_plain(const tile& t, const std::byte* from, float* to) const { convert(t, from, to, true); }
    /// Copies plain elements into a tile's format.
    void from_plain(const tile& t, const float* from, std::byte* to) const { convert(t, from, to, false); }

    /// The rows that it works with. More may be added while no plan is bound or prepared.
    operator_rows& rows() { return rows_; }
    const format_table& formats() const { return formats_; }
    const optimizer& update() const { return optimizer_; }
    /// What has been measured so far.
    profile& measured() { return profile_; }
    /// Plans whose jobs are kept.
    std::size_t plans() const { return prepared_.size(); }

private:
    /// Of one plan. Jobs point to the others, so that they end first.
    struct prepared {
        std::vector<unique_stream> streams;
        std::vector<owned<description>> descriptions;
        std::vector<owned<job>> jobs;
    };

    static backend_options together(const session_options& from, backend_options own);

    owned<job> make_compute(const plan& p, const task& t, const graph_view& g, const addresses& where);

    owned<job> make_reorder(const plan& p, const task& t, const addresses& where);

    void convert(const tile& t, const void* from, void* to, bool out) const;

    const description& describe(const graph_view& g, int op, const addresses& where);

    dnnl_stream_t stream(const addresses& where);

    optimizer optimizer_;
    backend_options options_;
    format_table formats_;
    profile profile_;
    operator_rows rows_;
    catalog catalog_;
    jobs_by_plan<prepared> prepared_;
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/backend.inl"
#else
extern template class tessera::session<tessera::host::backend>;
// the parts of a session
extern template class tessera::executor<tessera::host::backend>;
extern template class tessera::detail::parameter_state<tessera::host::backend>;
extern template class tessera::detail::run_results<tessera::host::backend>;
extern template class tessera::detail::plan_cache<tessera::host::backend>;
extern template class tessera::detail::plan_runs<tessera::host::backend>;
extern template class tessera::detail::session_answers<tessera::host::backend>;
#endif

#include "tessera/base/end_header.inl"
