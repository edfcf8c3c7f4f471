// SPDX-License-Identifier: Apache-2.0
// How every compute task of a plan is done on the host, and the memory format of every parameter: the choice whose measured (or
// estimated) times, those of the reorders between unlike formats included, add up to the least.
#pragma once

#include "tessera/backend/host/catalog.hpp"
#include "tessera/plan/call.hpp"

namespace tessera::host::detail {

/// Samples with the last block of 16 filled up.
constexpr index_t padded_samples(index_t samples) { return (samples + 15) / 16 * 16; }

/// Tasks that are computed alike: a pass of an operator, or both passes where the backward one reads what forward left behind.
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

/// What is computed again is computed as it was the first time.
constexpr pass computed_as(pass p) { return p == pass::recompute ? pass::forward : p; }

inline bool ties_passes(op_kind k) { return k == op_kind::max_pool || k == op_kind::cross_entropy; }

/// Formats of activations alone, by which candidates of different shards or passes correspond.
inline bool corresponds(const candidate& a, const candidate& b) {
    if (a.engine != b.engine) {
        return false;
    }
    for (int o = 0; o < max_operands; ++o) {
        const auto differ = [](int x, int y) {
            return x >= 0 && y >= 0 && x != y && x < format::opaque && y < format::opaque;
        };
        if (differ(a.value[o], b.value[o]) || differ(a.gradient[o], b.gradient[o])) {
            return false;
        }
    }
    return true;
}

/// The format that forward reads, or backward writes, the first operand in.
inline int entry_format(const candidate& k) { return k.value[0] >= 0 ? k.value[0] : k.gradient[0]; }

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

// A template only so that what it uses is compiled where a plan is made, not wherever the header is included.
template <class Plan>
class chooser {
public:
    chooser(const Plan& p, const graph_view& g, const std::vector<description>& descriptions,
            const parameter_store* store, catalog& c, format_table& table, tuning how, std::uint64_t seed)
        : p_(p), g_(g), descriptions_(descriptions), store_(store), catalog_(c), table_(table), how_(how), seed_(seed) {
    }

    decisions run() {
        make_groups();
        link();
        choose();
        decisions d;
        d.tasks.resize(p_.tasks.size());
        for (const group& x : groups_) {
            for (const group::leg& leg : x.legs) {
                for (int t : leg.tasks) {
                    d.tasks[at(t)] = option_for(t, leg.options[at(x.chosen)]);
                }
            }
        }
        store_parameters(d);
        return d;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    const tile& tile_at(int t) const { return p_.tiles[at(t)]; }
    const description& desc(int op) const { return descriptions_[at(op)]; }
    compute_call call(const task& t) const { return call_of(p_, t, g_, desc(t.op)); }

    // ---- groups ------------------------------------------------------------------------------------------------------

    void make_groups() {
        for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
            const task& t = p_.tasks[at(i)];
            if (t.kind != task_kind::compute || t.what == pass::update) {
                continue;
            }
            const bool tied = ties_passes(g_.ops[t.op].attributes.kind);
            const pass what = computed_as(t.what);
            group* found = nullptr;
            for (group& x : groups_) {
                if (x.op == t.op && (tied ? x.nest < 0 : x.what == what && x.nest == t.first_nest)) {
                    found = &x;
                }
            }
            if (found == nullptr) {
                groups_.push_back({t.op, what, tied ? -1 : t.first_nest, {}, 0});
                found = &groups_.back();
            }
            group::leg* leg = nullptr;
            for (group::leg& l : found->legs) {
                const task& first = p_.tasks[at(l.tasks[0])];
                if (computed_as(first.what) == what && first.first_nest == t.first_nest) {
                    leg = &l;
                }
            }
            if (leg == nullptr) {
                found->legs.push_back({{}, catalog_.candidates(call(t))});
                leg = &found->legs.back();
            }
            leg->tasks.push_back(i);
        }
        for (group& x : groups_) {
            align(x);
        }
    }

