// SPDX-License-Identifier: Apache-2.0
// Binding a plan to the host: an implementation for every compute task, a memory format for every tile, reorders where a task wants
// another format than its operand has, and scratch memory.
#pragma once

#include "tessera/backend/host/catalog.hpp"
#include "tessera/plan/call.hpp"

namespace tessera::host {

namespace detail {

/// Samples with the last block of 16 filled up.
constexpr index_t padded_samples(index_t samples) { return (samples + 15) / 16 * 16; }

/// oneDNN's description of a format; that of plain weights has the dimensions (groups) of the format on the other side.
inline dnnl_memory_desc_t desc_as(const format_table& table, int f, int other, const shape& s) {
    if (f == format::plain && other >= format::opaque) {
        const dnnl_memory_desc_t md = table.desc(other, s);
        shape full{md.ndims, {}};
        for (int d = 0; d < md.ndims; ++d) {
            full.extent[d] = md.dims[d];
        }
        return table.desc(format::plain, full);
    }
    return table.desc(f, s);
}

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

// A template only so that what it uses is compiled where a plan is made, not wherever the header is included.
template <class Plan>
class binder {
public:
    binder(Plan& p, const graph_view& g, const parameter_store* store, catalog& c, format_table& table, tuning how,
           std::uint64_t seed)
        : p_(p), g_(g), store_(store), catalog_(c), table_(table), how_(how), seed_(seed) {}

