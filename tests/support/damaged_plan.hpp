// SPDX-License-Identifier: Apache-2.0
// Random damage to a plan: one number, one entry of a list or one task of it becomes another.
#pragma once

#include "damaged_fields.hpp"
#include "random_strategy.hpp"

#include "tessera/plan/finish.hpp"

#include <algorithm>
#include <string>

namespace test_support {

/// Takes a task out of a plan as if it had never been there: what waits for the tasks behind it counts one less.
inline void lose_task(ts::plan& p, int gone) {
    const int position = p.tasks[ts::to_size(gone)].position;
    const int list = p.list_of(p.tasks[ts::to_size(gone)]);
    p.tasks.erase(p.tasks.begin() + gone);
    p.order[ts::to_size(list)].erase(p.order[ts::to_size(list)].begin() + position);
    for (std::vector<int>& l : p.order) {
        for (std::size_t k = 0; k < l.size(); ++k) {
            l[k] -= l[k] > gone ? 1 : 0;
            p.tasks[ts::to_size(l[k])].position = static_cast<int>(k);
        }
    }
    for (ts::task& x : p.tasks) {
        for (ts::wait_for& w : x.waits) {
            w.count -= w.list == list && w.count > position ? 1 : 0;
        }
        std::erase(x.after, gone);
        for (int& a : x.after) {
            a -= a > gone ? 1 : 0;
        }
    }
}

/// Damages plans; every function returns what it has done, or nothing where the plan, as drawn, does not have it.
class plan_damager {
public:
    plan_damager(ts::plan& p, random& pick) : p_(p), pick_(pick) {}

    std::string one() {
        switch (pick_(15)) {
        case 10:
        case 11:
        case 12:
        case 13:
        case 14:
            return damage_a_field(p_, pick_);
        case 8:
        case 9:
            return ordered_anew(taken_for_another());
        case 0:
        case 1:
            return tile_field();
        case 2:
        case 3:
            return task_field();
        case 4:
            return ordered_anew(operand());
        case 5:
            return ordered_anew(list_entry());
        case 6:
            return order();
        default:
            return of_plan();
        }
    }

private:
    /// Half of the time with the memory and the waits that the damaged plan needs, so that no rule of order is broken
    /// besides.
    std::string ordered_anew(const std::string& what) {
        if (what.empty() || pick_(2) == 0) {
            return what;
        }
        ts::complete(p_);
        return what + ", with memory and waits that fit";
    }

    int tile() { return pick_(static_cast<int>(p_.tiles.size())); }
    /// Often one that is like another.
    int tile_like(int t) {
        if (t < 0 || pick_(3) == 0) {
            return tile();
        }
        std::vector<int> alike;
        const ts::tile& x = p_.tiles[ts::to_size(t)];
        for (int i = 0; i < static_cast<int>(p_.tiles.size()); ++i) {
            const ts::tile& y = p_.tiles[ts::to_size(i)];
            if (i != t && x.kind == y.kind && (x.region == y.region || x.device == y.device)) {
                alike.push_back(i);
            }
        }
        return alike.empty() ? tile() : alike[ts::to_size(pick_(static_cast<int>(alike.size())))];
    }
    template <class T>
    void change(T& x) {
        x = static_cast<T>(x + (pick_(2) == 0 ? 1 : -1) * (pick_(4) == 0 ? 1 + pick_(5) : 1));
    }
    template <class T>
    void change_kind(T& x) {
        const int count = static_cast<int>(last_of(x)) + 1;
        x = static_cast<T>((static_cast<int>(x) + 1 + pick_(count - 1)) % count);
    }
    bool shift(ts::box& b) {
        if (b.rank == 0) {
            return false;
        }
        ts::interval& d = b.dim[pick_(b.rank)];
        pick_(2) == 0 ? change(d.begin) : change(d.end);
        return true;
    }

