// SPDX-License-Identifier: Apache-2.0
// What a plan leaves to be read after its run, and the order of its tasks.
#pragma once

#include "tessera/plan/lanes.hpp"
#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

template <class Options>
void lowering<Options>::keep(int tensor, const located& where) {
    for (const piece& p : where.pieces) {
        if (p.device >= 0) {
            p_.results.push_back({tensor, p.part, p.tile, step_});
            p_.tiles[at(p_.root(p.tile))].keep = true;
            p_.tiles[at(p.tile)].keep = true;
        }
    }
}

template <class Options>
void lowering<Options>::collect_results() {
    for (int op = 0; op < g_.op_count; ++op) {
        for (int m = 0; m < p_.micro_batches && g_.is_loss(op); ++m) {
            select(m);
            keep(g_.ops[op].output, values_[at(g_.ops[op].output)]);
            if (o_.kind == run_kind::evaluation) {
                keep(g_.ops[op].inputs[0], values_[at(g_.ops[op].inputs[0])]);
            }
        }
    }
    if (o_.output_gradient >= 0) {
        const int out = g_.ops[g_.op_count - 1].output;
        keep(out, values_[at(out)]);
        for (int t : g_.ops[0].inputs) {
            keep(t, gradients_[at(t)]);
        }
    }
    if (keeps_gradients()) {
        for (int p = 0; p < g_.parameter_count; ++p) {
            for (const piece& c : parameter_gradients_[at(p)].pieces) {
                p_.gradients.push_back({p, c.part, c.tile, step_});
            }
        }
    }
}

/// Puts every task into its list.
template <class Options>
void lowering<Options>::number() {
    if (s_.overlap) {
        use_communication_lanes(p_);
    }
    use_queues(p_);
    p_.order.resize(at(p_.lists()));
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        task& t = p_.tasks[at(i)];
        std::vector<int>& list = p_.order[at(p_.list_of(t))];
        t.position = static_cast<int>(list.size());
        list.push_back(i);
    }
}

} // namespace tessera::detail
