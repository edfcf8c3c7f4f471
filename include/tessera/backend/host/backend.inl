// SPDX-License-Identifier: Apache-2.0
// Bodies of backend.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/backend.hpp"

#include <utility>

namespace tessera::host {

TESSERA_INLINE void backend::bind(plan& p, const graph_view& g, const parameter_store* store) {
    require_own_names(g);
    std::vector<description> descriptions;
    for (int op = 0; op < g.op_count; ++op) {
        const op_attributes& a = g.ops[op].attributes;
        if (!supports(record_of(a), pass::forward, a.math) || !rows_.has(record_of(a))) {
            throw error(refusal_of(record_of(a), a.math, path_of(g, op)));
        }
        descriptions.push_back(g.describe(op));
    }
    detail::chooser choice(p, g, descriptions, store, catalog_, options_.how, options_.seed, optimizer_.is_layerwise());
    detail::binder(p, formats_, optimizer_.state_count()).run(choice.run());
    profile_.save();
}

TESSERA_INLINE runnable backend::prepare(const plan& p, int index, const graph_view& g, const addresses& where) {
    const task& t = p.tasks[to_size(index)];
    owned<job> made;
    switch (t.kind()) {
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
        made = t.params().parts.empty()
                   ? owned<job>(new detail::update_job(p, t, where, rule_for(optimizer_, g, t.params().parameter)))
                   : owned<job>(new detail::message_job(p, t, g, where, optimizer_));
        break;
    }
    job* const raw = made.get();
    prepared_.with(where, [&](prepared& of) { of.jobs.push_back(std::move(made)); });
    return {[](void* context, const run_state& run) { static_cast<job*>(context)->run(run); }, raw};
}

TESSERA_INLINE backend_options backend::together(const session_options& from, backend_options own) {
    if (!from.profile.empty() && !own.profile_path.empty() && from.profile != own.profile_path) {
        throw error("tessera: what is measured is to be kept in " + from.profile + " and in " + own.profile_path +
                    "; name the file in the trainer's options or in the backend's");
    }
    own.how = from.measure ? tuning::measure : own.how;
    own.profile_path = own.profile_path.empty() ? from.profile : own.profile_path;
    return own;
}

TESSERA_INLINE owned<job> backend::make_compute(const plan& p, const task& t, const graph_view& g,
                                                const addresses& where) {
    const description& d = describe(g, t.op, where);
    bound_call b;
    b.call = call_of(p, t, g, d);
    b.how.engine = static_cast<engine_kind>(t.compute().implementation);
    for (int o = 0; o < max_operands; ++o) {
        if (t.compute().value[o] >= 0) {
            b.call.value[o].data = where[t.compute().value[o]];
            b.how.value[o] = p.tiles[to_size(t.compute().value[o])].format;
        }
        if (t.compute().gradient[o] >= 0) {
            b.call.gradient[o].data = where[t.compute().gradient[o]];
            b.how.gradient[o] = p.tiles[to_size(t.compute().gradient[o])].format;
        }
    }
    if (t.scratch >= 0) {
        b.scratch = where[t.scratch];
        b.how.scratch = p.tiles[to_size(t.scratch)].bytes;
    }
    b.workspace = t.compute().workspace >= 0 ? where[t.compute().workspace] : nullptr;
    if (t.what == pass::update) {
        return owned<job>(new detail::running_job(b));
    }
    return detail::make_job(b, formats_, stream(where), rows_);
}

TESSERA_INLINE owned<job> backend::make_reorder(const plan& p, const task& t, const addresses& where) {
    const tile& a = p.tiles[to_size(t.reads[0])];
    const tile& b = p.tiles[to_size(t.writes[0])];
    return detail::make_reorder(formats_, {a.format, b.format, a.region.extents()}, where[t.reads[0]],
                                where[t.writes[0]], t.scratch >= 0 ? where[t.scratch] : nullptr, stream(where));
}

TESSERA_INLINE void backend::convert(const tile& t, const void* from, void* to, bool out) const {
    const shape s = t.region.extents();
    const std::ptrdiff_t length = t.region.rank > 0 ? static_cast<std::ptrdiff_t>(s.volume() / s[0]) : 1;
    if (t.format == format::plain) {
        std::memcpy(to, from, to_size(t.slices > 1 ? t.elements : s.volume()) * sizeof(float));
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

TESSERA_INLINE const description& backend::describe(const graph_view& g, int op, const addresses& where) {
    owned<description> d(new description(g.describe(op)));
    const description& made = *d;
    prepared_.with(where, [&](prepared& of) { of.descriptions.push_back(std::move(d)); });
    return made;
}

TESSERA_INLINE dnnl_stream_t backend::stream(const addresses& where) {
    unique_stream s = make_stream();
    const dnnl_stream_t made = s.get();
    prepared_.with(where, [&](prepared& of) { of.streams.push_back(std::move(s)); });
    return made;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