    std::string tile_field() {
        ts::tile& x = p_.tiles[ts::to_size(tile())];
        const std::string of = std::string(" of a tile of ") + ts::to_text(x.kind);
        switch (pick_(17)) {
        case 0:
            change_kind(x.kind);
            return "kind" + of;
        case 1:
            change(x.tensor);
            return "tensor" + of;
        case 2:
            if (!shift(x.region)) {
                return "";
            }
            if (pick_(2) == 0) { // and what follows from it
                x.elements = x.region.volume();
                x.bytes = x.alias < 0 ? x.elements * ts::bytes_of(x.type) : x.bytes;
            }
            return "region" + of;
        case 3:
            change(x.device);
            return "device" + of;
        case 4:
            change_kind(x.type);
            return "type" + of;
        case 5:
            x.alias = pick_(2) == 0 ? -1 : tile_like(x.alias);
            return "alias" + of;
        case 6:
            x.keep = !x.keep;
            return "keep" + of;
        case 7:
            change(x.summand);
            return "part" + of;
        case 8:
            change(x.micro_batch);
            return "micro_batch" + of;
        case 9:
            change(x.replica);
            return "replica" + of;
        case 10:
            change(x.step);
            return "step" + of;
        case 11:
            change(x.elements);
            return "elements" + of;
        case 12:
            change(x.slice);
            return "slice" + of;
        case 13:
            change(x.slices);
            return "slices" + of;
        case 14:
            x.bytes -= 4;
            return "bytes" + of;
        case 15:
            x.offset = pick_(2) == 0 ? x.offset + 64 * (1 + pick_(3)) : p_.tiles[ts::to_size(tile())].offset;
            return "offset" + of;
        default:
            x.origin = tile();
            return "origin" + of;
        }
    }

    std::string task_field() {
        ts::task& t = p_.tasks[ts::to_size(pick_(static_cast<int>(p_.tasks.size())))];
        const std::string of = std::string(" of a ") + ts::to_text(t.kind());
        const ts::task other = p_.tasks[ts::to_size(pick_(static_cast<int>(p_.tasks.size())))];
        const std::string what = field_damager(p_, pick_).any_field_of(t, other);
        return what.empty() ? "" : what + of;
    }

    /// The tile of a computation's operand, with the task's lists or without.
    std::string operand() {
        ts::task& t = p_.tasks[ts::to_size(pick_(static_cast<int>(p_.tasks.size())))];
        if (t.kind() != ts::task_kind::compute) {
            return "";
        }
        const auto o = ts::to_size(pick_(6));
        int& x = pick_(2) == 0 ? t.mutable_compute().value[o] : t.mutable_compute().gradient[o];
        const int old = x;
        x = pick_(5) == 0 ? -1 : tile_like(old);
        if (old == x) {
            return "";
        }
        const bool lists_too = old >= 0 && x >= 0 && pick_(3) > 0;
        for (std::vector<int>* list : {&t.reads, &t.writes}) {
            for (int& k : *list) {
                k = lists_too && k == old ? x : k;
            }
        }
        return std::string("operand of a ") + ts::to_text(t.kind()) + (lists_too ? ", with its lists" : "");
    }

    std::string list_entry() {
        ts::task& t = p_.tasks[ts::to_size(pick_(static_cast<int>(p_.tasks.size())))];
        const std::string of = std::string(" of a ") + ts::to_text(t.kind());
        const int which_list = pick_(10);
        if (!t.has_params() && (which_list == 9 || (which_list >= 4 && which_list <= 6))) {
            return "";
        }
        switch (which_list) {
        case 9:
            t.mutable_params().state = t.params().state < 0 ? -1 : tile_like(t.params().state);
            return t.params().state < 0 ? "" : "another state" + of;
        case 0:
        case 1:
            return entry(t.reads) ? "reads" + of : "";
        case 2:
        case 3:
            return entry(t.writes) ? "writes" + of : "";
        case 4:
            return entry(t.mutable_params().norms) ? "norms" + of : "";
        case 5:
            if (t.mutable_params().parts.empty()) {
                return "";
            } else {
                ts::task_parameter& x =
                    t.mutable_params().parts[ts::to_size(pick_(static_cast<int>(t.params().parts.size())))];
                const int which = pick_(4);
                if (which == 3) {
                    x.state = tile_like(x.state);
                } else {
                    change(which == 0 ? x.parameter : which == 1 ? x.reads : x.writes);
                }
                return "parts" + of;
            }
        case 6:
            if (t.params().counted_elsewhere.empty()) {
                if (t.params().norms.empty() || t.kind() != ts::task_kind::reduce) {
                    return "";
                }
                t.mutable_params().counted_elsewhere.push_back(p_.tiles[ts::to_size(t.writes[0])].region);
            } else if (pick_(2) == 0) {
                t.mutable_params().counted_elsewhere.pop_back();
            } else {
                shift(t.mutable_params().counted_elsewhere[0]);
            }
            return "counted_elsewhere" + of;
        default:
            break;
        }
        if (t.copy().segments.empty()) {
            return "";
        }
        const auto k = ts::to_size(pick_(static_cast<int>(t.copy().segments.size())));
        ts::copy_segment& s = t.mutable_copy().segments[k];
        switch (pick_(6)) {
        case 0:
            t.mutable_copy().segments.erase(t.copy().segments.begin() + static_cast<std::ptrdiff_t>(k));
            return "a segment lost" + of;
        case 1:
            t.mutable_copy().segments.push_back(ts::copy_segment(s));
            return "a segment twice" + of;
        case 2:
            s.overwrite = !s.overwrite;
            return "a segment's overwrite" + of;
        case 3:
            std::swap(s, t.mutable_copy().segments.back());
            return k + 1 == t.copy().segments.size() ? "" : "two segments swapped" + of;
        case 4: {
            const int old = s.source;
            s.source = tile_like(old);
            for (int& r : t.reads) {
                r = r == old ? s.source : r;
            }
            return "a segment's source" + of;
        }
        default:
            return shift(s.region) ? "a segment's region" + of : "";
        }
    }

    /// What a task names is taken for another that differs in one thing alone: its part, micro-batch, step, tensor,
    /// device or slice.
    std::string taken_for_another() {
        ts::task& t = p_.tasks[ts::to_size(pick_(static_cast<int>(p_.tasks.size())))];
        const std::vector<int>& from = pick_(4) == 0 ? t.writes : t.reads;
        const int old = from.empty() ? t.params().state : from[ts::to_size(pick_(static_cast<int>(from.size())))];
        const std::vector<int> list = old < 0 ? std::vector<int>{} : twins(old);
        if (list.empty()) {
            return "";
        }
        const int other = list[ts::to_size(pick_(static_cast<int>(list.size())))];
        ts::replace_tile(t, old, other);
        return std::string("a ") + ts::to_text(p_.tiles[ts::to_size(old)].kind) + " taken for another by a " +
               ts::to_text(t.kind());
    }

    /// Tiles of the same kind that differ from a tile in at most two things.
    std::vector<int> twins(int t) const {
        std::vector<int> result;
        const ts::tile& x = p_.tiles[ts::to_size(t)];
        for (int i = 0; i < static_cast<int>(p_.tiles.size()); ++i) {
            const ts::tile& y = p_.tiles[ts::to_size(i)];
            const int differ = int{x.summand != y.summand} + int{x.micro_batch != y.micro_batch} +
                               int{x.step != y.step} + int{x.tensor != y.tensor} + int{x.device != y.device} +
                               int{x.replica != y.replica} + int{!(x.region == y.region)} +
                               int{x.slice != y.slice || x.slices != y.slices};
            if (i != t && x.kind == y.kind && x.elements == y.elements && differ < 3) {
                result.push_back(i);
            }
        }
        return result;
    }

    /// One is lost, doubled, replaced or added, or two change places.
    bool entry(std::vector<int>& list) {
        const int n = static_cast<int>(list.size());
        const int how = pick_(5);
        if (how == 4 || n == 0) {
            list.push_back(tile());
            return true;
        }
        const auto k = ts::to_size(pick_(n));
        if (how == 0) {
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
        } else if (how == 1) {
            list.push_back(list[k]);
        } else if (how == 2) {
            list[k] = tile_like(list[k]);
        } else {
            std::swap(list[k], list[ts::to_size(pick_(n))]);
        }
        return true;
    }

    std::string order() {
        const int i = pick_(static_cast<int>(p_.tasks.size()));
        ts::task& t = p_.tasks[ts::to_size(i)];
        std::vector<int>& list = p_.order[ts::to_size(p_.list_of(t))];
        switch (pick_(6)) {
        case 0:
            if (t.waits.empty()) {
                return "";
            }
            t.waits.erase(t.waits.begin() + pick_(static_cast<int>(t.waits.size())));
            return "a wait lost";
        case 1:
            if (t.waits.empty()) {
                return "";
            }
            change(pick_(4) == 0 ? t.waits[0].list : t.waits[0].count);
            return "a wait changed";
        case 2:
            if (t.after.empty()) {
                return "";
            }
            t.after.pop_back();
            return "a wait for a transfer lost";
        case 3: {
            const auto a = ts::to_size(pick_(static_cast<int>(list.size())));
            const auto b =
                pick_(2) == 0 && a + 1 < list.size() ? a + 1 : ts::to_size(pick_(static_cast<int>(list.size())));
            std::swap(list[a], list[b]);
            p_.tasks[ts::to_size(list[a])].position = static_cast<int>(a);
            p_.tasks[ts::to_size(list[b])].position = static_cast<int>(b);
            return "two tasks swapped";
        }
        case 4:
            if (list.size() < 2) {
                return "";
            } else {
                const int other = list[ts::to_size(pick_(static_cast<int>(list.size())))];
                std::swap(p_.tasks[ts::to_size(i)], p_.tasks[ts::to_size(other)]);
                std::swap(p_.tasks[ts::to_size(i)].position, p_.tasks[ts::to_size(other)].position);
                return "two tasks with each other's numbers";
            }
        default:
            lose_task(p_, i);
            return "a task lost";
        }
    }

    std::string of_plan() {
        switch (pick_(13)) {
        case 0:
            change(p_.micro_batches);
            return "micro_batches of the plan";
        case 1:
            change(p_.steps_per_plan);
            return "period of the plan";
        case 2:
            p_.joint_statistics = !p_.joint_statistics;
            return "joint_statistics of the plan";
        case 3:
            p_.replica_statistics = !p_.replica_statistics;
            return "replica_statistics of the plan";
        case 4:
            p_.loss_scale *= 2;
            return "loss_scale of the plan";
        case 5:
            change(pick_(2) == 0 ? p_.states : p_.average_every);
            return "states or average_every of the plan";
        case 6:
            p_.clips = !p_.clips;
            return "clips of the plan";
        case 7: {
            std::vector<ts::index_t>& bytes = pick_(3) == 0 ? p_.persistent_bytes : p_.arena_bytes;
            bytes[ts::to_size(pick_(static_cast<int>(bytes.size())))] -= 64;
            return "bytes of an arena";
        }
        case 8:
            p_.kind = p_.kind == ts::run_kind::training ? ts::run_kind::evaluation : ts::run_kind::training;
            return "kind of the plan";
        case 9:
        case 10:
            return piece(p_.results, "a result");
        case 11:
            return piece(p_.gradients, "a kept gradient");
        default:
            change(p_.output_gradient);
            return "output_gradient of the plan";
        }
    }

    std::string piece(std::vector<ts::result_piece>& list, const char* name) {
        if (list.empty()) {
            return "";
        }
        const auto k = ts::to_size(pick_(static_cast<int>(list.size())));
        ts::result_piece& r = list[k];
        switch (pick_(5)) {
        case 0:
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
            break;
        case 1:
            r.tile = tile_like(r.tile);
            break;
        case 2:
            change(r.summand);
            break;
        case 3:
            change(r.step);
            break;
        default:
            change(r.tensor);
        }
        return name;
    }

    ts::plan& p_;
    random& pick_;
};

/// Once; now and then twice: what one damage lets pass may not be what two do.
inline std::string damage(ts::plan& p, random& pick) {
    std::string what = plan_damager(p, pick).one();
    if (!what.empty() && pick(8) == 0) {
        const std::string more = damage_a_field(p, pick);
        what += more.empty() ? "" : ", and " + more;
    }
    return what;
}

} // namespace test_support
