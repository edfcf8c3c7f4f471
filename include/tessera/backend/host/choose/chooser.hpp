// SPDX-License-Identifier: Apache-2.0
// What the choice of implementations and formats for a plan on the host knows: tasks that are computed alike, and what
// passes between them. The choice itself stands in choose.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/catalog.hpp"
#include "tessera/plan/call.hpp"

namespace tessera::host::detail {

/// Tasks that are computed alike: a pass of an operator, or both passes where the backward one reads what forward left
/// behind.
struct group {
    int op = -1;
    pass what = pass::forward;
    int nest = 0;
    struct leg {
        std::vector<int> tasks;
        std::vector<candidate> options; ///< of the first task
    };
    std::vector<leg> legs;
    int chosen = 0;
};

/// An operand of a group's leg.
struct place {
    int group = -1;
    int leg = 0;
    int operand = 0;
    bool gradient = false;
};
struct reader {
    place where;
    shape extents; ///< as the reader sees them: behind a flatten not the writer's
    bool renamed = false;
};
/// A tile with who writes it (no group: it is written plain) and who reads it; or a parameter with those that read it
/// and those that write contributions to its gradient.
struct passed {
    place writer;
    shape extents;
    std::vector<reader> readers;
    int tensor = -1; ///< of a parameter
    int fixed = -1;  ///< its format in the store, if it has one
    box region;
    std::vector<place> contributions;
};

struct known_reorder {
    reorder_call call;
    double seconds;
};

/// What the chooser decides.
struct decisions {
    std::vector<candidate> tasks; ///< of compute tasks; others' are empty
    struct stored {
        int tensor;
        box region;
        int format;
    };
    std::vector<stored> parameters;
};

class chooser {
public:
    chooser(const plan& p, const graph_view& g, const std::vector<description>& descriptions,
            const parameter_store* store, catalog& c, tuning how, std::uint64_t seed, bool takes_norms = false);

    decisions run();

private:
    decisions decide();

    /// Checks what was chosen, for shapes at which nobody has looked yet.
    bool are_right(const decisions& d);

    const tile& tile_at(int t) const { return p_.tiles[to_size(t)]; }
    const description& desc(int op) const { return descriptions_[to_size(op)]; }
    compute_call call(const task& t) const { return call_of(p_, t, g_, desc(t.op)); }

    // ---- groups: choose/groups.hpp ----------------------------------------------------------------------------------

    void make_groups();
    void align(group& x);
    candidate option_for(int t, const candidate& k);

    // ---- what passes between them: choose/formats.inl ---------------------------------------------------------------

    void link();
    passed& parameter(int tensor, const box& part);
    int stored_format(int tensor, const box& part) const;
    static int format_in(const place& x, const candidate& k);
    int format_in(const place& x) const;

    double reorder(int from, int to, const shape& extents);
    double cost(const passed& x);
    std::pair<int, double> cost_of_parameter(const passed& x);
    std::pair<int, double> best_storage(const std::vector<int>& reads, const std::vector<int>& writes,
                                        const shape& extents, int fixed);
    void store_parameters(decisions& d);

    // ---- choice: choose.hpp -----------------------------------------------------------------------------------------

    void choose();
    double total_cost();
    void descend(int preferred);
    template <class Qualifies>
    void take_best(int i, const Qualifies& qualifies);
    bool move_together(const std::vector<place>& all, int f);
    static std::vector<place> places_of(const passed& x);
    std::vector<int> formats_of(const std::vector<place>& all) const;
    double estimate(const compute_call& c, const candidate& k);

    static constexpr double not_measured = 1e20; ///< what fell behind in the turns

    const plan& p_;
    const graph_view& g_;
    const std::vector<description>& descriptions_;
    const parameter_store* store_;
    catalog& catalog_;
    tuning how_;
    std::uint64_t seed_;
    bool takes_norms_; ///< of parameters, see stored_format()
    std::vector<group> groups_;
    std::vector<std::vector<double>> costs_; ///< of a group's options
    std::vector<passed> passed_;
    std::vector<std::vector<int>> touched_; ///< what of passed_ a group reads or writes
    std::vector<known_reorder> reorders_;
};

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/chooser.inl"
#include "tessera/backend/host/choose/formats.inl"
#endif

#include "tessera/base/end_header.inl"
