// SPDX-License-Identifier: Apache-2.0
// A plan is verified before it runs. Nothing here trusts lowering: the rules are checked on the finished plan.
#pragma once

#include "tessera/plan/access.hpp"

#include <algorithm>
#include <string>

namespace tessera {

/// What is wrong with a plan; empty text means nothing.
struct verdict {
    std::string text;
    explicit operator bool() const { return !text.empty(); }
};

namespace detail {

// A template only so that what it uses is compiled where a plan is made, not wherever the header is included.
template <class Plan>
class verifier {
public:
    verifier(const graph_view& g, const Plan& p) : g_(g), p_(p) {}

    verdict run(index_t device_memory) {
        const bool sound = structure() && parts() && deadlock() && races() && arena() && coverage() && updates() &&
                           collectives() && fits(device_memory);
        return {sound ? std::string() : text_};
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    bool refuse(const task* t, const std::string& what) {
        text_ = "tessera: the plan is refused: " + what;
        if (t != nullptr) {
            text_ += " [operator ";
            text_ += t->op >= 0 ? g_.ops[t->op].name : std::string_view("-");
            text_ += ", " + std::string(to_text(t->kind)) + " " + to_text(t->what) + ", shard " +
                     std::to_string(t->shard_number) + ", device " + std::to_string(t->device) + "]";
        }
        return false;
    }

    /// Every index is one; every task is in its device's list once; every segment lies in its source and its target.
    bool structure() {
        std::vector<int> seen(p_.tasks.size(), 0);
        for (std::size_t d = 0; d < p_.order.size(); ++d) {
            for (std::size_t i = 0; i < p_.order[d].size(); ++i) {
                const int t = p_.order[d][i];
                if (t < 0 || at(t) >= p_.tasks.size() || p_.tasks[at(t)].device != static_cast<int>(d) ||
                    p_.tasks[at(t)].position != static_cast<int>(i)) {
                    return refuse(nullptr,
                                  "the list of device " + std::to_string(d) + " names a task that is not its own");
                }
                ++seen[at(t)];
            }
        }
        for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
            const task& t = p_.tasks[i];
            if (seen[i] != 1) {
                return refuse(&t, "a task is not in its device's list exactly once");
            }
            for (const std::vector<int>* list : {&t.reads, &t.writes}) {
                for (int k : *list) {
                    if (k < 0 || at(k) >= p_.tiles.size()) {
                        return refuse(&t, "a task touches a tile that does not exist");
                    }
                }
            }
            for (int k : t.writes) {
                const bool pushes = t.kind == task_kind::update && t.slices > 1;
                if (p_.tiles[at(k)].device != t.device && !pushes) {
                    return refuse(&t, "a task writes to another device's memory");
                }
            }
            for (int k : t.kind == task_kind::compute ? t.reads : std::vector<int>{}) {
                if (p_.tiles[at(k)].device != t.device) {
                    return refuse(&t, "a computation reads another device's memory; a copy is missing");
                }
            }
            if (t.kind == task_kind::copy && !copy_is_complete(t)) {
                return false;
            }
        }
        return true;
    }

    /// A copy covers its target: every element is overwritten exactly once before others are added, or cleared first.
    bool copy_is_complete(const task& t) {
        const box& target = p_.tiles[at(t.writes.at(0))].region;
        index_t overwritten = 0;
        for (std::size_t i = 0; i < t.segments.size(); ++i) {
            const copy_segment& s = t.segments[i];
            const bool listed = std::find(t.reads.begin(), t.reads.end(), s.source) != t.reads.end();
            if (!listed || !p_.tiles[at(s.source)].region.contains(s.region) || !target.contains(s.region)) {
                return refuse(&t, "a copy reads a region that its source does not have");
            }
            overwritten += s.overwrite ? s.region.volume() : 0;
            for (std::size_t j = 0; j < i; ++j) {
                if (s.overwrite && t.segments[j].overwrite && !intersect(s.region, t.segments[j].region).empty()) {
                    return refuse(&t, "a copy writes an element twice");
                }
            }
        }
        if (t.clear ? overwritten != 0 : overwritten != target.volume()) {
            return refuse(&t, "a copy leaves elements of its target unwritten");
        }
        return true;
    }

