// SPDX-License-Identifier: Apache-2.0
// The host backend: oneDNN, kernels of our own, and shared memory between the devices of a process.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/bind.hpp"
#include "tessera/backend/host/update_jobs.hpp"
#include "tessera/execute/jobs_by_plan.hpp"
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

    /// What it was made with, for those who compare (execute/training_identity.hpp).
    const backend_options& made_with() const { return options_; }

    /// Chooses implementations and formats; see bind.hpp. A store fixes the formats of parameters.
    void bind(plan& p, const graph_view& g, const parameter_store* store) {
        require_own_names(g);
        std::vector<description> descriptions;
        for (int op = 0; op < g.op_count; ++op) {
            const op_attributes& a = g.ops[op].attributes;
            if (!supports(record_of(a), pass::forward, a.math) || !rows_.has(record_of(a))) {
                throw error(refusal_of(record_of(a), a.math, path_of(g, op)));
            }
            descriptions.push_back(g.describe(op));
        }
        detail::chooser choice(p, g, descriptions, store, catalog_, options_.how, options_.seed,
                               optimizer_.is_layerwise());
        detail::binder(p, formats_, optimizer_.state_count()).run(choice.run());
        profile_.save();
    }

    /// What it measures from now on is what all processes of a group have agreed on; null: what it measures itself.
    void agree_over(process_group* group) { profile_.agree_over(group); }

    void start(int) {}

    runnable prepare(const plan& p, int index, const graph_view& g, const addresses& where) {
        const task& t = p.tasks[static_cast<std::size_t>(index)];
        owned<job> made;
        switch (t.kind) {
        case task_kind::compute:
            made = make_compute(p, t, g, where);
            break;
        case task_kind::copy:
            made = owned<job>(new detail::copy_job(p, t, where));
            break;
        case task_kind::sum:
            made = owned<job>(new detail::shared_job<tile_sum>(p, t, where));
            break;
        case task_kind::average:
            made = owned<job>(new detail::shared_job<copy_average>(p, t, where));
            break;
        case task_kind::gather:
            made = owned<job>(new detail::shared_job<slice_join>(p, t, where));
            break;
        case task_kind::compress:
            made = owned<job>(new detail::shared_job<gradient_compression>(p, t, where));
            break;
        case task_kind::decompress:
            made = owned<job>(new detail::shared_job<gradient_decompression>(p, t, where));
            break;
        case task_kind::reorder:
            made = make_reorder(p, t, where);
            break;
        case task_kind::reduce:
        case task_kind::update:
        case task_kind::norm:
            made = t.parts.empty()
                       ? owned<job>(new detail::update_job(p, t, where, rule_for(optimizer_, g, t.parameter)))
                       : owned<job>(new detail::message_job(p, t, g, where, optimizer_));
            break;
        }
        job* const raw = made.get();
        prepared_.with(where, [&](prepared& of) { of.jobs.push_back(static_cast<owned<job>&&>(made)); });
        return {[](void* context, const run_state& run) { static_cast<job*>(context)->run(run); }, raw};
    }

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

    static backend_options together(const session_options& from, backend_options own) {
        if (!from.profile.empty() && !own.profile_path.empty() && from.profile != own.profile_path) {
            throw error("tessera: what is measured is to be kept in " + from.profile + " and in " + own.profile_path +
                        "; name the file in the trainer's options or in the backend's");
        }
        own.how = from.measure ? tuning::measure : own.how;
        own.profile_path = own.profile_path.empty() ? from.profile : own.profile_path;
        return own;
    }

    owned<job> make_compute(const plan& p, const task& t, const graph_view& g, const addresses& where) {
        const description& d = describe(g, t.op, where);
        bound_call b;
        b.call = call_of(p, t, g, d);
        b.how.engine = static_cast<engine_kind>(t.implementation);
        for (int o = 0; o < max_operands; ++o) {
            if (t.value[o] >= 0) {
                b.call.value[o].data = where[t.value[o]];
                b.how.value[o] = p.tiles[static_cast<std::size_t>(t.value[o])].format;
            }
            if (t.gradient[o] >= 0) {
                b.call.gradient[o].data = where[t.gradient[o]];
                b.how.gradient[o] = p.tiles[static_cast<std::size_t>(t.gradient[o])].format;
            }
        }
        if (t.scratch >= 0) {
            b.scratch = where[t.scratch];
            b.how.scratch = p.tiles[static_cast<std::size_t>(t.scratch)].bytes;
        }
        b.workspace = t.workspace >= 0 ? where[t.workspace] : nullptr;
        if (t.what == pass::update) {
            return owned<job>(new detail::running_job(b));
        }
        return detail::make_job(b, formats_, stream(where), rows_);
    }

    owned<job> make_reorder(const plan& p, const task& t, const addresses& where) {
        const tile& a = p.tiles[static_cast<std::size_t>(t.reads[0])];
        const tile& b = p.tiles[static_cast<std::size_t>(t.writes[0])];
        return detail::make_reorder(formats_, {a.format, b.format, a.region.extents()}, where[t.reads[0]],
                                    where[t.writes[0]], t.scratch >= 0 ? where[t.scratch] : nullptr, stream(where));
    }

    void convert(const tile& t, const void* from, void* to, bool out) const {
        const shape s = t.region.extents();
        const std::ptrdiff_t length = t.region.rank > 0 ? static_cast<std::ptrdiff_t>(s.volume() / s[0]) : 1;
        if (t.format == format::plain) {
            std::memcpy(to, from, static_cast<std::size_t>(t.slices > 1 ? t.elements : s.volume()) * sizeof(float));
        } else if (t.format == format::samples16) {
            const auto* x = static_cast<const float*>(from);
            auto* y = static_cast<float*>(to);
            out ? kernels::to_plain(x, y, s[0], length, length) : kernels::to_blocked(x, y, s[0], length, length);
        } else {
            const tensor_desc special = formats_.desc(t.format, s);
            const tensor_desc plain = detail::desc_as(formats_, format::plain, t.format, s);
            const buffer scratch(out ? reorder_job::scratch_bytes(special, plain)
                                     : reorder_job::scratch_bytes(plain, special));
            const unique_stream own = make_stream();
            reorder_job(out ? special : plain, out ? plain : special, const_cast<void*>(from), to, scratch.data(),
                        own.get())
                .run({});
        }
    }

    const description& describe(const graph_view& g, int op, const addresses& where) {
        owned<description> d(new description(g.describe(op)));
        const description& made = *d;
        prepared_.with(where, [&](prepared& of) { of.descriptions.push_back(static_cast<owned<description>&&>(d)); });
        return made;
    }

    dnnl_stream_t stream(const addresses& where) {
        unique_stream s = make_stream();
        const dnnl_stream_t made = s.get();
        prepared_.with(where, [&](prepared& of) { of.streams.push_back(static_cast<unique_stream&&>(s)); });
        return made;
    }

    optimizer optimizer_;
    backend_options options_;
    format_table formats_;
    profile profile_;
    operator_rows rows_;
    catalog catalog_;
    jobs_by_plan<prepared> prepared_;
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