    void run() {
        for (int op = 0; op < g_.op_count; ++op) {
            descriptions_.push_back(g_.describe(op));
        }
        make_groups();
        choose();
        chosen_.resize(p_.tasks.size());
        for (const group& x : groups_) {
            for (const group::leg& leg : x.legs) {
                for (int t : leg.tasks) {
                    chosen_[at(t)] = option_for(t, leg.options[at(x.chosen)]);
                }
            }
        }
        choose_parameter_formats();
        rewrite();
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    tile& tile_at(int t) { return p_.tiles[at(t)]; }
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
            group* found = nullptr;
            for (group& x : groups_) {
                if (x.op == t.op && (tied ? x.nest < 0 : x.what == t.what && x.nest == t.first_nest)) {
                    found = &x;
                }
            }
            if (found == nullptr) {
                groups_.push_back({t.op, t.what, tied ? -1 : t.first_nest, {}, 0});
                found = &groups_.back();
            }
            group::leg* leg = nullptr;
            for (group::leg& l : found->legs) {
                const task& first = p_.tasks[at(l.tasks[0])];
                if (first.what == t.what && first.first_nest == t.first_nest) {
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
        for (const candidate& o : own) {
            if (corresponds(o, k)) {
                return o;
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

    // ---- choice ------------------------------------------------------------------------------------------------------

    void choose() {
        if (how_ == tuning::random) {
            for (std::size_t i = 0; i < groups_.size(); ++i) {
                const auto n = static_cast<std::uint64_t>(groups_[i].legs[0].options.size());
                groups_[i].chosen = static_cast<int>((op::mix(seed_ ^ op::mix(i)) >> 20U) % n);
            }
            return;
        }
        costs_.resize(groups_.size());
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            for (std::size_t k = 0; k < groups_[i].legs[0].options.size(); ++k) {
                double total = 0;
                for (group::leg& l : groups_[i].legs) {
                    const compute_call c = call(p_.tasks[at(l.tasks[0])]);
                    total += how_ == tuning::measure ? catalog_.seconds(c, l.options[k]) : estimate(c, l.options[k]);
                }
                costs_[i].push_back(total);
            }
        }
        link();
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

    /// Rules of thumb: blocks of samples for narrow convolutions, oneDNN's own blocks for wide ones; nothing plain if avoidable.
    static double estimate(const compute_call& c, const candidate& k) {
        double flops =
            static_cast<double>(is_forward(c.what) ? forward_flops(*c.d, c.ranges) : backward_flops(*c.d, c.ranges)) +
            static_cast<double>(forward_bytes(*c.d, c.ranges)) / 4;
        const op_kind kind = c.attributes.kind;
        if (kind == op_kind::conv2d || kind == op_kind::linear) {
            const int w = c.d->find_operand(operand_kind::parameter, 0);
            const shape ws = region(*c.d, w, c.ranges).extents();
            const bool narrow = kind == op_kind::conv2d ? (ws[0] < 32 || ws[1] < 32) : ws.volume() < 100000;
            const index_t samples = region(*c.d, 0, c.ranges).dim[0].size();
            const double fill = static_cast<double>(detail::padded_samples(samples)) / static_cast<double>(samples);
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

    /// Whose output each group reads: pairs of (tile read, reading group) are resolved to the group that wrote the tile.
    struct link_of {
        int reader = -1;
        int leg = 0;
        int operand = 0;
        bool gradient = false;
        int writer = -1; ///< -1: written plain by something else
        int writer_leg = 0;
        int writer_operand = 0;
        bool writer_gradient = false;
        bool flattens = false; ///< through an alias of another shape: only formats that survive it match
        double bytes = 0;
    };

    void link() {
        struct origin {
            int group = -1, leg = 0, operand = 0;
            bool gradient = false;
        };
        std::vector<origin> from(p_.tiles.size());
        for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
            for (int l = 0; l < static_cast<int>(groups_[at(i)].legs.size()); ++l) {
                for (int t : groups_[at(i)].legs[at(l)].tasks) {
                    const task& x = p_.tasks[at(t)];
                    for (int w : x.writes) {
                        for (int o = 0; o < max_operands; ++o) {
                            if (x.value[o] == w || x.gradient[o] == w) {
                                from[at(w)] = {i, l, o, x.gradient[o] == w};
                            }
                        }
                    }
                }
            }
        }
        for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
            for (int l = 0; l < static_cast<int>(groups_[at(i)].legs.size()); ++l) {
                const task& x = p_.tasks[at(groups_[at(i)].legs[at(l)].tasks[0])];
                for (int o = 0; o < max_operands; ++o) {
                    for (const bool gradient : {false, true}) {
                        const int t = gradient ? x.gradient[o] : x.value[o];
                        if (t < 0 || std::find(x.reads.begin(), x.reads.end(), t) == x.reads.end() ||
                            tile_at(t).kind == tile_kind::parameter) {
                            continue;
                        }
                        const int root = p_.root(t);
                        const origin w = from[at(root)];
                        links_.push_back({i, l, o, gradient, w.group, w.leg, w.operand, w.gradient,
                                          !(tile_at(t).region == tile_at(root).region),
                                          static_cast<double>(tile_at(t).region.volume()) * 4});
                    }
                }
            }
        }
    }

    int format_in(int group_number, int leg, int option, int operand, bool gradient) const {
        const candidate& k = groups_[at(group_number)].legs[at(leg)].options[at(option)];
        return gradient ? k.gradient[operand] : k.value[operand];
    }

    double link_cost(const link_of& k) const {
        const int want = format_in(k.reader, k.leg, groups_[at(k.reader)].chosen, k.operand, k.gradient);
        const int have = k.writer < 0 ? format::plain
                                      : format_in(k.writer, k.writer_leg, groups_[at(k.writer)].chosen,
                                                  k.writer_operand, k.writer_gradient);
        if (want < 0 || have < 0 ||
            (want == have && (!k.flattens || want == format::plain || want == format::samples16))) {
            return 0;
        }
        constexpr double bytes_per_second = 6e9; // read and written, out of cache: reorders measure 5 to 20 GB/s
        return 2e-6 + k.bytes / bytes_per_second;
    }

    double total_cost() const {
        double total = 0;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            total += costs_[i][at(groups_[i].chosen)];
        }
        for (const link_of& k : links_) {
            total += link_cost(k);
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
            for (std::size_t i = 0; i < groups_.size(); ++i) {
                group& x = groups_[i];
                const int before = x.chosen;
                int best = before;
                double least = -1;
                for (int k = 0; k < static_cast<int>(costs_[i].size()); ++k) {
                    x.chosen = k;
                    double cost = costs_[i][at(k)];
                    for (const link_of& link : links_) {
                        if (link.reader == static_cast<int>(i) || link.writer == static_cast<int>(i)) {
                            cost += link_cost(link);
                        }
                    }
                    if (least < 0 || cost < least - 1e-12) {
                        least = cost;
                        best = k;
                    }
                }
                x.chosen = best;
                moved = moved || best != before;
            }
        }
    }

    // ---- parameters --------------------------------------------------------------------------------------------------

    /// A parameter is kept in the format that most of its users (its gradient included) want; a store that exists decides alone.
    void choose_parameter_formats() {
        std::vector<std::pair<int, int>> votes; // parameter tile, format
        for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
            const task& t = p_.tasks[i];
            for (int o = 0; o < max_operands && t.kind == task_kind::compute && t.what != pass::update; ++o) {
                if (t.value[o] >= 0 && tile_at(t.value[o]).kind == tile_kind::parameter && chosen_[i].value[o] >= 0) {
                    votes.push_back({t.value[o], chosen_[i].value[o]});
                }
                if (t.gradient[o] >= 0 && tile_at(t.gradient[o]).kind == tile_kind::parameter_gradient &&
                    chosen_[i].gradient[o] >= 0) {
                    votes.push_back({t.gradient[o], chosen_[i].gradient[o]});
                }
            }
        }
        for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
            tile& x = p_.tiles[i];
            if (x.kind != tile_kind::parameter) {
                continue;
            }
            if (store_ != nullptr) {
                for (const parameter_store::entry& e : store_->entries()) {
                    if (e.what.kind == tile_kind::parameter && e.what.tensor == x.tensor && e.what.device == x.device &&
                        e.what.region == x.region) {
                        x.format = e.what.format;
                    }
                }
            } else {
                x.format = majority(votes, x);
            }
            set_size(static_cast<int>(i));
        }
    }

    int majority(const std::vector<std::pair<int, int>>& votes, const tile& x) {
        std::vector<std::pair<int, int>> count;
        for (const auto& [t, f] : votes) {
            if (tile_at(t).tensor != x.tensor || !(tile_at(t).region == x.region)) {
                continue;
            }
            bool known = false;
            for (auto& [other, n] : count) {
                if (other == f) {
                    ++n;
                    known = true;
                }
            }
            if (!known) {
                count.push_back({f, 1});
            }
        }
        int best = format::plain;
        int most = 0;
        for (const auto& [f, n] : count) {
            if (n > most || (n == most && f == format::plain)) {
                best = f;
                most = n;
            }
        }
        return best;
    }

    void set_size(int t) {
        tile& x = tile_at(t);
        x.bytes = table_.bytes(x.format, x.region.extents(), x.type);
        x.elements = x.bytes / bytes_of(x.type);
    }

    // ---- rewriting ---------------------------------------------------------------------------------------------------

    void rewrite() {
        std::vector<task> old = static_cast<std::vector<task>&&>(p_.tasks);
        p_.tasks.clear();
        for (std::size_t i = 0; i < old.size(); ++i) {
            task t = static_cast<task&&>(old[i]);
            switch (t.kind) {
            case task_kind::compute:
                rewrite_compute(t, chosen_[i]);
                break;
            case task_kind::copy:
                rewrite_copy(t);
                break;
            case task_kind::reduce:
            case task_kind::update:
                rewrite_update(t);
                break;
            case task_kind::reorder:
                break;
            }
            p_.tasks.push_back(static_cast<task&&>(t));
        }
    }

    int add_tile(const tile& like, int f) {
        tile x = like;
        x.alias = -1;
        x.keep = false;
        x.offset = -1;
        x.format = f;
        x.kind = x.kind == tile_kind::parameter ? tile_kind::activation : x.kind;
        p_.tiles.push_back(x);
        set_size(static_cast<int>(p_.tiles.size()) - 1);
        return static_cast<int>(p_.tiles.size()) - 1;
    }

    int add_scratch(int device, index_t bytes) {
        tile x;
        x.kind = tile_kind::scratch;
        x.device = device;
        x.region = whole(make_shape((bytes + 3) / 4));
        x.elements = (bytes + 3) / 4;
        x.bytes = bytes;
        p_.tiles.push_back(x);
        return static_cast<int>(p_.tiles.size()) - 1;
    }

    struct converted {
        int from = 0, format = 0, to = 0;
    };

    /// The tile that holds the same elements in format `f`, which a reorder task before the one at hand makes if need be.
    int as(int t, int f) {
        const int alias = tile_at(t).alias;
        if (alias < 0 && tile_at(t).format == f) {
            return t;
        }
        for (const converted& c : converted_) {
            if (c.from == t && c.format == f) {
                return c.to;
            }
        }
        int made = -1;
        if (alias < 0) {
            made = reorder(t, f);
        } else {
            // Only these formats keep their order of elements when indices are renamed.
            const bool survives =
                tile_at(alias).region == tile_at(t).region || f == format::plain || f == format::samples16;
            made = alias_of(t, as(alias, survives ? f : format::plain));
            if (!survives) {
                made = reorder(made, f);
            }
        }
        converted_.push_back({t, f, made});
        return made;
    }

    /// The alias `t`, or one like it, on the tile `base`.
    int alias_of(int t, int base) {
        if (tile_at(t).alias != base) {
            const tile like = tile_at(t);
            p_.tiles.push_back(like);
            t = static_cast<int>(p_.tiles.size()) - 1;
            tile_at(t).alias = base;
            tile_at(t).keep = false;
        }
        tile_at(t).format = tile_at(base).format;
        tile_at(t).bytes = tile_at(base).bytes;
        tile_at(t).elements = tile_at(base).elements;
        return t;
    }

    int reorder(int t, int f) {
        const int to = add_tile(tile_at(t), f);
        task r;
        r.kind = task_kind::reorder;
        r.device = tile_at(t).device;
        r.op = -1;
        r.reads = {t};
        r.writes = {to};
        const index_t bytes = reorder_scratch(tile_at(t), tile_at(to));
        r.scratch = bytes > 0 ? add_scratch(r.device, bytes) : -1;
        p_.tasks.push_back(static_cast<task&&>(r));
        return to;
    }

    index_t reorder_scratch(const tile& a, const tile& b) const {
        const shape s = a.region.extents();
        if (a.format == format::samples16 || b.format == format::samples16) {
            // Through plain, unless that is the other one.
            const int other = a.format == format::samples16 ? b.format : a.format;
            return other == format::plain ? 0 : s.volume() * 4;
        }
        return reorder_job::scratch_bytes(desc_as(table_, a.format, b.format, s),
                                          desc_as(table_, b.format, a.format, s));
    }

    void rewrite_compute(task& t, const candidate& k) {
        t.implementation = static_cast<int>(k.engine);
        std::vector<int> reads;
        std::vector<int> writes;
        const auto is_written = [&](int which) {
            return std::find(t.writes.begin(), t.writes.end(), which) != t.writes.end();
        };
        const bool fixed = t.what == pass::update;
        for (int o = 0; o < max_operands; ++o) {
            for (const bool gradient : {false, true}) {
                int& x = gradient ? t.gradient[o] : t.value[o];
                if (x < 0) {
                    continue;
                }
                const int f = fixed ? format::plain : gradient ? k.gradient[o] : k.value[o];
                if (!gradient && has(k.unused, o)) {
                    x = -1;
                } else if (is_written(x)) {
                    if (tile_at(x).kind != tile_kind::parameter) {
                        tile_at(x).format = f < 0 ? format::plain : f;
                        set_size(x);
                    }
                    writes.push_back(x);
                } else {
                    x = as(x, f < 0 ? format::plain : f);
                    reads.push_back(x);
                }
            }
        }
        if (fixed) {
            reads.push_back(t.running);
        }
        t.reads = static_cast<std::vector<int>&&>(reads);
        t.writes = static_cast<std::vector<int>&&>(writes);
        if (k.scratch > 0) {
            t.scratch = add_scratch(t.device, k.scratch);
        }
        if (k.workspace > 0) {
            bind_workspace(t, k.workspace);
        }
    }

    void bind_workspace(task& t, index_t bytes) {
        if (is_forward(t.what)) {
            t.workspace = add_scratch(t.device, bytes);
            t.writes.push_back(t.workspace);
            workspaces_.push_back({{t.op, t.shard_number}, t.workspace});
            return;
        }
        for (const auto& [key, which] : workspaces_) {
            if (key.first == t.op && key.second == t.shard_number) {
                t.workspace = which;
            }
        }
        t.reads.push_back(t.workspace);
    }

    /// A copy of whole tiles keeps their format; one of parts works on plain tiles.
    void rewrite_copy(task& t) {
        tile& target = tile_at(t.writes[0]);
        bool alike = !t.clear && !t.segments.empty();
        for (const copy_segment& s : t.segments) {
            alike = alike && s.region == target.region && tile_at(s.source).region == s.region &&
                    tile_at(s.source).device >= 0;
        }
        const int f = alike ? tile_at(p_.root(t.segments[0].source)).format : format::plain;
        const bool shaped = alike && !(tile_at(p_.root(t.segments[0].source)).region == target.region);
        target.format = shaped ? format::plain : f;
        const int wanted = target.format;
        set_size(t.writes[0]);
        for (copy_segment& s : t.segments) {
            s.source = tile_at(s.source).device < 0 ? s.source : as(s.source, wanted);
        }
        t.reads.clear();
        for (const copy_segment& s : t.segments) {
            t.reads.push_back(s.source);
        }
    }

    void rewrite_update(task& t) {
        const int first = t.writes[0];
        if (t.kind == task_kind::reduce) {
            tile_at(first).format = t.counted_elsewhere.empty() ? parameter_format(tile_at(first)) : format::plain;
            set_size(first);
        }
        const int f = tile_at(first).format;
        for (int& r : t.reads) {
            if (tile_at(r).kind != tile_kind::scalar) {
                r = as(r, f);
            }
        }
        if (t.state >= 0) {
            tile& s = tile_at(t.state);
            const index_t states = s.bytes / 4 / (s.elements > 0 ? s.elements : 1);
            s.elements = even_part(tile_at(first).elements, t.slices, t.slice).size();
            s.bytes = s.elements * 4 * (states > 0 ? states : 1);
        }
    }

    int parameter_format(const tile& sum) {
        for (const tile& x : p_.tiles) {
            if (x.kind == tile_kind::parameter && x.tensor == sum.tensor && x.region == sum.region &&
                x.device == sum.device) {
                return x.format;
            }
        }
        return format::plain;
    }

    Plan& p_;
    const graph_view& g_;
    const parameter_store* store_;
    catalog& catalog_;
    format_table& table_;
    tuning how_;
    std::uint64_t seed_;
    std::vector<description> descriptions_;
    std::vector<group> groups_;
    std::vector<std::vector<double>> costs_;
    std::vector<link_of> links_;
    std::vector<candidate> chosen_;
    std::vector<converted> converted_;
    std::vector<std::pair<std::pair<int, int>, int>> workspaces_;
};

} // namespace detail

} // namespace tessera::host