    /// Keeps what all legs of a group can do, in one order.
    void align(group& x) {
        if (x.legs.size() < 2) {
            return;
        }
        std::vector<std::vector<candidate>> kept(x.legs.size());
        for (const candidate& k : x.legs[0].options) {
            std::vector<const candidate*> row;
            for (const group::leg& l : x.legs) {
                for (const candidate& other : l.options) {
                    if (other.engine == k.engine && entry_format(other) == entry_format(k)) {
                        row.push_back(&other);
                        break;
                    }
                }
            }
            if (row.size() == x.legs.size()) {
                for (std::size_t i = 0; i < row.size(); ++i) {
                    kept[i].push_back(*row[i]);
                }
            }
        }
        for (std::size_t i = 0; i < x.legs.size(); ++i) {
            if (kept[i].empty()) { // nothing in common: plain loops can do anything
                add_plain_candidates(call(p_.tasks[at(x.legs[i].tasks[0])]), kept[i]);
            }
            x.legs[i].options = static_cast<std::vector<candidate>&&>(kept[i]);
        }
    }

    /// What a task of a group does when its first task does `k`: the same if its own shape allows it.
    candidate option_for(int t, const candidate& k) {
        const compute_call c = call(p_.tasks[at(t)]);
        if (k.engine == engine_kind::generic) {
            std::vector<candidate> all;
            add_plain_candidates(c, all);
            return all[0];
        }
        const std::vector<candidate>& own = catalog_.candidates(c);
        for (const bool exactly : {true, false}) { // oneDNN numbers the weights' formats by shape
            for (const candidate& o : own) {
                if (exactly ? same_formats(o, k) : corresponds(o, k)) {
                    return o;
                }
            }
        }
        const bool tied = ties_passes(c.attributes.kind);
        if (tied) {
            for (const candidate& o : own) {
                if (o.engine == engine_kind::vectors) {
                    return o;
                }
            }
        }
        return own[0];
    }

    // ---- what passes between them ------------------------------------------------------------------------------------

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
    /// A tile with who writes it (no group: it is written plain) and who reads it; or a parameter with those that read it and those that
    /// write contributions to its gradient.
    struct passed {
        place writer;
        shape extents;
        std::vector<reader> readers;
        int tensor = -1; ///< of a parameter
        int fixed = -1;  ///< its format in the store, if it has one
        box region;
        std::vector<place> contributions;
    };

    void link() {
        std::vector<int> of_tile(p_.tiles.size(), -1);
        const auto at_root = [&](int root) -> passed& {
            if (of_tile[at(root)] < 0) {
                of_tile[at(root)] = static_cast<int>(passed_.size());
                passed_.push_back({});
                passed_.back().extents = tile_at(root).region.extents();
            }
            return passed_[at(of_tile[at(root)])];
        };
        const auto each = [&](auto&& what) {
            for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
                for (int l = 0; l < static_cast<int>(groups_[at(i)].legs.size()); ++l) {
                    const task& x = p_.tasks[at(groups_[at(i)].legs[at(l)].tasks[0])];
                    for (int o = 0; o < max_operands; ++o) {
                        for (const bool gradient : {false, true}) {
                            const int t = gradient ? x.gradient[o] : x.value[o];
                            if (t >= 0) {
                                what(place{i, l, o, gradient}, t,
                                     std::find(x.writes.begin(), x.writes.end(), t) != x.writes.end());
                            }
                        }
                    }
                }
            }
        };
        each([&](const place& where, int t, bool written) {
            const tile& x = tile_at(t);
            if (x.kind == tile_kind::parameter || x.kind == tile_kind::parameter_gradient) {
                passed& w = parameter(x.tensor, x.region);
                written ? w.contributions.push_back(where) : w.readers.push_back({where, x.region.extents(), false});
            } else if (written) {
                at_root(p_.root(t)).writer = where;
            } else {
                const int root = p_.root(t);
                at_root(root).readers.push_back({where, x.region.extents(), !(x.region == tile_at(root).region)});
            }
        });
        touched_.resize(groups_.size());
        for (int i = 0; i < static_cast<int>(passed_.size()); ++i) {
            const auto touch = [&](const place& x) {
                if (x.group >= 0 && (touched_[at(x.group)].empty() || touched_[at(x.group)].back() != i)) {
                    touched_[at(x.group)].push_back(i);
                }
            };
            touch(passed_[at(i)].writer);
            for (const reader& r : passed_[at(i)].readers) {
                touch(r.where);
            }
            for (const place& w : passed_[at(i)].contributions) {
                touch(w);
            }
        }
    }

    passed& parameter(int tensor, const box& part) {
        for (passed& x : passed_) {
            if (x.tensor == tensor && x.region == part) {
                return x;
            }
        }
        passed made;
        made.tensor = tensor;
        made.region = part;
        made.extents = part.extents();
        made.fixed = stored_format(tensor, part);
        passed_.push_back(made);
        return passed_.back();
    }

