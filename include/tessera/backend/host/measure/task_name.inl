// SPDX-License-Identifier: Apache-2.0
// Bodies of task_name.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/task_name.hpp"

namespace tessera::host {

TESSERA_INLINE residence residence_of(const simulation::reuse& r, index_t bytes, index_t all_bytes,
                                      const cache_distances& far) {
    using simulation::holder;
    if (bytes < 1024 || bytes * 32 < all_bytes) {
        return {1, holder::own};
    }
    if (r.held != holder::own && r.all < far.of[1]) {
        return {1, holder::theirs};
    }
    if (r.held == holder::own && r.own < far.of[0] && bytes < far.of[0]) {
        return {0, holder::own};
    }
    if (r.held == holder::own && r.own < far.of[1]) {
        return {1, holder::own};
    }
    return {r.all < far.of[2] ? 2 : r.all < far.of[3] ? 3 : 4, holder::own};
}

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE std::string compute_name(const plan& p, const task& t, const graph_view& g, const description* d,
                                        const format_table& table, const operator_rows& rows) {
    if (t.what == pass::update) {
        return "running " + tessera::detail::text_of(tile_at(p, t.compute().running).region.extents()) + " " +
               std::to_string(t.reads.size());
    }
    candidate k;
    k.engine = static_cast<engine_kind>(t.compute().implementation);
    for (int o = 0; o < max_operands; ++o) {
        k.value[o] = t.compute().value[o] >= 0 ? tile_at(p, t.compute().value[o]).format : -1;
        k.gradient[o] = t.compute().gradient[o] >= 0 ? tile_at(p, t.compute().gradient[o]).format : -1;
    }
    return problem_name(call_of(p, t, g, *d), rows) + " | " + candidate_name(k, table, d->operands.size());
}

TESSERA_INLINE std::string copy_name(const plan& p, const task& t) {
    const tile& target = tile_at(p, t.writes[0]);
    std::string name = std::string("copy ") + (t.copy().clear ? "cleared " : "") +
                       (t.copy().reduce == reducer::max ? "max " : "") + std::to_string(bytes_of(target.type)) + " " +
                       std::to_string(target.bytes);
    for (const copy_segment& s : t.copy().segments) {
        const box_copy b(s.region, tile_at(p, s.source).region, target.region);
        name += std::string(s.overwrite ? " =" : " +") + (target.format == format::plain ? "" : "f");
        for (int k = 0; k < max_rank; ++k) {
            if (b.count[k] > 1) {
                name += std::to_string(b.count[k]) + "*" + std::to_string(b.from_stride[k]) + ":" +
                        std::to_string(b.to_stride[k]) + ",";
            }
        }
        name += std::to_string(b.row);
    }
    return name;
}

TESSERA_INLINE std::string work_name(const plan& p, const task& t, const graph_view& g, const description* d,
                                     const format_table& table, const operator_rows& rows, const optimizer& update) {
    std::string name;
    switch (t.kind()) {
    case task_kind::compute:
        return compute_name(p, t, g, d, table, rows);
    case task_kind::copy:
        return copy_name(p, t);
    case task_kind::reorder:
        return "reorder " + table.name(tile_at(p, t.reads[0]).format) + " " +
               table.name(tile_at(p, t.writes[0]).format) + " " +
               tessera::detail::text_of(tile_at(p, t.reads[0]).region.extents());
    case task_kind::sum:
        return "sum " + std::to_string(tile_at(p, t.writes[0]).elements) + " " + std::to_string(t.reads.size()) +
               (t.reads[0] == t.writes[0] ? " onto" : "");
    case task_kind::gather:
        return "gather " + std::to_string(tile_at(p, t.writes[0]).elements) + " " + std::to_string(t.reads.size());
    case task_kind::compress:
    case task_kind::decompress:
        name = to_text(t.kind());
        for_each_part(t, [&](const task& one) { // by words of codes
            const int code = t.kind() == task_kind::compress ? one.writes[0] : one.reads[0];
            name += " " + std::to_string(tile_at(p, code).region.volume()) + " " +
                    std::to_string(tile_at(p, code).elements) + " " + std::to_string(one.reads.size());
        });
        return name;
    case task_kind::average:
    case task_kind::reduce:
    case task_kind::update:
    case task_kind::norm:
        break;
    }
    name = std::string(to_text(t.kind())) +
           (update.which == update_rule::kind::adam      ? " adam "
            : update.which == update_rule::kind::rmsprop ? " rmsprop "
                                                         : " sgd ") +
           (!update.is_layerwise()             ? ""
            : update.trust == trust_by::update ? "lamb "
                                               : "lars ") +
           std::to_string(update.state_count());
    for_each_part(t, [&](const task& one) {
        const int first = t.kind() == task_kind::norm ? one.reads[0] : one.writes[0];
        name += " " + std::to_string(slice_of(tile_at(p, first), one).size()) + " " + std::to_string(one.reads.size()) +
                " " + std::to_string(one.writes.size()) + " " + std::to_string(one.params().norms.size()) +
                (t.params().parts.empty() ? "" : ";");
    });
    return name + (t.params().counted_elsewhere.empty() ? "" : " partly");
}

TESSERA_INLINE std::string residence_name(const std::vector<residence>& where) {
    std::string name = " @";
    for (const residence& r : where) {
        name += static_cast<char>('0' + r.level);
        name += r.held == simulation::holder::own ? "" : "t";
    }
    return name;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
