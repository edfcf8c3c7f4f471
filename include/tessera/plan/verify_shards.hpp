// SPDX-License-Identifier: Apache-2.0
// Checks that an operator's shards make all of it: what they compute fills its loops, each point once, and every piece of a sum has a number of
// its own.
#pragma once

#include "tessera/plan/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// A shard's place in the loops of a nest, with the part of partial inputs that it passes on.
struct cell {
    interval at[max_loops + 1];
    int axes = 0;

    friend bool operator==(const cell& a, const cell& b) {
        for (int i = 0; i < a.axes; ++i) {
            if (!(a.at[i] == b.at[i])) {
                return false;
            }
        }
        return true;
    }
    friend bool operator<(const cell& a, const cell& b) {
        for (int i = 0; i < a.axes; ++i) {
            if (!(a.at[i] == b.at[i])) {
                return a.at[i].begin != b.at[i].begin ? a.at[i].begin < b.at[i].begin : a.at[i].end < b.at[i].end;
            }
        }
        return false;
    }
    std::uint64_t hash() const {
        std::uint64_t h = static_cast<std::uint64_t>(axes);
        for (int i = 0; i < axes; ++i) {
            h = op::mix(h ^ static_cast<std::uint64_t>(at[i].begin));
            h = op::mix(h ^ static_cast<std::uint64_t>(at[i].end));
        }
        return h;
    }
};

/// True where cells, of which some may be copies, are those of a grid over `all`: each axis is cut into intervals without gaps, and every
/// combination of them is there. Leaves each cell once.
inline bool fill_grid(std::vector<cell>& cells, const cell& all) {
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

/// What the checks of shards ask again and again: descriptions, which gradients flow, and the tasks and pieces of every tensor.
template <class Plan>
void verifier<Plan>::prepare() {
    needs_gradient_.assign(at(g_.tensor_count), 0);
    for (int t = 0; t < g_.tensor_count; ++t) {
        needs_gradient_[at(t)] = p_.output_gradient >= 0 && t != p_.output_gradient && g_.tensors[t].producer < 0 &&
                                         g_.tensors[t].type != element::i32
                                     ? 1
                                     : 0;
    }
    for (int op = 0; op < g_.op_count; ++op) {
        const description& d = desc(op);
        reduced_.emplace_back();
        gradients_of_.emplace_back();
        bool needs = false;
        for (const int p : g_.ops[op].parameters) {
            needs = needs || g_.parameters[p].trained;
        }
        for (const operand& x : d.operands) {
            needs = needs || (x.kind == operand_kind::input && x.differentiable &&
                              needs_gradient_[at(g_.ops[op].inputs[x.slot])] != 0);
        }
        needs_gradient_[at(g_.ops[op].output)] = needs ? 1 : 0;
        for (int k = 0; k < d.nests.size(); ++k) {
            std::uint32_t wanted = 0;
            for (int o = 0; o < d.operands.size(); ++o) {
                wanted |= is_wanted(op, o) ? bit(o) : 0;
            }
            reduced_.back().push_back(reduced_loops(d, k));
            gradients_of_.back().push_back(
                {tessera::gradients_of(d, k, true) & wanted, tessera::gradients_of(d, k, false) & wanted});
        }
    }
    has_gradient_.assign(at(g_.op_count), 0);
    std::vector<char> flows(at(g_.tensor_count), 0); // some gradient reaches it
    if (p_.output_gradient >= 0) {
        flows[at(g_.ops[g_.op_count - 1].output)] = 1;
    }
    for (int op = g_.op_count; op-- > 0 && p_.kind == run_kind::training;) {
        const int out = g_.ops[op].output;
        has_gradient_[at(op)] = needs_gradient_[at(out)] != 0 && (flows[at(out)] != 0 || g_.is_loss(op)) ? 1 : 0;
        for (int o = 0; o < desc(op).operands.size() && has_gradient_[at(op)] != 0; ++o) {
            if (desc(op).operands[o].kind == operand_kind::input && is_wanted(op, o)) {
                flows[at(g_.ops[op].inputs[desc(op).operands[o].slot])] = 1;
            }
        }
    }
    tasks_of_.assign(at(g_.op_count), {});
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        const task& t = p_.tasks[at(i)];
        if (t.kind == task_kind::compute && t.what != pass::update) {
            tasks_of_[at(t.op)].push_back(i);
        }
    }
    collect_pieces();
}