    /// Every sum has every part once: a copy adds each part of its tensor at each element of its target, an update or a reduction each
    /// contribution to its parameter.
    bool parts() {
        std::vector<char> gathered(p_.tiles.size(), 0); // or the same elements in another format
        for (const task& t : p_.tasks) {
            for (int w : t.kind == task_kind::copy || t.kind == task_kind::reorder ? t.writes : std::vector<int>{}) {
                gathered[at(w)] = 1;
            }
        }
        std::vector<std::pair<index_t, int>> pieces; // by tensor
        for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
            if (p_.tiles[i].part >= 0 && gathered[i] == 0) {
                pieces.push_back({tensor_key(p_.tiles[i]), static_cast<int>(i)});
            }
        }
        std::sort(pieces.begin(), pieces.end());
        const auto pieces_of = [&](const tile& x) {
            const index_t key = tensor_key(x);
            std::vector<const tile*> result; // of equal regions and parts one
            for (auto it = std::lower_bound(pieces.begin(), pieces.end(), std::pair<index_t, int>{key, 0});
                 it != pieces.end() && it->first == key; ++it) {
                const tile& own = p_.tiles[at(it->second)];
                bool again = false;
                for (const tile* other : result) {
                    again = again || (other->part == own.part && other->region == own.region);
                }
                if (!again) {
                    result.push_back(&own);
                }
            }
            return result;
        };
        for (const task& t : p_.tasks) {
            if (t.kind == task_kind::copy) {
                const tile& target = p_.tiles[at(t.writes[0])];
                const std::vector<const tile*> all =
                    pieces_of(t.segments.empty() ? target : p_.tiles[at(t.segments[0].source)]);
                if (!adds_all(t, target, all)) {
                    return refuse(&t, "a copy does not add every part of its tensor exactly once");
                }
            } else if (t.parameter >= 0 && !t.reads.empty() && p_.tiles[at(t.reads[0])].part >= 0) {
                index_t expected = 0;
                for (const tile* x : pieces_of(p_.tiles[at(t.reads[0])])) {
                    expected += intersect(x->region, p_.tiles[at(t.writes[0])].region).empty() ? 0 : 1;
                }
                std::vector<int> seen;
                for (int r : t.reads) {
                    if (p_.tiles[at(r)].kind != tile_kind::scalar) {
                        seen.push_back(p_.tiles[at(r)].part);
                    }
                }
                std::sort(seen.begin(), seen.end());
                if (static_cast<index_t>(seen.size()) != expected ||
                    std::adjacent_find(seen.begin(), seen.end()) != seen.end()) {
                    return refuse(&t, "a parameter's gradient is not the sum of every contribution exactly once");
                }
            }
        }
        return true;
    }

    static index_t tensor_key(const tile& x) { return static_cast<index_t>(x.kind) * (index_t{1} << 32) + x.tensor; }

    /// A tile, or the one that it repeats.
    const tile& origin_of(int t) const {
        const int origin = p_.tiles[at(t)].origin;
        return p_.tiles[at(origin >= 0 ? origin : t)];
    }

    bool adds_all(const task& t, const tile& target, const std::vector<const tile*>& pieces) const {
        for (const tile* x : pieces) {
            index_t missing = 0;
            if (target.part < 0 || x->part == target.part) {
                missing = intersect(x->region, target.region).volume();
            }
            for (std::size_t i = 0; i < t.segments.size(); ++i) {
                const copy_segment& s = t.segments[i];
                const tile& source = origin_of(s.source);
                missing -= source.part == x->part && source.region == x->region ? s.region.volume() : 0;
                for (std::size_t j = 0; j < i; ++j) {
                    const tile& other = origin_of(t.segments[j].source);
                    if (other.part == source.part && !intersect(t.segments[j].region, s.region).empty()) {
                        return false;
                    }
                }
            }
            if (missing != 0) {
                return false;
            }
        }
        return true;
    }

