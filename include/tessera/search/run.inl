// SPDX-License-Identifier: Apache-2.0
// Bodies of run.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/run.hpp"

namespace tessera::search::detail {

TESSERA_INLINE void check_options(const search_record& r, const search_options& o) {
    for (int i = 0; i < o.values.count(); ++i) {
        const std::string_view name = o.values.name(i);
        const option_row* row = find_option(r, name);
        row = row == nullptr && o.schedule != nullptr ? find_option(*o.schedule, name) : row;
        row = row == nullptr && o.policy != nullptr ? find_option(*o.policy, name) : row;
        if (row == nullptr) {
            require_options(r, o.values, "search"); // says what it has
        } else if (const std::string why = refusal_of(*row, o.values[*row]); !why.empty()) {
            throw error("the search '" + std::string(r.name) + "' is refused: " + why);
        }
    }
    if (o.schedule != nullptr && !r.takes_all) {
        throw error("the search '" + std::string(r.name) + "' makes no pipeline that could follow the schedule '" +
                    std::string(o.schedule->name) + "'; search with pipeline or fit");
    }
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE search_found run(const search_record& r, const graph_view& g, const cluster& on,
                                const search_options& o) {
    detail::check_options(r, o);
    search_found found = o.fuse ? run_fused(r, g, on, o) : r.run(g, on, o);
    strategy& s = found.best;
    if (o.micro_batches > 0 && s.schedule.stages == 0 && !r.takes_all) {
        s.micro_batches = o.micro_batches;
    }
    if (o.micro_batches > 0 && s.micro_batches != o.micro_batches) { // of a schedule, which has its own
        throw error(
            "the search '" + std::string(r.name) + "' found a schedule of " + std::to_string(s.micro_batches) +
            " micro-batches, and " + std::to_string(o.micro_batches) + " are asked for" +
            (r.takes_all ? "; ask for another number, or leave it to the search" : "; search with pipeline or fit"));
    }
    for (configuration& c : s.ops) {
        c.recompute = c.recompute || (o.recompute && !r.takes_all);
        c.uneven = c.uneven || s.micro_batches > 1;
    }
    if (o.recomputed.which != recompute_rule::kind::none) {
        found.step = found.most_bytes = 0; // what was estimated is without it
        recompute(s, g, o.recomputed);
    }
    if (o.policy != nullptr && !r.weighs_policy) {
        found.step = 0; // what was estimated is without it
        s.sync = synchronization_of(g, on.devices(), speed_of(on), *o.policy, o.values);
        s.steps_per_plan = s.sync.average_every > 1 ? s.sync.average_every : s.steps_per_plan;
        if (s.sync.staleness > 0) { // at the end of a plan everything is used, so that it covers some more steps
            s.steps_per_plan = s.sync.staleness < 256 ? 4 * (s.sync.staleness + 1) : 1024;
        }
    }
    require(g, s.view(), on.devices());
    if (o.recompute_to_fit) {
        const recompute_found x = recompute_within(g, on, s, {.lowering = o.lowering});
        s = x.best;
        found.step = found.most_bytes = 0;
        found.text += std::string("recomputed so that it fits: ") +
                      (x.what == "chain" ? "chosen block by block" : x.what) +
                      (x.fits ? "\n" : ", which needs least; nothing fits\n");
    }
    if (o.offload_to_fit) {
        const offload_found x = offload_within(g, on, s, {.lowering = o.lowering, .what = o.offloads});
        s = x.best;
        found.step = found.most_bytes = 0;
        const std::string outputs =
            "outputs of " + std::to_string(x.operators) + " operators wait in the host's memory";
        found.text += x.state ? "the optimizer's state is on the host" : "";
        found.text += o.offloads == offload_of::optimizer ? (x.state ? "" : "the optimizer's state is on the devices")
                                                          : (x.state ? ", " : "") + outputs;
        found.text += x.fits ? "\n" : "; even so it does not fit\n";
    }
    return found;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