/// True for an operand that gets a gradient, if its operator's output has one.
template <class Plan>
bool verifier<Plan>::is_wanted(int op, int o) const {
    const operand& x = desc(op).operands[o];
    switch (x.kind) {
    case operand_kind::input:
        return x.differentiable && needs_gradient_[at(g_.ops[op].inputs[x.slot])] != 0;
    case operand_kind::parameter:
        return g_.parameters[g_.ops[op].parameters[x.slot]].trained;
    case operand_kind::intermediate:
        return x.differentiable;
    default:
        return false;
    }
}

/// Every tile that a computation makes, or that is another name for what another operator has made.
template <class Plan>
void verifier<Plan>::collect_pieces() {
    for (const task& t : p_.tasks) {
        for (int o = 0; o < max_operands && t.kind == task_kind::compute && t.what != pass::update; ++o) {
            const bool emitted = has(t.emits, o) && t.gradient[o] >= 0;
            const int x = is_backward(t.what) ? (emitted ? t.gradient[o] : -1) : t.value[o];
            const bool writes = x >= 0 && (is_backward(t.what) || is_written(t, o));
            if (writes && p_.tiles[at(x)].kind != tile_kind::parameter_gradient) {
                pieces_.push_back({piece_key(p_.tiles[at(x)]), x, source_of(t, o), is_backward(t.what) ? t.op : -1, o});
            }
        }
    }
    for (int i = 0; i < static_cast<int>(p_.tiles.size()); ++i) {
        const tile& x = p_.tiles[at(i)];
        const bool names = x.kind == tile_kind::activation || x.kind == tile_kind::gradient;
        if (names && x.alias >= 0 && x.part >= 0 && x.origin < 0) {
            const int base = renamed(i);
            const int op = base < 0 ? -1 : g_.tensors[p_.tiles[at(base)].tensor].producer;
            if (base >= 0 && x.kind == tile_kind::activation ? renames(x) : base >= 0 && op >= 0) {
                pieces_.push_back({piece_key(x), i, 0, x.kind == tile_kind::gradient ? op : -1, -1});
            }
        }
    }
    std::sort(pieces_.begin(), pieces_.end(), [this](const made_piece& a, const made_piece& b) {
        const index_t x = first_of(a);
        const index_t y = first_of(b);
        return a.key != b.key ? a.key < b.key : x != y ? x < y : a.tile < b.tile;
    });
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const tile& x = p_.tiles[at(pieces_[i].tile)];
        const index_t extent = x.region.rank > 0 ? x.region.dim[0].size() : 1;
        if (heads_.empty() || heads_.back().key != pieces_[i].key) {
            heads_.push_back({pieces_[i].key, i, i, 0, x.part, x.part});
        }
        piece_range& h = heads_.back();
        h.end = i + 1;
        h.longest = std::max(h.longest, extent);
        h.least_part = std::min(h.least_part, x.part);
        h.largest_part = std::max(h.largest_part, x.part);
    }
}

template <class Plan>
bool verifier<Plan>::is_written(const task& t, int o) const {
    for (int k = std::max(t.first_nest, 0); k <= t.last_nest && k < desc(t.op).nests.size(); ++k) {
        if (desc(t.op).nests[k].write == o) {
            return true;
        }
    }
    return false;
}

/// The tile of another tensor that an alias is a name for; -1: of its own tensor.
template <class Plan>
int verifier<Plan>::renamed(int i) const {
    int base = p_.tiles[at(i)].alias;
    while (base >= 0 && p_.tiles[at(base)].tensor == p_.tiles[at(i)].tensor) {
        base = p_.tiles[at(base)].alias;
    }
    return base >= 0 && p_.tiles[at(base)].kind == p_.tiles[at(i)].kind ? base : -1;
}

/// True for the output of a flattening.
template <class Plan>
bool verifier<Plan>::renames(const tile& x) const {
    const int op = g_.tensors[x.tensor].producer;
    return op >= 0 && g_.ops[op].attributes.kind == op_kind::flatten;
}

/// Which summand, and of what, a computation makes: equal for copies of one shard's.
template <class Plan>
std::uint64_t verifier<Plan>::source_of(const task& t, int o) const {
    cell c;
    const description& d = desc(t.op);
    for (int l = 0; l < d.loops.size(); ++l) {
        c.at[c.axes++] = t.ranges[l];
    }
    std::uint64_t h = c.hash();
    int part = -1;
    if (!is_backward(t.what)) { // a linear operator passes the parts of its input on one by one
        for (int i = 0; i < d.operands.size() && d.linear; ++i) {
            const int x = d.operands[i].kind == operand_kind::input ? t.value[i] : -1;
            part = x >= 0 ? std::max(part, p_.tiles[at(x)].part) : part;
        }
        part = std::max(part, 0);
    }
    h = op::mix(h ^ static_cast<std::uint64_t>(part + 1));
    return op::mix(h ^ static_cast<std::uint64_t>((t.micro_batch * max_operands + o) * 65536 + t.op));
}