    int stored_format(int tensor, const box& part) const {
        for (std::size_t i = 0; store_ != nullptr && i < store_->entries().size(); ++i) {
            const tile& x = store_->entries()[i].what;
            if (x.kind == tile_kind::parameter && x.tensor == tensor && x.region == part) {
                return x.format;
            }
        }
        return -1;
    }

    static int format_in(const place& x, const candidate& k) {
        return x.gradient ? k.gradient[x.operand] : k.value[x.operand];
    }
    int format_in(const place& x) const {
        const group& g = groups_[at(x.group)];
        return format_in(x, g.legs[at(x.leg)].options[at(g.chosen)]);
    }

    /// Seconds of a reorder.
    double reorder(int from, int to, const shape& extents) {
        if (from == to || from < 0 || to < 0) {
            return 0;
        }
        for (const known_reorder& k : reorders_) {
            if (k.call.from == from && k.call.to == to && k.call.extents == extents) {
                return k.seconds;
            }
        }
        constexpr double bytes_per_second = 6e9; // read and written, out of cache: reorders measure 5 to 20 GB/s
        const double seconds = how_ == tuning::measure
                                   ? catalog_.seconds(reorder_call{from, to, extents})
                                   : 2e-6 + static_cast<double>(extents.volume()) * 4 / bytes_per_second;
        reorders_.push_back({{from, to, extents}, seconds});
        return seconds;
    }

    double cost(const passed& x) {
        if (x.tensor >= 0) {
            return cost_of_parameter(x).second;
        }
        const int have = x.writer.group < 0 ? format::plain : format_in(x.writer);
        std::vector<int> wanted; // every format is made once
        double total = 0;
        for (const reader& r : x.readers) {
            const int want = format_in(r.where);
            if (want < 0 || std::find(wanted.begin(), wanted.end(), want) != wanted.end()) {
                continue;
            }
            wanted.push_back(want);
            // Only these formats keep their order of elements when indices are renamed.
            const bool survives = !r.renamed || want == format::plain || want == format::samples16;
            total += reorder(have, survives ? want : format::plain, x.extents);
            total += survives ? 0 : reorder(format::plain, want, r.extents);
        }
        return total;
    }

    /// The best format to keep a parameter in, and the seconds that its reorders take then.
    std::pair<int, double> cost_of_parameter(const passed& x) {
        std::vector<int> reads;
        std::vector<int> writes;
        const auto add = [](std::vector<int>& list, int f) {
            if (f >= 0 && std::find(list.begin(), list.end(), f) == list.end()) {
                list.push_back(f);
            }
        };
        for (const reader& r : x.readers) {
            add(reads, format_in(r.where));
        }
        for (const place& w : x.contributions) {
            add(writes, format_in(w));
        }
        return best_storage(reads, writes, x.extents, x.fixed);
    }

    std::pair<int, double> best_storage(const std::vector<int>& reads, const std::vector<int>& writes,
                                        const shape& extents, int fixed) {
        std::vector<int> possible = {fixed >= 0 ? fixed : format::plain};
        if (fixed < 0) {
            possible.insert(possible.end(), reads.begin(), reads.end());
            possible.insert(possible.end(), writes.begin(), writes.end());
        }
        std::pair<int, double> best{format::plain, -1};
        for (const int f : possible) {
            double total = 0;
            for (const int r : reads) {
                total += reorder(f, r, extents);
            }
            for (const int w : writes) {
                total += reorder(w, f, extents);
            }
            if (best.second < 0 || total < best.second) {
                best = {f, total};
            }
        }
        return best;
    }

