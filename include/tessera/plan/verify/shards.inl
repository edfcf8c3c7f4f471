// SPDX-License-Identifier: Apache-2.0
// Bodies of shards.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/shards.hpp"

namespace tessera::detail {

TESSERA_INLINE bool fill_grid(std::vector<cell>& cells, const cell& all) {
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    if (cells.empty()) {
        return false;
    }
    std::size_t combinations = 1;
    std::vector<interval> cuts;
    for (int i = 0; i < all.axes; ++i) {
        cuts.clear();
        for (const cell& c : cells) {
            if (cuts.empty() || !(cuts.back() == c.at[i])) {
                cuts.push_back(c.at[i]);
            }
        }
        std::sort(cuts.begin(), cuts.end(), [](const interval& a, const interval& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
        });
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        index_t end = all.at[i].begin;
        for (const interval& x : cuts) {
            if (x.begin != end || x.empty()) {
                return false;
            }
            end = x.end;
        }
        if (end != all.at[i].end) {
            return false;
        }
        combinations *= cuts.size();
    }
    return combinations == cells.size(); // which are all different
}

/// Everything is computed once: see the parts of it.
TESSERA_INLINE bool verifier::shards() {
    for (int op = 0; op < g_.op_count; ++op) {
        if (!aliases_fill(op)) {
            return false;
        }
        std::vector<int>& own = tasks_of_[to_size(op)];
        std::sort(own.begin(), own.end(), [this](int a, int b) {
            const std::uint64_t x = group_of(p_.tasks[to_size(a)]);
            const std::uint64_t y = group_of(p_.tasks[to_size(b)]);
            return x != y ? x < y : a < b;
        });
        if (!g_.facts(op).view && !groups_fill(op)) {
            return false;
        }
    }
    return pieces_are_apart();
}

/// A step's micro-batch, and whether it goes forward, forward again or backward.
TESSERA_INLINE std::uint64_t verifier::group_of(const task& t) const {
    const std::uint64_t way = is_backward(t.what) ? 2 : t.what == pass::recompute ? 1 : 0;
    return (static_cast<std::uint64_t>(t.step) * static_cast<std::uint64_t>(p_.micro_batches) +
            static_cast<std::uint64_t>(t.micro_batch)) *
               4 +
           way;
}

/// In every micro-batch with samples of every step, forward fills the operator's loops, and backward what gets a
/// gradient.
TESSERA_INLINE bool verifier::groups_fill(int op) {
    const std::vector<int>& own = tasks_of_[to_size(op)];
    std::size_t i = 0;
    for (int step = 0; step < p_.steps_per_plan; ++step) {
        for (int m = 0; m < p_.micro_batches; ++m) {
            task_range ways[3];
            for (std::uint64_t way = 0; way < 3; ++way) {
                ways[way].begin = i;
                const auto here = [&](std::size_t k) {
                    const task& t = p_.tasks[to_size(own[k])];
                    return t.step == step && t.micro_batch == m && group_of(t) % 4 == way;
                };
                while (i < own.size() && here(i)) {
                    ++i;
                }
                ways[way].end = i;
            }
            const bool empty = samples_of(m).empty();
            if (!turns_fill(op, ways[0]) || !turns_fill(op, ways[1])) {
                return false;
            }
            if (!empty && (!forward_fills(op, m, ways[0], false) || !forward_fills(op, m, ways[1], true) ||
                           !repeats_forward(op, ways[0], ways[1]) || !backward_fills(op, ways[0], ways[2]))) {
                return false;
            }
        }
    }
    return true;
}

/// `again`: where there is nothing, nothing is computed again.
TESSERA_INLINE bool verifier::forward_fills(int op, int micro_batch, const task_range& range, bool again) {
    const description& d = desc(op);
    const std::vector<int>& own = tasks_of_[to_size(op)];
    if (range.begin == range.end) {
        return again || refuse(nullptr, "the output of operator " + path_of(g_, op) + " is never produced");
    }
    const bool has_state = d.has_running_state();
    const int last = d.nests.size() - 1;
    const bool with_running = has_state && p_.kind == run_kind::evaluation;
    int parts = 1; // of partial inputs
    for (const int x : g_.ops[op].inputs) {
        parts = std::max(parts, part_count_of(x, p_.tasks[to_size(own[range.begin])].step, micro_batch));
    }
    for (int k = with_running || (again && has_state && is_joint(op)) ? last : 0; k <= last; ++k) {
        std::vector<cell> cells;
        cell all;
        bool passes = false;
        std::vector<std::size_t> blind; // which of them see nothing of any input: nothing but the zeros around it
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const task& t = p_.tasks[to_size(own[i])];
            if (k < t.compute().first_nest || k > t.compute().last_nest) {
                continue;
            }
            cells.push_back(cell_of(t, k));
            int part = -1;
            part_read(t, part);
            passes = passes || part >= 0;
            const int written = t.compute().value[d.output()];
            if (part < 0 && written >= 0 && sees_nothing(t)) {
                part = p_.tiles[to_size(written)].summand % parts;
                blind.push_back(cells.size() - 1);
            }
            cells.back().at[cells.back().axes++] = {part, part + 1};
        }
        for (const std::size_t i : blind) { // where the others pass parts on, they make one of them, too
            cells[i].at[cells[i].axes - 1] = passes ? cells[i].at[cells[i].axes - 1] : interval{-1, 0};
        }
        for (int l = 0; l < d.loops.size(); ++l) {
            if (has(d.nests[k].loops, l)) {
                all.at[all.axes++] =
                    l == d.find_loop(loop_name::sample) ? samples_of(micro_batch) : interval{0, d.loops[l].extent};
            }
        }
        all.at[all.axes++] = passes ? interval{0, parts} : interval{-1, 0};
        if (!fill_grid(cells, all)) {
            return refuse(&p_.tasks[to_size(own[range.begin])],
                          "elements of the output are missing or produced a different number of times");
        }
    }
    return true;
}