template <class Plan>
index_t verifier<Plan>::first_of(const made_piece& x) const {
    const box& b = p_.tiles[at(x.tile)].region;
    return b.rank > 0 ? b.dim[0].begin : 0;
}

/// What pieces of one tensor have in common.
template <class Plan>
std::uint64_t verifier<Plan>::piece_key(const tile& x) {
    std::uint64_t h = static_cast<std::uint64_t>(x.kind) + 16U * static_cast<std::uint64_t>(x.tensor + 1);
    h = op::mix(h ^ (static_cast<std::uint64_t>(x.micro_batch + 1) << 20U));
    return op::mix(h ^ static_cast<std::uint64_t>(x.step) ^ (static_cast<std::uint64_t>(x.replica) << 20U));
}

template <class Plan>
typename verifier<Plan>::piece_range verifier<Plan>::pieces_of(std::uint64_t key) const {
    const auto found = std::lower_bound(heads_.begin(), heads_.end(), key,
                                        [](const piece_range& h, std::uint64_t k) { return h.key < k; });
    return found != heads_.end() && found->key == key ? *found : piece_range{};
}

/// True for a tile that holds the sum of all parts of its region: what others have made of it are copies.
template <class Plan>
bool verifier<Plan>::is_complete(const tile& x) const {
    if (x.part < 0) {
        return true;
    }
    const piece_range all = pieces_of(piece_key(x));
    if (all.begin == all.end) {
        return false;
    }
    if (all.least_part == all.largest_part) {
        return x.part == all.least_part;
    }
    const interval own = x.region.rank > 0 ? x.region.dim[0] : interval{0, 1};
    const auto from = std::lower_bound(pieces_.begin() + static_cast<std::ptrdiff_t>(all.begin),
                                       pieces_.begin() + static_cast<std::ptrdiff_t>(all.end), own.begin - all.longest,
                                       [this](const made_piece& p, index_t begin) { return first_of(p) <= begin; });
    bool found = false;
    for (auto p = from; p != pieces_.begin() + static_cast<std::ptrdiff_t>(all.end) && first_of(*p) < own.end; ++p) {
        const tile& y = p_.tiles[at(p->tile)];
        if (intersect(y.region, x.region).empty()) {
            continue;
        }
        if (y.part != x.part) {
            return false;
        }
        found = true;
    }
    return found;
}

/// Everything is computed once: see the parts of it.
template <class Plan>
bool verifier<Plan>::shards() {
    for (int op = 0; op < g_.op_count; ++op) {
        if (!aliases_fill(op)) {
            return false;
        }
        std::vector<int>& own = tasks_of_[at(op)];
        std::sort(own.begin(), own.end(), [this](int a, int b) {
            const std::uint64_t x = group_of(p_.tasks[at(a)]);
            const std::uint64_t y = group_of(p_.tasks[at(b)]);
            return x != y ? x < y : a < b;
        });
        if (g_.ops[op].attributes.kind != op_kind::flatten && !groups_fill(op)) {
            return false;
        }
    }
    return pieces_are_apart();
}

/// A step's micro-batch, and whether it goes forward, forward again or backward.
template <class Plan>
std::uint64_t verifier<Plan>::group_of(const task& t) const {
    const std::uint64_t way = is_backward(t.what) ? 2 : t.what == pass::recompute ? 1 : 0;
    return (static_cast<std::uint64_t>(t.step) * static_cast<std::uint64_t>(p_.micro_batches) +
            static_cast<std::uint64_t>(t.micro_batch)) *
               4 +
           way;
}

/// In every micro-batch with samples of every step, forward fills the operator's loops, and backward what gets a gradient.
template <class Plan>
bool verifier<Plan>::groups_fill(int op) {
    const std::vector<int>& own = tasks_of_[at(op)];
    std::size_t i = 0;
    for (int step = 0; step < p_.period; ++step) {
        for (int m = 0; m < p_.micro_batches; ++m) {
            task_range ways[3];
            for (std::uint64_t way = 0; way < 3; ++way) {
                ways[way].begin = i;
                const auto here = [&](std::size_t k) {
                    const task& t = p_.tasks[at(own[k])];
                    return t.step == step && t.micro_batch == m && group_of(t) % 4 == way;
                };
                while (i < own.size() && here(i)) {
                    ++i;
                }
                ways[way].end = i;
            }
            const bool empty = samples_of(m).empty();
            if (!empty && (!forward_fills(op, m, ways[0], false) || !forward_fills(op, m, ways[1], true) ||
                           !backward_fills(op, ways[0], ways[2]))) {
                return false;
            }
        }
    }
    return true;
}

