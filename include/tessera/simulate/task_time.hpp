// SPDX-License-Identifier: Apache-2.0
// How long a device computes on one task of a plan: measured where a profile has it, else by the roofline.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/profile.hpp"
#include "tessera/cost/roofline.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/plan/parts.hpp"

namespace tessera::simulation {

/// Floating-point operations of a compute task: of its nests forward, and one nest's worth for every gradient that
/// takes a multiplication.
constexpr index_t flops_of(const description& d, const task& t) {
    index_t flops = 0;
    if (t.what == pass::forward || t.what == pass::evaluate || t.what == pass::recompute) {
        for (int k = t.compute().first_nest; k <= t.compute().last_nest; ++k) {
            flops += flops_of_nest(d, k, t.compute().ranges);
        }
    } else if (t.what != pass::update) {
        for (int o = 0; o < d.operands.size(); ++o) {
            if (has(t.compute().emits, o) && !d.operands[o].additive) {
                flops += d.operands[o].gradient_times * flops_of_nest(d, t.compute().first_nest, t.compute().ranges);
            }
        }
    }
    return flops;
}

/// Bytes of one tile, or of a slice of it.
index_t tile_bytes(const tile& t, const task& by);

/// Adds the shapes of the products that a compute task makes to its work, or that it is attention.
void add_shapes(const description& d, const task& t, cost::work& w);

/// The work of a compute, reduce, update or norm task. Copies are transfers, see simulate/.
cost::work work_of(const graph_view& g, const description& d, const std::vector<tile>& tiles, const task& t);

cost::task_signature signature_of(const graph_view& g, const std::vector<tile>& tiles, const task& t);

/// Where task times come from.
struct task_times {
    const cost::profile* measured = nullptr; ///< asked first, if there is one
    cost::roofline_efficiency reached;
    /// False: who updates a slice of a parameter takes its gradients from every other device and hands it to every
    /// other one, as parameter servers do, instead of by the best collective. Threads of a host always do.
    bool collectives = true;
    /// The tasks are those of one of so many equal parts of a machine, of its first devices; all parts do the same at
    /// the same time, each with samples of its own. Gradients are summed over all parts, see search/coarse/parts.hpp.
    int parts = 1;
    /// 2: the plan is for the first two of the parts (lower_options::parts): its slices are those of all parts, and
    /// parts share no lanes but in collectives (see part_lanes.hpp). 1: it was lowered for one part alone; its slices
    /// are divided here, and parts that share lanes are priced as sending at the same time.
    int planned_parts = 1;
    /// 10^6 bytes per second at which a parameter server takes gradients in, each worker's counted: what its software
    /// reaches. 0: as fast as memory.
    index_t server_megabytes = 0;

    index_t operator()(const graph_view& g, const description& d, const std::vector<tile>& tiles, const task& t,
                       const device_class& on) const;
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/task_time.inl"
#endif

#include "tessera/base/end_header.inl"