/// What is computed again is what each shard has computed, on the same device: the same sums in the same order. (That
/// its parameters are those of its step is checked with all readers': verify/results.inl.)
TESSERA_INLINE bool verifier::repeats_forward(int op, const task_range& forward, const task_range& again) {
    const std::vector<int>& own = tasks_of_[to_size(op)];
    const std::size_t n = forward.end - forward.begin;
    for (std::size_t i = again.begin; i < again.end; ++i) {
        const task& t = p_.tasks[to_size(own[i])];
        for (int k = t.compute().first_nest; k <= t.compute().last_nest; ++k) {
            bool found = false;
            for (std::size_t j = 0; j < n && !found; ++j) { // both are in one order, as a rule
                const task& first = p_.tasks[to_size(own[forward.begin + (i - again.begin + j) % n])];
                found = first.shard_number == t.shard_number && first.device == t.device &&
                        k >= first.compute().first_nest && k <= first.compute().last_nest &&
                        cell_of(first, k) == cell_of(t, k) && first.compute().turn == t.compute().turn &&
                        (t.compute().turn < 0 || is_equal(first.compute().ranges, t.compute().ranges));
            }
            if (!found) {
                return refuse(&t, "a shard computes again what it has not computed");
            }
        }
    }
    return true;
}

TESSERA_INLINE bool verifier::sees_nothing(const task& t) const {
    const description& d = desc(t.op);
    bool nothing = true;
    for (int o = 0; o < d.operands.size(); ++o) {
        nothing = nothing && (d.operands[o].kind != operand_kind::input || t.compute().value[o] < 0 ||
                              p_.tiles[to_size(t.compute().value[o])].region.empty());
    }
    return nothing;
}

/// `turn`: of a turn in a ring, with its own keys.
TESSERA_INLINE cell verifier::cell_of(const task& t, int k, bool turn) const {
    const description& d = desc(t.op);
    cell c;
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(d.nests[k].loops, l)) {
            c.at[c.axes++] = turn ? t.compute().ranges[l] : range_in(t, l);
        }
    }
    return c;
}

/// The range of a loop: of what takes turns in a ring all keys, which it goes through piece by piece.
TESSERA_INLINE interval verifier::range_in(const task& t, int l) const {
    const loop& x = desc(t.op).loops[l];
    return t.compute().turn >= 0 && x.name == loop_name::key_position ? interval{0, x.extent} : t.compute().ranges[l];
}

/// The turns of each shard in a ring go through all keys that it sees, each once, and add to one tile of each operand.
TESSERA_INLINE bool verifier::turns_fill(int op, const task_range& range) {
    const std::vector<int>& own = tasks_of_[to_size(op)];
    const description& d = desc(op);
    const int keys = d.find_loop(loop_name::key_position);
    struct turns {
        const task* first = nullptr;
        index_t seen = 0;
        std::vector<interval> keys;
    };
    const auto points = [&](const interval* ranges) {
        return d.seen.row >= 0 ? points_of(d.seen, ranges) : ranges[keys].size();
    };
    std::vector<turns> all;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        const task& t = p_.tasks[to_size(own[i])];
        if (t.compute().turn < 0) {
            continue;
        }
        const int made = t.compute().value[d.output()];
        auto of = std::find_if(all.begin(), all.end(),
                               [&](const turns& x) { return x.first->compute().value[d.output()] == made; });
        if (of == all.end()) {
            of = all.insert(all.end(), {&t, 0, {}});
        }
        bool one = t.shard_number == of->first->shard_number && t.what == of->first->what &&
                   t.compute().turn == static_cast<int>(of->keys.size());
        for (int l = 0; l < d.loops.size(); ++l) {
            one = one && (l == keys || t.compute().ranges[l] == of->first->compute().ranges[l]);
        }
        for (const nest& n : d.nests) {
            one = one && t.compute().value[n.write] == of->first->compute().value[n.write];
        }
        for (const interval& x : of->keys) {
            one = one && intersect(x, t.compute().ranges[keys]).empty();
        }
        if (!one) {
            return refuse(&t, "a turn in a ring repeats keys, comes out of order, or adds to another shard's results");
        }
        of->keys.push_back(t.compute().ranges[keys]);
        of->seen += points(t.compute().ranges);
    }
    for (const turns& x : all) {
        interval whole[max_loops];
        for (int l = 0; l < d.loops.size(); ++l) {
            whole[l] = range_in(*x.first, l);
        }
        if (x.seen != points(whole)) {
            return refuse(x.first, "a shard's turns in a ring leave out keys that it sees");
        }
    }
    return true;
}

/// Of how many parts a tensor is the sum, in a micro-batch of a step.
TESSERA_INLINE int verifier::part_count_of(int tensor, int step, int micro_batch) const {
    tile x;
    x.kind = tile_kind::activation;
    x.tensor = tensor;
    x.micro_batch = micro_batch;
    x.step = step;
    const piece_range all = pieces_of(piece_key(x));
    return all.begin == all.end ? 1 : all.largest_part + 1;
}

/// Every operand that gets a gradient has it from each of the operator's shards that touch it.
TESSERA_INLINE bool verifier::backward_fills(int op, const task_range& forward, const task_range& backward) {
    const std::vector<int>& own = tasks_of_[to_size(op)];
    const description& d = desc(op);
    const bool passes_on = d.facts.passes_gradient && !d.facts.view;
    if (has_gradient_[to_size(op)] == 0 || passes_on) {
        return backward.begin == backward.end ||
               refuse(&p_.tasks[to_size(own[backward.begin])], "an operator goes backward that no gradient reaches");
    }
    std::vector<std::uint64_t> wanted;
    std::vector<std::uint64_t> made;
    const auto once = [](std::vector<std::uint64_t>& list) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    for (int o = 0; o < d.operands.size(); ++o) {
        const int k = gradient_nest(d, o);
        if (k < 0 || !is_wanted(op, o)) {
            continue;
        }
        wanted.clear();
        made.clear();
        const bool weights = d.operands[o].kind != operand_kind::input;
        for (std::size_t i = forward.begin; i < forward.end; ++i) {
            const task& t = p_.tasks[to_size(own[i])];
            if (has(emitted(op, k, weights, t.compute().ranges), o)) {
                wanted.push_back(cell_of(t, k, !weights).hash()); // gradients of inputs come turn by turn, too
            }
        }
        for (std::size_t i = backward.begin; i < backward.end; ++i) {
            const task& t = p_.tasks[to_size(own[i])];
            if (has(t.compute().emits, o)) {
                made.push_back(cell_of(t, k).hash());
            }
        }
        once(wanted);
        once(made);
        const bool inside =
            d.operands[o].kind == operand_kind::intermediate && made.empty() &&
            p_.tasks[to_size(own[forward.begin])].compute().implementation != 0; // one task makes all gradients
        if (wanted != made && !inside) {
            const task& any = p_.tasks[to_size(own[made.empty() ? forward.begin : backward.begin])];
            return refuse(&any, "a gradient lacks the contribution of a shard, or has one of none");
        }
    }
    return true;
}

/// Copies of a piece are of one shard, and pieces of different shards have different numbers or regions.
TESSERA_INLINE bool verifier::pieces_are_apart() {
    std::vector<const made_piece*> order;
    for (const piece_range& h : heads_) {
        order.clear();
        for (std::size_t i = h.begin; i < h.end; ++i) {
            order.push_back(&pieces_[i]);
        }
        if (order.size() == 1) {
            continue;
        }
        const tile& any = p_.tiles[to_size(order[0]->tile)];
        const bool is_gradient = any.kind == tile_kind::gradient || any.kind == tile_kind::intermediate_gradient;
        const auto tile_of = [this](const made_piece* x) -> const tile& { return p_.tiles[to_size(x->tile)]; };
        const auto place = [&](const made_piece* x) { // parts of gradients have one region each
            return is_gradient ? std::uint64_t{0} : number_of(tile_of(x).region, 0);
        };
        const made_piece* wrong = nullptr;
        const auto compare = [&](auto less, auto wrong_pair) {
            std::sort(order.begin(), order.end(), less);
            for (std::size_t i = 1; i < order.size(); ++i) {
                wrong = wrong == nullptr && wrong_pair(order[i - 1], order[i]) ? order[i] : wrong;
            }
        };
        compare([](const made_piece* a, const made_piece* b) { return a->source < b->source; },
                [&](const made_piece* a, const made_piece* b) { // of one shard: copies
                    return a->source == b->source && a->operand >= 0 &&
                           (tile_of(a).summand != tile_of(b).summand || !(tile_of(a).region == tile_of(b).region));
                });
        compare(
            [&](const made_piece* a, const made_piece* b) {
                return tile_of(a).summand != tile_of(b).summand ? tile_of(a).summand < tile_of(b).summand
                                                                : place(a) < place(b);
            },
            [&](const made_piece* a, const made_piece* b) { // of one number: of one shard, or names of one thing
                const bool one = a->source == b->source && a->op == b->op && a->operand == b->operand &&
                                 (!is_gradient || tile_of(a).region == tile_of(b).region);
                return tile_of(a).summand == tile_of(b).summand && place(a) == place(b) && !one;
            });
        if (wrong != nullptr) {
            return refuse(nullptr, "tile " + std::to_string(wrong->tile) +
                                       " is numbered as a part that another shard makes, or its copies have other "
                                       "numbers");
        }
    }
    return true;
}

/// What an operator passes on under another name, its input forward or its gradient backward, is all of it.
TESSERA_INLINE bool verifier::aliases_fill(int op) {
    const op_facts& facts = g_.facts(op);
    const bool renames = facts.view;
    if (!renames && !facts.passes_gradient) {
        return true;
    }
    for (int step = 0; step < p_.steps_per_plan; ++step) {
        for (int m = 0; m < p_.micro_batches; ++m) {
            if (samples_of(m).empty()) {
                continue;
            }
            tile x;
            x.step = step;
            x.micro_batch = m;
            x.kind = tile_kind::activation;
            x.tensor = g_.ops[op].output;
            if (renames && !names_fill(op, x, 1)) {
                return refuse(nullptr, "the output of operator " + path_of(g_, op) + " is not all of its input");
            }
            x.kind = tile_kind::gradient;
            for (int k = 0; k < g_.ops[op].inputs.size() && has_gradient_[to_size(op)] != 0; ++k) {
                x.tensor = g_.ops[op].inputs[k];
                const auto& in = g_.ops[op].inputs;
                const auto times = static_cast<int>(std::count(in.begin(), in.end(), x.tensor));
                if (needs_gradient_[to_size(x.tensor)] != 0 && !names_fill(op, x, times)) {
                    return refuse(nullptr, "operator " + path_of(g_, op) + " does not pass all of its gradient on");
                }
            }
        }
    }
    return true;
}

/// True where the tiles of what `of` says that are other names for what `op` reads or writes cover it, each element by
/// `times` parts (or, forward, by every part of its input).
TESSERA_INLINE bool verifier::names_fill(int op, const tile& of, int times) const {
    const piece_range all = pieces_of(piece_key(of));
    std::vector<cell> cells;
    std::vector<std::pair<std::uint64_t, int>> parts; // of every region
    for (std::size_t i = all.begin; i < all.end; ++i) {
        const tile& x = p_.tiles[to_size(pieces_[i].tile)];
        if (pieces_[i].operand >= 0 || (of.kind == tile_kind::gradient && pieces_[i].op != op)) {
            continue;
        }
        cell c;
        for (int d = 0; d < x.region.rank; ++d) {
            c.at[c.axes++] = x.region.dim[d];
        }
        cells.push_back(c);
        parts.emplace_back(c.hash(), x.summand);
    }
    cell whole_one;
    const shape& extents = g_.tensors[of.tensor].extents;
    for (int d = 0; d < extents.rank; ++d) {
        whole_one.at[whole_one.axes++] = d == 0 ? samples_of(of.micro_batch) : interval{0, extents[d]};
    }
    if (!fill_grid(cells, whole_one)) {
        return false;
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (of.kind == tile_kind::activation) {
        times = all.largest_part > 0 ? part_count_of(g_.ops[op].inputs[0], of.step, of.micro_batch) : 1;
    }
    return parts.size() == cells.size() * to_size(times) && each_has(parts, times);
}

TESSERA_INLINE bool verifier::each_has(const std::vector<std::pair<std::uint64_t, int>>& parts, int times) {
    for (std::size_t i = 0; i < parts.size(); i += to_size(times)) {
        if (parts[i].first != parts[i + to_size(times) - 1].first) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