/// `again`: where there is nothing, nothing is computed again.
template <class Plan>
bool verifier<Plan>::forward_fills(int op, int micro_batch, const task_range& range, bool again) {
    const description& d = desc(op);
    const std::vector<int>& own = tasks_of_[at(op)];
    if (range.begin == range.end) {
        return again || refuse(nullptr, "the output of operator " + path_of(g_, op) + " is never produced");
    }
    const bool normalizes = g_.ops[op].attributes.kind == op_kind::batch_norm;
    const int last = d.nests.size() - 1;
    const bool with_running = normalizes && p_.kind == run_kind::evaluation;
    int parts = 1; // of partial inputs
    for (const int x : g_.ops[op].inputs) {
        parts = std::max(parts, part_count_of(x, p_.tasks[at(own[range.begin])]));
    }
    for (int k = with_running || (again && normalizes && is_joint(op)) ? last : 0; k <= last; ++k) {
        std::vector<cell> cells;
        cell all;
        bool passes = false;
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const task& t = p_.tasks[at(own[i])];
            if (k < t.first_nest || k > t.last_nest) {
                continue;
            }
            cells.push_back(cell_of(t, k));
            int part = -1;
            part_read(t, part);
            passes = passes || part >= 0;
            cells.back().at[cells.back().axes++] = {part, part + 1};
        }
        for (int l = 0; l < d.loops.size(); ++l) {
            if (has(d.nests[k].loops, l)) {
                all.at[all.axes++] =
                    l == d.find_loop(loop_name::sample) ? samples_of(micro_batch) : interval{0, d.loops[l].extent};
            }
        }
        all.at[all.axes++] = passes ? interval{0, parts} : interval{-1, 0};
        if (!fill_grid(cells, all)) {
            return refuse(&p_.tasks[at(own[range.begin])],
                          "elements of the output are missing or produced a different number of times");
        }
    }
    return true;
}

template <class Plan>
cell verifier<Plan>::cell_of(const task& t, int k) const {
    const description& d = desc(t.op);
    cell c;
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(d.nests[k].loops, l)) {
            c.at[c.axes++] = t.ranges[l];
        }
    }
    return c;
}

/// Of how many parts a tensor is the sum, in the step and micro-batch of a task.
template <class Plan>
int verifier<Plan>::part_count_of(int tensor, const task& t) const {
    tile x;
    x.kind = tile_kind::activation;
    x.tensor = tensor;
    x.micro_batch = t.micro_batch;
    x.step = t.step;
    const piece_range all = pieces_of(piece_key(x));
    return all.begin == all.end ? 1 : all.largest_part + 1;
}

/// Every operand that gets a gradient has it from each of the operator's shards that touch it.
template <class Plan>
bool verifier<Plan>::backward_fills(int op, const task_range& forward, const task_range& backward) {
    const std::vector<int>& own = tasks_of_[at(op)];
    const description& d = desc(op);
    const bool passes_on = g_.ops[op].attributes.kind == op_kind::add;
    if (has_gradient_[at(op)] == 0 || passes_on) {
        return backward.begin == backward.end ||
               refuse(&p_.tasks[at(own[backward.begin])], "an operator goes backward that no gradient reaches");
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
            const task& t = p_.tasks[at(own[i])];
            if (has(emitted(op, k, weights, t.ranges), o)) {
                wanted.push_back(cell_of(t, k).hash());
            }
        }
        for (std::size_t i = backward.begin; i < backward.end; ++i) {
            const task& t = p_.tasks[at(own[i])];
            if (has(t.emits, o)) {
                made.push_back(cell_of(t, k).hash());
            }
        }
        once(wanted);
        once(made);
        const bool inside = d.operands[o].kind == operand_kind::intermediate && made.empty() &&
                            p_.tasks[at(own[forward.begin])].implementation != 0; // one task makes all gradients
        if (wanted != made && !inside) {
            const task& any = p_.tasks[at(own[made.empty() ? forward.begin : backward.begin])];
            return refuse(&any, "a gradient lacks the contribution of a shard, or has one of none");
        }
    }
    return true;
}