    /// Runs the lists with their waits; what happens before what is kept as a vector clock for races().
    bool deadlock() {
        const std::size_t devices = p_.order.size();
        clock_.assign(p_.tasks.size() * devices, 0);
        std::vector<std::size_t> next(devices, 0);
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t d = 0; d < devices; ++d) {
                while (next[d] < p_.order[d].size() && ready(p_.order[d][next[d]], next)) {
                    advance(d, next[d]);
                    ++next[d];
                    moved = true;
                }
            }
        }
        for (std::size_t d = 0; d < devices; ++d) {
            if (next[d] < p_.order[d].size()) {
                return refuse(&p_.tasks[at(p_.order[d][next[d]])],
                              "a deadlock: the task waits for itself through others");
            }
        }
        return true;
    }

    bool ready(int t, const std::vector<std::size_t>& next) const {
        for (const wait_for& w : p_.tasks[at(t)].waits) {
            if (w.device < 0 || at(w.device) >= next.size() || next[at(w.device)] < static_cast<std::size_t>(w.count)) {
                return false;
            }
        }
        return true;
    }

    void advance(std::size_t d, std::size_t position) {
        const std::size_t devices = p_.order.size();
        const int t = p_.order[d][position];
        int* mine = clock_.data() + at(t) * devices;
        const auto join = [&](int other) {
            const int* theirs = clock_.data() + at(other) * devices;
            for (std::size_t k = 0; k < devices; ++k) {
                mine[k] = std::max(mine[k], theirs[k]);
            }
        };
        if (position > 0) {
            join(p_.order[d][position - 1]);
        }
        for (const wait_for& w : p_.tasks[at(t)].waits) {
            if (w.count > 0) {
                join(p_.order[at(w.device)][static_cast<std::size_t>(w.count - 1)]);
            }
        }
        mine[d] = static_cast<int>(position) + 1; // counts the task itself: what follows it knows it is finished
    }

    bool before(int a, int b) const {
        const task& first = p_.tasks[at(a)];
        return clock_[at(b) * p_.order.size() + at(first.device)] > first.position && a != b;
    }

    /// No two tasks touch one element, one of them writing, unless one is known to come first; nothing is read before it is written.
    bool races() {
        std::vector<std::vector<std::pair<int, access>>> all(p_.tiles.size());
        std::vector<access> own;
        for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
            accesses_of(p_, p_.tasks[at(i)], own);
            for (const access& a : own) {
                all[at(a.tile)].push_back({i, a});
            }
        }
        for (std::size_t t = 0; t < all.size(); ++t) {
            const tile& x = p_.tiles[t];
            for (std::size_t i = 0; i < all[t].size(); ++i) {
                const auto& [ti, ai] = all[t][i];
                for (std::size_t j = 0; j < i; ++j) {
                    const auto& [tj, aj] = all[t][j];
                    if (ti != tj && conflict(ai, aj) && !before(tj, ti) && !before(ti, tj)) {
                        return refuse(&p_.tasks[at(ti)],
                                      "a race: another task touches the same tile and neither is first");
                    }
                }
                if (!ai.write && x.device >= 0 && !is_persistent(x.kind) && !is_written_before(all[t], i)) {
                    return refuse(&p_.tasks[at(ti)], "a task reads a tile that nothing has written yet");
                }
            }
        }
        for (std::size_t t = 0; t < all.size(); ++t) {
            index_t written = 0;
            for (const auto& [i, a] : all[t]) {
                written += a.write ? a.elements.size() : 0;
            }
            if (p_.tiles[t].keep && p_.tiles[t].alias < 0 && p_.tiles[t].device >= 0 &&
                written < p_.tiles[t].elements) {
                return refuse(nullptr,
                              "a result on device " + std::to_string(p_.tiles[t].device) + " is never produced");
            }
        }
        history_ = static_cast<decltype(history_)&&>(all);
        return true;
    }

    bool is_written_before(const std::vector<std::pair<int, access>>& all, std::size_t reader) const {
        index_t covered = 0;
        for (std::size_t k = 0; k < all.size(); ++k) {
            if (k != reader && all[k].second.write && before(all[k].first, all[reader].first)) {
                covered += intersect(all[k].second.elements, all[reader].second.elements).size();
            }
        }
        return covered >= all[reader].second.elements.size();
    }

    /// Tiles that share memory are never alive together, and everything that touches the earlier one comes first.
    bool arena() {
        for (std::size_t a = 0; a < p_.tiles.size(); ++a) {
            const tile& x = p_.tiles[a];
            if (x.alias >= 0 || x.offset < 0 || history_[a].empty()) {
                continue;
            }
            for (std::size_t b = 0; b < a; ++b) {
                const tile& y = p_.tiles[b];
                if (y.alias >= 0 || y.offset < 0 || history_[b].empty() || x.device != y.device ||
                    is_persistent(x.kind) != is_persistent(y.kind) || x.offset >= y.offset + y.bytes ||
                    y.offset >= x.offset + x.bytes) {
                    continue;
                }
                if (is_persistent(x.kind) || (!all_before(a, b) && !all_before(b, a))) {
                    return refuse(&p_.tasks[at(history_[a][0].first)],
                                  "two tiles that share memory are alive together");
                }
            }
        }
        return true;
    }

    bool all_before(std::size_t a, std::size_t b) const {
        if (p_.tiles[a].keep) {
            return false;
        }
        for (const auto& [ta, xa] : history_[a]) {
            for (const auto& [tb, xb] : history_[b]) {
                if (!before(ta, tb)) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Every element of every operator's output is produced exactly once for every part and replica.
    bool coverage() {
        for (int op = 0; op < g_.op_count; ++op) {
            const description d = g_.describe(op);
            const int out = d.output();
            const index_t volume = d.operands[out].extents.volume();
            std::vector<std::pair<const task*, box>> made;
            for (const task& t : p_.tasks) {
                const bool forward = t.what == pass::forward || t.what == pass::evaluate;
                if (t.kind == task_kind::compute && t.op == op && forward && t.value[out] >= 0 &&
                    has(written_by(d, t), out)) {
                    made.push_back({&t, region(d, out, t.ranges)});
                }
            }
            if (made.empty() && g_.ops[op].attributes.kind == op_kind::flatten) {
                continue; // it only renames
            }
            if (made.empty()) {
                return refuse(nullptr, "the output of operator " + std::string(g_.ops[op].name) + " is never produced");
            }
            index_t total = 0;
            for (const auto& [t, b] : made) {
                total += b.volume();
                if (!(p_.tiles[at(t->value[out])].region == b)) {
                    return refuse(t, "an operator writes a region that is not its shard's");
                }
            }
            if (total % volume != 0) {
                return refuse(made[0].first,
                              "elements of the output are missing or produced a different number of times");
            }
            const index_t copies = total / volume;
            for (const auto& [t, b] : made) {
                index_t overlap = 0;
                for (const auto& [u, c] : made) {
                    overlap += intersect(b, c).volume();
                }
                if (overlap != copies * b.volume()) {
                    return refuse(t, "elements of the output are produced a different number of times");
                }
            }
        }
        return true;
    }

    static std::uint32_t written_by(const description& d, const task& t) {
        std::uint32_t mask = 0;
        for (int k = t.first_nest; k <= t.last_nest; ++k) {
            mask |= bit(d.nests[k].write);
        }
        return mask;
    }

    /// In training every element of every copy of a parameter to which a gradient flows, and of running statistics, is updated once,
    /// after all that read it.
    bool updates() {
        if (p_.kind != run_kind::training) {
            return true;
        }
        std::vector<char> moves(at(g_.parameter_count), 0);
        for (int i = 0; i < g_.parameter_count; ++i) {
            moves[at(i)] = g_.parameters[i].kind == op_kind::batch_norm && g_.parameters[i].slot == 2 ? 1 : 0;
        }
        for (const tile& t : p_.tiles) {
            if (t.kind == tile_kind::parameter_gradient) {
                moves[at(t.tensor)] = 1;
            }
        }
        for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
            const tile& x = p_.tiles[i];
            if (x.kind != tile_kind::parameter) {
                continue;
            }
            index_t written = 0;
            for (const auto& [writer, a] : history_[i]) {
                written += a.write ? a.elements.size() : 0;
                for (const auto& [reader, b] : history_[i]) {
                    if (a.write && !b.write && !intersect(a.elements, b.elements).empty() && before(writer, reader)) {
                        return refuse(&p_.tasks[at(reader)], "a task reads a parameter that is updated already");
                    }
                }
            }
            if (written != (moves[at(x.tensor)] != 0 ? x.elements : 0)) {
                return refuse(nullptr, "a copy of a parameter of " + std::string(g_.parameters[x.tensor].layer) +
                                           " on device " + std::to_string(x.device) + " is not updated exactly once");
            }
        }
        return true;
    }

    /// The members of an update that writes slices to all copies are complete, and every device meets such groups in the same order.
    bool collectives() {
        std::vector<std::vector<int>> groups;
        std::vector<std::pair<std::vector<int>, int>> seen; // writes, members
        for (const task& t : p_.tasks) {
            if (t.kind != task_kind::update || t.slices == 1) {
                continue;
            }
            std::size_t k = 0;
            while (k < seen.size() && seen[k].first != t.writes) {
                ++k;
            }
            if (k == seen.size()) {
                seen.push_back({t.writes, 0});
            }
            ++seen[k].second;
            if (static_cast<int>(t.writes.size()) != t.slices) {
                return refuse(&t, "a member of a collective writes to fewer copies than there are members");
            }
            for (int w : t.writes) {
                if (p_.tiles[at(w)].elements != p_.tiles[at(t.writes[0])].elements) {
                    return refuse(&t, "the members of a collective have different sizes");
                }
            }
        }
        for (const auto& [tiles, members] : seen) {
            if (members != static_cast<int>(tiles.size())) {
                return refuse(nullptr, "a collective lacks members");
            }
        }
        for (const std::vector<int>& list : p_.order) {
            std::size_t last = 0;
            for (int i : list) {
                const task& t = p_.tasks[at(i)];
                if (t.kind != task_kind::update || t.slices == 1) {
                    continue;
                }
                std::size_t k = 0;
                while (seen[k].first != t.writes) {
                    ++k;
                }
                if (k < last) {
                    return refuse(&t, "two devices issue their collectives in different orders");
                }
                last = k;
            }
        }
        return true;
    }

    bool fits(index_t device_memory) {
        for (std::size_t d = 0; d < p_.arena_bytes.size() && device_memory > 0; ++d) {
            const index_t bytes = p_.arena_bytes[d] + p_.persistent_bytes[d];
            if (bytes > device_memory) {
                return refuse(nullptr, "device " + std::to_string(d) + " needs " + std::to_string(bytes) + " bytes (" +
                                           std::to_string(p_.persistent_bytes[d]) +
                                           " of them for parameters and optimizer state) and has " +
                                           std::to_string(device_memory) + "; split more, or use smaller batches");
            }
        }
        return true;
    }

    const graph_view g_;
    const Plan& p_;
    std::string text_;
    std::vector<int> clock_;
    std::vector<std::vector<std::pair<int, access>>> history_;
};

} // namespace detail

/// Checks a finished plan: every output element is produced once per declared copy; every copy covers its target from sources that have
/// it; no deadlock; no race, neither on tiles nor on arena memory; collectives are complete and issued in one order; and memory
/// fits (`device_memory` bytes for each device; 0: no limit). The verdict names the operator, the shard and the rule.
template <class Plan>
verdict verify(const graph_view& g, const Plan& p, index_t device_memory = 0) {
    return detail::verifier<Plan>(g, p).run(device_memory);
}

/// Throws tessera::error with the verdict on a plan that is not sound.
template <class Plan>
void require_sound(const graph_view& g, const Plan& p, index_t device_memory = 0) {
    if (const verdict v = verify(g, p, device_memory)) {
        throw error(v.text);
    }
}

} // namespace tessera