    void store_parameters(decisions& d) {
        struct wishes {
            std::vector<int> reads, writes;
        };
        std::vector<wishes> all;
        for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
            const tile& x = p_.tiles[i];
            const auto same = [&](const decisions::stored& s) { return s.tensor == x.tensor && s.region == x.region; };
            if (x.kind == tile_kind::parameter &&
                std::find_if(d.parameters.begin(), d.parameters.end(), same) == d.parameters.end()) {
                d.parameters.push_back({x.tensor, x.region, format::plain});
            }
        }
        all.resize(d.parameters.size());
        for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
            const task& t = p_.tasks[i];
            for (int o = 0; o < max_operands && t.kind == task_kind::compute && t.what != pass::update; ++o) {
                for (const bool gradient : {false, true}) {
                    const int which = gradient ? t.gradient[o] : t.value[o];
                    const int f = gradient ? d.tasks[i].gradient[o] : d.tasks[i].value[o];
                    const tile_kind kind = gradient ? tile_kind::parameter_gradient : tile_kind::parameter;
                    for (std::size_t k = 0; which >= 0 && f >= 0 && k < all.size(); ++k) {
                        if (tile_at(which).kind == kind && tile_at(which).tensor == d.parameters[k].tensor &&
                            tile_at(which).region == d.parameters[k].region) {
                            std::vector<int>& list = gradient ? all[k].writes : all[k].reads;
                            if (std::find(list.begin(), list.end(), f) == list.end()) {
                                list.push_back(f);
                            }
                        }
                    }
                }
            }
        }
        for (std::size_t k = 0; k < all.size(); ++k) {
            decisions::stored& s = d.parameters[k];
            s.format =
                best_storage(all[k].reads, all[k].writes, s.region.extents(), stored_format(s.tensor, s.region)).first;
        }
    }

    // ---- choice ------------------------------------------------------------------------------------------------------

    void choose() {
        if (how_ == tuning::random) {
            for (std::size_t i = 0; i < groups_.size(); ++i) {
                const auto n = static_cast<std::uint64_t>(groups_[i].legs[0].options.size());
                groups_[i].chosen = static_cast<int>((op::mix(seed_ ^ op::mix(i)) >> 20U) % n);
            }
            return;
        }
        for (const group& x : groups_) {
            std::vector<double> total(x.legs[0].options.size(), 0);
            for (const group::leg& l : x.legs) {
                const compute_call c = call(p_.tasks[at(l.tasks[0])]);
                const std::vector<double> measured =
                    how_ == tuning::measure ? catalog_.seconds(c, l.options) : std::vector<double>();
                for (std::size_t k = 0; k < total.size(); ++k) {
                    total[k] += how_ == tuning::measure ? measured[k] : estimate(c, l.options[k]);
                }
            }
            costs_.push_back(static_cast<std::vector<double>&&>(total));
        }
        double best = -1;
        std::vector<int> winner;
        for (const int start : {-1, format::samples16, format::channels16, format::channels_last, format::plain}) {
            descend(start);
            const double total = total_cost();
            if (best < 0 || total < best) {
                best = total;
                winner.clear();
                for (const group& x : groups_) {
                    winner.push_back(x.chosen);
                }
            }
        }
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            groups_[i].chosen = winner[i];
        }
    }

    double total_cost() {
        double total = 0;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            total += costs_[i][at(groups_[i].chosen)];
        }
        for (const passed& x : passed_) {
            total += cost(x);
        }
        return total;
    }

    /// Coordinate descent from the choice that prefers one format everywhere (-1: the fastest of each).
    void descend(int preferred) {
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            group& x = groups_[i];
            x.chosen = 0;
            for (int k = 0; k < static_cast<int>(costs_[i].size()); ++k) {
                const bool mine = entry_format(x.legs[0].options[at(k)]) == preferred;
                const bool current = entry_format(x.legs[0].options[at(x.chosen)]) == preferred;
                if (mine == current ? costs_[i][at(k)] < costs_[i][at(x.chosen)] : mine) {
                    x.chosen = k;
                }
            }
        }
        bool moved = true;
        for (int round = 0; moved && round < 20; ++round) {
            moved = false;
            for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
                const int before = groups_[at(i)].chosen;
                take_best(i, [](const candidate&) { return true; });
                moved = moved || groups_[at(i)].chosen != before;
            }
            // What shares a tensor also moves together: a group alone may only trade one reorder for another.
            for (const passed& x : passed_) {
                const std::vector<place> all = places_of(x);
                for (const int f : formats_of(all)) {
                    moved = move_together(all, f) || moved;
                }
            }
        }
    }

    /// The way of a group, among those that qualify, with the least cost for it and for what it touches.
    template <class Qualifies>
    void take_best(int i, const Qualifies& qualifies) {
        group& x = groups_[at(i)];
        int best = x.chosen;
        double least = -1;
        for (int k = 0; k < static_cast<int>(costs_[at(i)].size()); ++k) {
            if (costs_[at(i)][at(k)] > not_measured || !qualifies(x.legs[0].options[at(k)])) {
                continue;
            }
            x.chosen = k;
            double total = costs_[at(i)][at(k)];
            for (const int which : touched_[at(i)]) {
                total += cost(passed_[at(which)]);
            }
            if (least < 0 || total < least - 1e-12) {
                least = total;
                best = k;
            }
        }
        x.chosen = best;
    }

    /// Every group that touches a tensor takes its best way with the tensor in format `f`; undone unless that costs less.
    bool move_together(const std::vector<place>& all, int f) {
        std::vector<int> members;
        std::vector<int> touched;
        std::vector<int> before;
        for (const place& x : all) {
            if (std::find(members.begin(), members.end(), x.group) == members.end()) {
                members.push_back(x.group);
                before.push_back(groups_[at(x.group)].chosen);
                for (const int t : touched_[at(x.group)]) {
                    if (std::find(touched.begin(), touched.end(), t) == touched.end()) {
                        touched.push_back(t);
                    }
                }
            }
        }
        const auto total = [&] {
            double sum = 0;
            for (const int g : members) {
                sum += costs_[at(g)][at(groups_[at(g)].chosen)];
            }
            for (const int t : touched) {
                sum += cost(passed_[at(t)]);
            }
            return sum;
        };
        const double old = total();
        for (const place& x : all) {
            take_best(x.group, [&](const candidate& k) { return format_in(x, k) == f; });
        }
        if (total() < old - 1e-12) {
            return true;
        }
        for (std::size_t i = 0; i < members.size(); ++i) {
            groups_[at(members[i])].chosen = before[i];
        }
        return false;
    }

    static std::vector<place> places_of(const passed& x) {
        std::vector<place> all = x.contributions;
        if (x.writer.group >= 0) {
            all.push_back(x.writer);
        }
        for (const reader& r : x.readers) {
            all.push_back(r.where);
        }
        return all;
    }

    /// The formats that a tensor can have in one way or another.
    std::vector<int> formats_of(const std::vector<place>& all) const {
        std::vector<int> formats;
        for (const place& x : all) {
            for (const candidate& k : groups_[at(x.group)].legs[at(x.leg)].options) {
                const int f = format_in(x, k);
                if (f >= 0 && std::find(formats.begin(), formats.end(), f) == formats.end()) {
                    formats.push_back(f);
                }
            }
        }
        return formats;
    }

    /// Rules of thumb: blocks of samples for narrow convolutions, oneDNN's own blocks for wide ones; nothing plain if avoidable.
    static double estimate(const compute_call& c, const candidate& k) {
        double flops =
            static_cast<double>(is_forward(c.what) ? forward_flops(*c.d, c.ranges) : backward_flops(*c.d, c.ranges)) +
            static_cast<double>(forward_bytes(*c.d, c.ranges)) / 4;
        const op_kind kind = c.attributes.kind;
        if (kind == op_kind::transposed_conv2d && entry_format(k) == format::plain) {
            flops *= 3.0;
        }
        if (kind == op_kind::conv2d || kind == op_kind::linear) {
            const int w = c.d->find_operand(operand_kind::parameter, 0);
            const shape ws = region(*c.d, w, c.ranges).extents();
            const bool narrow = kind == op_kind::conv2d ? (ws[0] < 32 || ws[1] < 32) : ws.volume() < 100000;
            const index_t samples = region(*c.d, 0, c.ranges).dim[0].size();
            const double fill = static_cast<double>(padded_samples(samples)) / static_cast<double>(samples);
            if (k.engine == engine_kind::vectors) {
                flops *= (narrow ? 1.0 : 1.6) * fill;
            } else if (entry_format(k) == format::plain && kind == op_kind::conv2d) {
                flops *= 3.0;
            } else {
                flops *= narrow ? 2.0 : 1.0;
            }
            flops *= k.engine == engine_kind::winograd ? 0.7 : 1.0;
        }
        return flops / 5e10;
    }

    static constexpr double not_measured = 1e20; ///< what fell behind in the turns

    struct known_reorder {
        reorder_call call;
        double seconds;
    };

    const Plan& p_;
    const graph_view& g_;
    const std::vector<description>& descriptions_;
    const parameter_store* store_;
    catalog& catalog_;
    format_table& table_;
    tuning how_;
    std::uint64_t seed_;
    std::vector<group> groups_;
    std::vector<std::vector<double>> costs_; ///< of a group's options
    std::vector<passed> passed_;
    std::vector<std::vector<int>> touched_; ///< what of passed_ a group reads or writes
    std::vector<known_reorder> reorders_;
};

} // namespace tessera::host::detail