/// Copies of a piece are of one shard, and pieces of different shards have different numbers or regions.
template <class Plan>
bool verifier<Plan>::pieces_are_apart() {
    std::vector<const made_piece*> order;
    for (const piece_range& h : heads_) {
        order.clear();
        for (std::size_t i = h.begin; i < h.end; ++i) {
            order.push_back(&pieces_[i]);
        }
        if (order.size() == 1) {
            continue;
        }
        const tile& any = p_.tiles[at(order[0]->tile)];
        const bool is_gradient = any.kind == tile_kind::gradient || any.kind == tile_kind::intermediate_gradient;
        const auto tile_of = [this](const made_piece* x) -> const tile& { return p_.tiles[at(x->tile)]; };
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
                           (tile_of(a).part != tile_of(b).part || !(tile_of(a).region == tile_of(b).region));
                });
        compare(
            [&](const made_piece* a, const made_piece* b) {
                return tile_of(a).part != tile_of(b).part ? tile_of(a).part < tile_of(b).part : place(a) < place(b);
            },
            [&](const made_piece* a, const made_piece* b) { // of one number: of one shard, or names of one thing
                const bool one = a->source == b->source && a->op == b->op && a->operand == b->operand &&
                                 (!is_gradient || tile_of(a).region == tile_of(b).region);
                return tile_of(a).part == tile_of(b).part && place(a) == place(b) && !one;
            });
        if (wrong != nullptr) {
            return refuse(nullptr, "tile " + std::to_string(wrong->tile) +
                                       " is numbered as a part that another shard makes, or its copies have other "
                                       "numbers");
        }
    }
    return true;
}

/// What an addition or a flattening passes on under another name is all of it.
template <class Plan>
bool verifier<Plan>::aliases_fill(int op) {
    const op_kind kind = g_.ops[op].attributes.kind;
    const bool flattens = kind == op_kind::flatten;
    if (!flattens && kind != op_kind::add) {
        return true;
    }
    for (int step = 0; step < p_.period; ++step) {
        for (int m = 0; m < p_.micro_batches; ++m) {
            if (samples_of(m).empty()) {
                continue;
            }
            tile x;
            x.step = step;
            x.micro_batch = m;
            x.kind = tile_kind::activation;
            x.tensor = g_.ops[op].output;
            if (flattens && !names_fill(op, x, 1)) {
                return refuse(nullptr, "the output of operator " + path_of(g_, op) + " is not all of its input");
            }
            x.kind = tile_kind::gradient;
            for (int k = 0; k < g_.ops[op].inputs.size() && has_gradient_[at(op)] != 0; ++k) {
                x.tensor = g_.ops[op].inputs[k];
                const auto& in = g_.ops[op].inputs;
                const auto times = static_cast<int>(std::count(in.begin(), in.end(), x.tensor));
                if (needs_gradient_[at(x.tensor)] != 0 && !names_fill(op, x, times)) {
                    return refuse(nullptr, "operator " + path_of(g_, op) + " does not pass all of its gradient on");
                }
            }
        }
    }
    return true;
}

/// True where the tiles of what `of` says that are other names for what `op` reads or writes cover it, each element by `times` parts (or, forward,
/// by every part of its input).
template <class Plan>
bool verifier<Plan>::names_fill(int op, const tile& of, int times) const {
    const piece_range all = pieces_of(piece_key(of));
    std::vector<cell> cells;
    std::vector<std::pair<std::uint64_t, int>> parts; // of every region
    for (std::size_t i = all.begin; i < all.end; ++i) {
        const tile& x = p_.tiles[at(pieces_[i].tile)];
        if (pieces_[i].operand >= 0 || (of.kind == tile_kind::gradient && pieces_[i].op != op)) {
            continue;
        }
        cell c;
        for (int d = 0; d < x.region.rank; ++d) {
            c.at[c.axes++] = x.region.dim[d];
        }
        cells.push_back(c);
        parts.emplace_back(c.hash(), x.part);
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
        task t;
        t.micro_batch = of.micro_batch;
        t.step = of.step;
        const bool passes = all.largest_part > 0;
        times = passes ? part_count_of(g_.ops[op].inputs[0], t) : 1;
    }
    return parts.size() == cells.size() * at(times) && each_has(parts, times);
}

template <class Plan>
bool verifier<Plan>::each_has(const std::vector<std::pair<std::uint64_t, int>>& parts, int times) {
    for (std::size_t i = 0; i < parts.size(); i += at(times)) {
        if (parts[i].first != parts[i + at(times) - 1].first) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail
