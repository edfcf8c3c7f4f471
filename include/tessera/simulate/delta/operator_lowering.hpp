// SPDX-License-Identifier: Apache-2.0
// Lowering that can lower one operator anew: when one configuration changes, the fragments that it touches are made
// again and the rest stays.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/tile_names.hpp"

#include <algorithm>

namespace tessera::simulation {

/// A network lowered in fragments, and how it changes.
class operator_lowering {
    using located = lowering::located;
    using gathered_list = lowering::gathered_list;

public:
    /// Throws tessera::error for what does not lower in fragments. The strategy must keep the rules (see require()).
    operator_lowering(const graph_view& g, const strategy& s, int devices, const lower_options& o = {});

    int fragment_count() const { return x_.count(); }
    const fragment& part(int f) const { return x_.fragments[to_size(f)]; }
    const std::vector<tile>& tiles() const { return x_.out.p.tiles; }
    int root(int t) const { return x_.out.p.root(t); }
    const graph_view& network() const { return x_.in.g; }
    const strategy& current() const { return x_.how; }
    index_t moved_bytes() const { return x_.out.p.moved_bytes; }

    touched_fragments touched(const std::vector<change>& changes) const { return touched_by(x_, changes); }

    /// Changes the configurations of operators, each of them once. Returns the fragments that were made again, in
    /// order. The new strategy must keep the rules. Afterwards accept() or reject().
    const std::vector<int>& propose(const std::vector<change>& changes) { return propose(changes, touched(changes)); }
    /// With what touched() has said of them.
    const std::vector<int>& propose(const std::vector<change>& changes, touched_fragments&& all);
    const std::vector<int>& propose(int op, const configuration& c, const std::vector<int>& devices = {});
    /// Keeps what propose() changed. Tiles that nothing uses any more stay until the lowering is made anew.
    void accept() { undo_ = {}; }
    /// Returns to what was before propose().
    void reject();

private:
    lowering::micro_batch_places& batch() { return x_.batch(); }

    void configure(const change& c);
    /// A parameter's copies again, in the order in which lower() places them; those that were there before keep their
    /// tiles.
    void place_parameter(int p);

    /// Forgets what the operators wrote, what was gathered of it and of their inputs, and the contributions to their
    /// inputs' and parameters' gradients: all that write them are touched and do it again in the old order.
    void clear_around(const std::vector<change>& changes);

    /// Removes from a list the tiles that a fragment gathered, and returns them.
    gathered_list take_created(gathered_list& list, int f) const;
    /// What a fragment gathers is what it had gathered before the change, where that is still wanted.
    void match_gathered(gathered_list& now, gathered_list old, int f);
    /// The contributions of an operator that keeps its configuration come in the same order as before.
    void match_contributions(located& now, const located& before, int op);
    void take_over(int& fresh, int old);
    int contributor(int t) const;

    void forward_again(int op);

    void backward_again(int f);
    /// Takes an operator's contributions to a shared gradient away. The first user comes last and sums all of them, so
    /// that it must see the others'.
    void set_aside(located& from, int op, bool is_first_user) const;

    lowered_fragments x_;
    touched_fragments touched_;
    lowering_undo undo_;
    tile_names names_;
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/operator_lowering.inl"
#endif

#include "tessera/base/end_header.inl"
