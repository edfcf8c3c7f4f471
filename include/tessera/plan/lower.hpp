// SPDX-License-Identifier: Apache-2.0
// Lowering: from a network and a strategy to the logical plan. Everything here follows from the operators' descriptions.
#pragma once

#include "tessera/layout/redistribute.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/plan/plan.hpp"

#include <string>

namespace tessera {

struct lower_options {
    run_kind kind = run_kind::training;
    optimizer update;            ///< how many states a parameter has, and whether gradients are clipped
    bool keep_gradients = false; ///< gradients stay readable after the run
    bool allow_empty = false;    ///< a short batch may leave some shards without samples
    /// An input that holds the gradient of the last operator's output; inputs then get gradients too, and these and the output are
    /// results of the plan. It lets a network without a loss go backward. -1: none.
    int output_gradient = -1;
};

namespace detail {

/// A tensor while the plan grows: where its pieces are, and what has been gathered from them.
struct located {
    std::vector<piece> pieces;
    int parts = 0;
    reducer reduce = reducer::sum;
};

struct gathered_tile {
    box region;
    int device = 0;
    int part = -1; ///< the one part asked for, or -1 for the sum
    int tile = -1;
};

// A template only so that what it uses is compiled where a plan is made, not wherever the header is included.
template <class Options>
class lowering {
public:
    lowering(const graph_view& g, const strategy_view& s, int devices, const Options& o)
        : g_(g), s_(s), o_(o), values_(count(g.tensor_count)), gathered_values_(count(g.tensor_count)),
          gradients_(count(g.tensor_count)), gathered_gradients_(count(g.tensor_count)),
          parameter_gradients_(count(g.parameter_count)), parameters_(count(g.parameter_count)),
          needs_gradient_(count(g.tensor_count), 0), descriptions_(count(g.op_count)), shards_(count(g.op_count)) {
        p_.devices = devices;
        p_.kind = o.kind;
    }

    plan run() {
        prepare();
        if (o_.output_gradient >= 0) {
            gradients_[at(g_.ops[g_.op_count - 1].output)] = values_[at(o_.output_gradient)];
        }
        for (int op = 0; op < g_.op_count; ++op) {
            forward(op);
        }
        if (o_.kind == run_kind::training) {
            for (int op = g_.op_count - 1; op >= 0; --op) {
                backward(op);
            }
            for (int p = 0; p < g_.parameter_count && o_.update.clip_norm > 0; ++p) {
                reduce_parameter(p);
            }
            for (int p = 0; p < g_.parameter_count && o_.update.clip_norm > 0; ++p) {
                update_clipped(p);
            }
        }
        collect_results();
        return static_cast<plan&&>(p_);
    }

protected: // simulation::operator_lowering lowers one operator anew
    static std::size_t count(int n) { return static_cast<std::size_t>(n); }
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    const configuration& config(int op) const { return s_.ops[op]; }
    const description& desc(int op) const { return descriptions_[at(op)]; }
    tile& tile_at(int t) { return p_.tiles[at(t)]; }

    // ---- tiles -------------------------------------------------------------------------------------------------------

    int add_tile(tile_kind kind, int tensor, const box& region, int device, element type) {
        tile t;
        t.kind = kind;
        t.tensor = tensor;
        t.region = region;
        t.device = device;
        t.type = type;
        t.elements = region.volume();
        p_.tiles.push_back(t);
        return static_cast<int>(p_.tiles.size()) - 1;
    }

    task& add_task(task_kind kind, int op, pass what, int shard_number, int device) {
        task t;
        t.kind = kind;
        t.op = op;
        t.what = what;
        t.shard_number = shard_number;
        t.device = device;
        p_.tasks.push_back(t);
        return p_.tasks.back();
    }

    void prepare() {
        for (int t = 0; t < g_.tensor_count; ++t) {
            const tensor_node& n = g_.tensors[t];
            if (n.producer < 0) {
                const box region = whole(n.extents);
                values_[at(t)].pieces.push_back({region, -1, 0, add_tile(tile_kind::input, t, region, -1, n.type)});
                values_[at(t)].parts = 1;
                p_.tiles.back().part = 0;
                const bool wanted = o_.output_gradient >= 0 && t != o_.output_gradient && n.type == element::f32;
                needs_gradient_[at(t)] = wanted ? 1 : 0;
            }
        }
        uses_left_.assign(count(g_.parameter_count), 0);
        for (int op = 0; op < g_.op_count; ++op) {
            descriptions_[at(op)] = g_.describe(op);
            const configuration& c = config(op);
            for (int i = 0; i < c.shards(); ++i) {
                shards_[at(op)].push_back(shard_at(c, s_.pool, desc(op), i));
            }
            bool needs = false;
            for (int p : g_.ops[op].parameters) {
                needs = needs || g_.parameters[p].trained;
                ++uses_left_[at(p)];
            }
            for (int t : g_.ops[op].inputs) {
                needs = needs || needs_gradient_[at(t)] != 0;
            }
            needs_gradient_[at(g_.ops[op].output)] = needs ? 1 : 0;
        }
        // Parameters live where a shard needs them, also one that a short batch leaves without samples.
        for (int op = 0; op < g_.op_count; ++op) {
            for (const shard& s : shards_[at(op)]) {
                for (int o = 0; o < desc(op).operands.size(); ++o) {
                    const operand_kind k = desc(op).operands[o].kind;
                    if (k == operand_kind::parameter || k == operand_kind::state) {
                        parameter_tile(op, o, s);
                    }
                }
            }
        }
    }

    bool is_empty(const shard& s, int op) const {
        for (int l = 0; l < desc(op).loops.size(); ++l) {
            if (s.ranges[l].empty()) {
                return true;
            }
        }
        return false;
    }

    /// Region of an operand; that of a parameter does not depend on the loops that do not index it, so an empty shard has one too.
    box region_of(int op, int which, const shard& s) const { return region(desc(op), which, s.ranges); }

    int parameter_tile(int op, int which, const shard& s) {
        const int parameter = g_.ops[op].parameters[desc(op).operands[which].slot];
        const box region = region_of(op, which, s);
        for (const piece& p : parameters_[at(parameter)].pieces) {
            if (p.device == s.device && p.region == region) {
                return p.tile;
            }
        }
        const int t = add_tile(tile_kind::parameter, parameter, region, s.device, element::f32);
        parameters_[at(parameter)].pieces.push_back({region, s.device, 0, t});
        return t;
    }

    // ---- redistribution ----------------------------------------------------------------------------------------------

    /// The tile that holds `region` of a tensor on a device: a piece that is there already, one gathered before, or a new one that a
    /// copy task fills. `part` asks for one part of a partial tensor instead of the sum.
    int need(located& from, std::vector<gathered_tile>& cache, const box& region, int device, int part, tile_kind kind,
             int tensor, element type, int op, pass what) {
        if (from.parts == 1 || part >= 0) {
            for (const piece& p : from.pieces) {
                if (p.device == device && p.region == region && (part < 0 || p.part == part)) {
                    return p.tile;
                }
            }
        }
        for (const gathered_tile& c : cache) {
            if (c.device == device && c.region == region && c.part == part) {
                return c.tile;
            }
        }
        std::vector<piece> sources;
        for (const piece& p : from.pieces) {
            if (part < 0 || p.part == part) {
                sources.push_back(p);
                sources.back().part = part < 0 ? p.part : 0;
            }
        }
        const gather plan_of = gather_into(sources, region, device, device);
        if (plan_of.segments.size() == 1) { // all there is of it is here already: a gradient of this device's samples
            const piece& only = sources[at(plan_of.segments[0].source)];
            if (only.device == device && only.region == region) {
                return only.tile;
            }
        }
        const int t = add_tile(kind, tensor, region, device, type);
        if (region.empty()) { // an input of a concatenation of which a shard needs nothing
            cache.push_back({region, device, part, t});
            return t;
        }
        tile_at(t).part = part;
        task& copy = add_task(task_kind::copy, op, what, 0, device);
        copy.clear = plan_of.clear;
        copy.reduce = from.reduce;
        copy.writes.push_back(t);
        for (const segment& seg : plan_of.segments) {
            const piece& source = sources[at(seg.source)];
            copy.segments.push_back({source.tile, seg.region, seg.first});
            copy.reads.push_back(source.tile);
            if (source.device != device && source.device >= 0) {
                p_.moved_bytes += seg.region.volume() * bytes_of(type);
            }
        }
        cache.push_back({region, device, part, t});
        return t;
    }

    int need_value(int tensor, const box& region, const shard& s, int op, pass what) {
        return need(values_[at(tensor)], gathered_values_[at(tensor)], region, s.device,
                    config(op).partial > 1 ? s.part : -1, tile_kind::activation, tensor, g_.tensors[tensor].type, op,
                    what);
    }

    // ---- forward -----------------------------------------------------------------------------------------------------

    struct intermediate_state {
        located values;
        std::vector<gathered_tile> gathered;
        located gradients;
        std::vector<gathered_tile> gathered_gradients;
    };

    /// True where no intermediate has to be reduced between shards, so that all nests make one task.
    bool fuses(int op) const {
        for (int k = 0; k + 1 < desc(op).nests.size(); ++k) {
            if (parts_of_nest(config(op), desc(op), k) > 1) {
                return false;
            }
        }
        return true;
    }

    intermediate_state& intermediate(int op, int which) {
        for (auto& [key, state] : intermediates_) {
            if (key == op * max_operands + which) {
                return state;
            }
        }
        intermediates_.push_back({op * max_operands + which, {}});
        return intermediates_.back().second;
    }

    void forward(int op) {
        const bool evaluation = o_.kind == run_kind::evaluation;
        const bool normalizes = g_.ops[op].attributes.kind == op_kind::batch_norm;
        if (g_.ops[op].attributes.kind == op_kind::flatten) {
            flatten(op);
            return;
        }
        const int nests = desc(op).nests.size();
        if (evaluation && normalizes) {
            forward_nests(op, nests - 1, nests - 1, pass::evaluate);
        } else if (fuses(op)) {
            forward_nests(op, 0, nests - 1, evaluation ? pass::evaluate : pass::forward);
        } else {
            for (int k = 0; k < nests; ++k) {
                forward_nests(op, k, k, evaluation ? pass::evaluate : pass::forward);
            }
        }
        if (normalizes && !evaluation) {
            update_running(op);
        }
    }

    void forward_nests(int op, int first, int last, pass what) {
        const description& d = desc(op);
        const auto& all = shards_[at(op)];
        for (std::size_t i = 0; i < all.size(); ++i) {
            const shard& s = all[i];
            if (is_empty(s, op)) {
                continue;
            }
            int value[max_operands];
            std::uint32_t written = 0;
            std::uint32_t read = 0;
            for (int k = first; k <= last; ++k) {
                written |= bit(d.nests[k].write);
                read |= d.nests[k].reads;
            }
            if (what == pass::evaluate && g_.ops[op].attributes.kind == op_kind::batch_norm) {
                read |= bit(d.find_operand(operand_kind::state, 2));
                read &= ~bit(d.find_operand(operand_kind::intermediate, 0));
            }
            for (int o = 0; o < d.operands.size(); ++o) {
                value[o] = has(written, o) ? output_tile(op, o, s) : has(read, o) ? read_tile(op, o, s, what) : -1;
            }
            task& t = add_compute(op, what, static_cast<int>(i), s, first, last);
            for (int o = 0; o < d.operands.size(); ++o) {
                t.value[o] = value[o];
                if (has(written, o)) {
                    t.writes.push_back(value[o]);
                } else if (has(read, o)) {
                    t.reads.push_back(value[o]);
                }
            }
        }
    }

    task& add_compute(int op, pass what, int number, const shard& s, int first, int last) {
        task& t = add_task(task_kind::compute, op, what, number, s.device);
        t.first_nest = first;
        t.last_nest = last;
        t.first_part = is_first_part(s, desc(op)) && s.part == 0;
        for (int l = 0; l < max_loops; ++l) {
            t.ranges[l] = s.ranges[l];
        }
        return t;
    }

    int read_tile(int op, int o, const shard& s, pass what) {
        const operand& x = desc(op).operands[o];
        switch (x.kind) {
        case operand_kind::input:
            return need_value(g_.ops[op].inputs[x.slot], region_of(op, o, s), s, op, what);
        case operand_kind::parameter:
        case operand_kind::state:
            return parameter_tile(op, o, s);
        case operand_kind::intermediate: {
            intermediate_state& m = intermediate(op, o);
            return need(m.values, m.gathered, region_of(op, o, s), s.device, -1, tile_kind::intermediate,
                        op * max_operands + o, x.type, op, what);
        }
        case operand_kind::output:
            break;
        }
        const int tensor = g_.ops[op].output;
        for (const piece& p : values_[at(tensor)].pieces) {
            if (p.device == s.device && p.region == region_of(op, o, s)) {
                return p.tile;
            }
        }
        return -1;
    }

    int output_tile(int op, int o, const shard& s) {
        const operand& x = desc(op).operands[o];
        const box region = region_of(op, o, s);
        int nest_number = 0;
        for (int k = 0; k < desc(op).nests.size(); ++k) {
            nest_number = desc(op).nests[k].write == o ? k : nest_number;
        }
        const int part = part_of_nest(s, config(op), desc(op), nest_number);
        const bool is_output = x.kind == operand_kind::output;
        located& where = is_output ? values_[at(g_.ops[op].output)] : intermediate(op, o).values;
        where.parts = parts_of_nest(config(op), desc(op), nest_number);
        where.reduce = desc(op).nests[nest_number].reduce == reducer::max && !is_output ? reducer::max : reducer::sum;
        const int t = is_output ? add_tile(tile_kind::activation, g_.ops[op].output, region, s.device, x.type)
                                : add_tile(tile_kind::intermediate, op * max_operands + o, region, s.device, x.type);
        tile_at(t).part = part;
        where.pieces.push_back({region, s.device, part, t});
        return t;
    }

    /// Flattening renames indices: its output is its input's memory.
    void flatten(int op) {
        const description& d = desc(op);
        const int in = g_.ops[op].inputs[0];
        const int out = g_.ops[op].output;
        values_[at(out)].parts = parts_of_nest(config(op), d, 0);
        for (const shard& s : shards_[at(op)]) {
            if (is_empty(s, op)) {
                continue;
            }
            const int source = need_value(in, region_of(op, 0, s), s, op, pass::forward);
            const box region = region_of(op, d.output(), s);
            const int t = add_tile(tile_kind::activation, out, region, s.device, element::f32);
            tile_at(t).alias = source;
            tile_at(t).part = part_of_nest(s, config(op), d, 0);
            values_[at(out)].pieces.push_back({region, s.device, tile_at(t).part, t});
        }
    }

    /// Running statistics follow the global statistics, once for every copy of them.
    void update_running(int op) {
        const description& d = desc(op);
        const int running = d.find_operand(operand_kind::state, 2);
        const int statistics = d.find_operand(operand_kind::intermediate, 0);
        std::vector<int> done;
        const auto& all = shards_[at(op)];
        for (std::size_t i = 0; i < all.size(); ++i) {
            const int target = parameter_tile(op, running, all[i]);
            bool again = false; // also for a shard without samples: its copy must stay equal to the others
            for (int t : done) {
                again = again || t == target;
            }
            if (again) {
                continue;
            }
            done.push_back(target);
            const int source = read_tile(op, statistics, all[i], pass::update);
            task& t = add_compute(op, pass::update, static_cast<int>(i), all[i], 0, 0);
            t.value[statistics] = source;
            t.value[running] = target;
            t.running = target;
            t.reads = {source, target};
            t.writes = {target};
        }
    }

    // ---- backward ----------------------------------------------------------------------------------------------------

    void backward(int op) {
        const description& d = desc(op);
        const int out = g_.ops[op].output;
        if (needs_gradient_[at(out)] == 0 || (gradients_[at(out)].pieces.empty() && !g_.is_loss(op))) {
            finish_parameters(op);
            return;
        }
        if (g_.ops[op].attributes.kind == op_kind::add || g_.ops[op].attributes.kind == op_kind::flatten) {
            pass_gradient(op);
            return;
        }
        for (int k = d.nests.size() - 1; k >= 0; --k) {
            std::uint32_t wanted = 0;
            for (int o = 0; o < d.operands.size(); ++o) {
                wanted |= gradient_nest(d, o) == k && is_wanted(op, o) ? bit(o) : 0;
            }
            const std::uint32_t weights = wanted & gradients_of(d, k, false);
            const std::uint32_t inputs = wanted & gradients_of(d, k, true);
            if (weights != 0) {
                backward_nest(op, k, weights, pass::backward_weight);
            }
            if (inputs != 0) {
                backward_nest(op, k, inputs, g_.ops[op].parameters.empty() ? pass::backward : pass::backward_input);
            }
        }
        finish_parameters(op);
    }

    bool is_wanted(int op, int o) const {
        const operand& x = desc(op).operands[o];
        switch (x.kind) {
        case operand_kind::input:
            return needs_gradient_[at(g_.ops[op].inputs[x.slot])] != 0;
        case operand_kind::parameter:
            return g_.parameters[g_.ops[op].parameters[x.slot]].trained;
        case operand_kind::intermediate:
            return x.differentiable;
        default:
            return false;
        }
    }

    int output_gradient(int op, const shard& s, pass what) {
        const int out = g_.ops[op].output;
        return need(gradients_[at(out)], gathered_gradients_[at(out)], region_of(op, desc(op).output(), s), s.device,
                    -1, tile_kind::gradient, out, element::f32, op, what);
    }

    /// The gradient of an addition or a flattening is its output's.
    void pass_gradient(int op) {
        const description& d = desc(op);
        const auto& all = shards_[at(op)];
        for (const shard& s : all) {
            if (is_empty(s, op)) {
                continue;
            }
            const int source = output_gradient(op, s, pass::backward);
            for (int o = 0; o < d.operands.size(); ++o) {
                if (d.operands[o].kind != operand_kind::input || !is_wanted(op, o)) {
                    continue;
                }
                const int tensor = g_.ops[op].inputs[d.operands[o].slot];
                const box region = region_of(op, o, s);
                const int t = add_tile(tile_kind::gradient, tensor, region, s.device, element::f32);
                tile_at(t).alias = source;
                contribution_keys_.resize(p_.tiles.size(), -1);
                contribute(gradients_[at(tensor)], op, o, s, region, t);
            }
        }
    }

    /// Registers a shard's contribution to a gradient: a summand of its own, except that replicas (and the shards that pass
    /// different parts of a partial tensor, whose gradients are equal) are copies of one.
    void contribute(located& to, int op, int o, const shard& s, const box& region, int t) {
        const int key = (op * max_operands + o) * 65536 + s.box_index;
        int part = -1;
        for (std::size_t i = 0; i < to.pieces.size(); ++i) {
            if (contribution_keys_[at(to.pieces[i].tile)] == key) {
                part = to.pieces[i].part;
            }
        }
        if (part < 0) {
            part = to.parts++;
        }
        if (contribution_keys_.size() < p_.tiles.size()) {
            contribution_keys_.resize(p_.tiles.size(), -1);
        }
        int own = t;
        if (contribution_keys_[at(t)] >= 0 && contribution_keys_[at(t)] != key) {
            // The same tile contributes twice (x + x): the second time under a name of its own.
            own = add_tile(tile_at(t).kind, tile_at(t).tensor, region, s.device, tile_at(t).type);
            tile_at(own).alias = t;
            contribution_keys_.resize(p_.tiles.size(), -1);
        }
        contribution_keys_[at(own)] = key;
        tile_at(own).part = part;
        to.pieces.push_back({region, s.device, part, own});
    }

    void backward_nest(int op, int k, std::uint32_t emits, pass what) {
        const description& d = desc(op);
        const auto& all = shards_[at(op)];
        for (std::size_t i = 0; i < all.size(); ++i) {
            const shard& s = all[i];
            if (is_empty(s, op)) {
                continue;
            }
            const bool first = is_first_part(s, d);
            std::uint32_t own = 0;
            std::uint32_t reads = 0;
            for (int o = 0; o < d.operands.size(); ++o) {
                if (has(emits, o) && (first || !d.operands[o].additive) && !region_of(op, o, s).empty()) {
                    own |= bit(o);
                    reads |= d.operands[o].gradient_reads;
                }
            }
            if (own == 0) {
                continue;
            }
            int value[max_operands];
            int gradient[max_operands];
            std::vector<int> read_list;
            std::vector<int> write_list;
            for (int o = 0; o < d.operands.size(); ++o) {
                value[o] = has(reads, o) ? read_tile(op, o, s, what) : -1;
                gradient[o] = -1;
                if (value[o] >= 0) {
                    read_list.push_back(value[o]);
                }
            }
            if (!g_.is_loss(op)) {
                gradient[d.output()] = output_gradient(op, s, what);
                read_list.push_back(gradient[d.output()]);
            }
            for (int o = 0; o < d.operands.size(); ++o) {
                const bool flows = d.operands[o].kind == operand_kind::intermediate && d.operands[o].differentiable;
                if (flows && !has(own, o) && has(d.operands[first_of(own)].gradient_reads, o)) {
                    intermediate_state& m = intermediate(op, o);
                    gradient[o] =
                        need(m.gradients, m.gathered_gradients, region_of(op, o, s), s.device, -1,
                             tile_kind::intermediate_gradient, op * max_operands + o, d.operands[o].type, op, what);
                    read_list.push_back(gradient[o]);
                }
            }
            for (int o = 0; o < d.operands.size(); ++o) {
                if (has(own, o)) {
                    gradient[o] = emit(op, o, s);
                    write_list.push_back(gradient[o]);
                }
            }
            task& t = add_compute(op, what, static_cast<int>(i), s, k, k);
            t.emits = own;
            t.reads = static_cast<std::vector<int>&&>(read_list);
            t.writes = static_cast<std::vector<int>&&>(write_list);
            for (int o = 0; o < max_operands; ++o) {
                t.value[o] = o < d.operands.size() ? value[o] : -1;
                t.gradient[o] = o < d.operands.size() ? gradient[o] : -1;
            }
        }
    }

    static int first_of(std::uint32_t mask) {
        int i = 0;
        while (!has(mask, i)) {
            ++i;
        }
        return i;
    }

    int emit(int op, int o, const shard& s) {
        const operand& x = desc(op).operands[o];
        const box region = region_of(op, o, s);
        if (x.kind == operand_kind::input) {
            const int tensor = g_.ops[op].inputs[x.slot];
            const int t = add_tile(tile_kind::gradient, tensor, region, s.device, element::f32);
            contribute(gradients_[at(tensor)], op, o, s, region, t);
            return t;
        }
        if (x.kind == operand_kind::parameter) {
            const int parameter = g_.ops[op].parameters[x.slot];
            const int t = add_tile(tile_kind::parameter_gradient, parameter, region, s.device, element::f32);
            tile_at(t).keep = o_.keep_gradients;
            contribute(parameter_gradients_[at(parameter)], op, o, s, region, t);
            return t;
        }
        const int t = add_tile(tile_kind::intermediate_gradient, op * max_operands + o, region, s.device, x.type);
        contribute(intermediate(op, o).gradients, op, o, s, region, t);
        return t;
    }

    // ---- parameters --------------------------------------------------------------------------------------------------

    /// After the last operator that uses a parameter has gone backward, the parameter is updated.
    void finish_parameters(int op) {
        for (int p : g_.ops[op].parameters) {
            if (--uses_left_[at(p)] == 0 && g_.parameters[p].trained && o_.update.clip_norm <= 0) {
                for (const std::vector<piece>& copies : groups(p)) {
                    update_group(p, copies);
                }
            }
        }
    }

    /// Copies of equal regions of a parameter, group by group.
    std::vector<std::vector<piece>> groups(int parameter) const {
        std::vector<std::vector<piece>> result;
        for (const piece& p : parameters_[at(parameter)].pieces) {
            bool placed = false;
            for (std::vector<piece>& group : result) {
                if (group[0].region == p.region) {
                    group.push_back(p);
                    placed = true;
                    break;
                }
            }
            if (!placed) {
                result.push_back({p});
            }
        }
        return result;
    }

    /// One contribution for every part that overlaps the region, if all of them have exactly the region; empty otherwise.
    std::vector<int> equal_contributions(int parameter, const box& region) const {
        std::vector<int> result;
        std::vector<char> seen(at(parameter_gradients_[at(parameter)].parts), 0);
        for (const piece& p : parameter_gradients_[at(parameter)].pieces) {
            if (seen[at(p.part)] != 0 || intersect(p.region, region).empty()) {
                continue;
            }
            if (!(p.region == region)) {
                return {};
            }
            seen[at(p.part)] = 1;
            result.push_back(p.tile);
        }
        return result;
    }

    void count_moved(const std::vector<int>& tiles, int device, index_t elements) {
        for (int t : tiles) {
            if (p_.tiles[at(t)].device != device) {
                p_.moved_bytes += elements * 4;
            }
        }
    }

    int state_tile(int parameter, const box& region, int device, int slice, int slices) {
        if (o_.update.state_count() == 0) {
            return -1;
        }
        const int t = add_tile(tile_kind::optimizer_state, parameter, region, device, element::f32);
        tile_at(t).elements = even_part(region.volume(), slices, slice).size();
        tile_at(t).bytes = tile_at(t).elements * bytes_of(element::f32) * o_.update.state_count();
        return t;
    }

    /// One update for every copy of a region. Where all contributions have the region itself, every copy sums and updates a slice and
    /// writes it to all copies: reduce-scatter, update and all-gather in one. Otherwise every copy gathers the whole sum.
    void update_group(int parameter, const std::vector<piece>& copies) {
        const box& region = copies[0].region;
        const std::vector<int> sources = equal_contributions(parameter, region);
        const int slices = sources.empty() ? 1 : static_cast<int>(copies.size());
        const int op = user_of(parameter);
        for (int i = 0; i < static_cast<int>(copies.size()); ++i) {
            const int device = copies[at(i)].device;
            std::vector<int> from = sources;
            if (sources.empty()) {
                if (parameter_gradients_[at(parameter)].pieces.empty()) {
                    return;
                }
                from = {gathered_parameter_gradient(parameter, region, device, op)};
            }
            const int state = state_tile(parameter, region, device, i * (slices > 1 ? 1 : 0), slices);
            task& t = add_task(task_kind::update, op, pass::update, i, device);
            t.parameter = parameter;
            t.slices = slices;
            t.slice = slices > 1 ? i : 0;
            t.state = state;
            t.reads = from;
            if (slices > 1) {
                const index_t size = even_part(region.volume(), slices, t.slice).size();
                for (const piece& c : copies) {
                    t.writes.push_back(c.tile);
                }
                count_moved(from, device, size);
                count_moved(t.writes, device, size);
            } else {
                t.writes.push_back(copies[at(i)].tile);
                count_moved(from, device, region.volume());
            }
        }
    }

    int user_of(int parameter) const {
        for (int op = 0; op < g_.op_count; ++op) {
            for (int p : g_.ops[op].parameters) {
                if (p == parameter) {
                    return op;
                }
            }
        }
        return -1;
    }

    int gathered_parameter_gradient(int parameter, const box& region, int device, int op) {
        std::vector<gathered_tile> none;
        return need(parameter_gradients_[at(parameter)], none, region, device, -1, tile_kind::parameter_gradient,
                    parameter, element::f32, op, pass::update);
    }

    // With clipping, every gradient is summed first, then the norm over all of them is known, then all parameters are updated.

    struct reduced_slice {
        int parameter = 0;
        int slice = 0;
        int slices = 1;
        int source = -1; ///< tile that holds the summed slice
        std::vector<piece> copies;
        int device = 0;
    };

    void reduce_parameter(int parameter) {
        if (!g_.parameters[parameter].trained || parameter_gradients_[at(parameter)].pieces.empty()) {
            return;
        }
        const int op = user_of(parameter);
        std::vector<box> counted;
        for (const std::vector<piece>& copies : groups(parameter)) {
            const box region = copies[0].region;
            const std::vector<int> sources = equal_contributions(parameter, region);
            std::vector<box> overlapping; // squares that another group counts; then every copy sums the whole region
            for (const box& b : counted) {
                if (!intersect(b, region).empty()) {
                    overlapping.push_back(b);
                }
            }
            const int slices = sources.empty() || !overlapping.empty() ? 1 : static_cast<int>(copies.size());
            for (int i = 0; i < static_cast<int>(copies.size()); ++i) {
                const int device = copies[at(i)].device;
                std::vector<int> from = sources;
                if (sources.empty()) {
                    from = {gathered_parameter_gradient(parameter, region, device, op)};
                }
                const int slice = slices > 1 ? i : 0;
                const int sum = add_tile(tile_kind::parameter_gradient, parameter, region, device, element::f32);
                const int norm = add_tile(tile_kind::scalar, parameter, box{}, device, element::f64);
                task& t = add_task(task_kind::reduce, op, pass::update, i, device);
                t.parameter = parameter;
                t.slice = slice;
                t.slices = slices;
                t.reads = from;
                t.writes = {sum, norm};
                t.norms = {norm};
                t.counted_elsewhere = overlapping;
                if (slices == 1 && i > 0) {
                    t.counted_elsewhere.push_back(region);
                }
                count_moved(from, device, even_part(region.volume(), slices, slice).size());
                norms_.push_back(norm);
                reduced_.push_back({parameter, slice, slices, sum, copies, device});
                if (slices == 1) {
                    reduced_.back().copies = {copies[at(i)]};
                }
            }
            counted.push_back(region);
        }
    }

    void update_clipped(int parameter) {
        const int op = user_of(parameter);
        int number = 0;
        for (const reduced_slice& r : reduced_) {
            if (r.parameter != parameter) {
                continue;
            }
            const box& region = r.copies[0].region;
            const int state = state_tile(parameter, region, r.device, r.slice, r.slices);
            task& t = add_task(task_kind::update, op, pass::update, number++, r.device);
            t.parameter = parameter;
            t.slice = r.slice;
            t.slices = r.slices;
            t.state = state;
            t.reads = {r.source};
            t.norms = norms_;
            for (int n : norms_) {
                t.reads.push_back(n);
            }
            for (const piece& c : r.copies) {
                t.writes.push_back(c.tile);
            }
            count_moved(t.writes, r.device, even_part(region.volume(), r.slices, r.slice).size());
        }
    }

    // ---- results -----------------------------------------------------------------------------------------------------

    void keep(int tensor, const located& where) {
        for (const piece& p : where.pieces) {
            if (p.device >= 0) {
                p_.results.push_back({tensor, p.part, p.tile});
                p_.tiles[at(p_.root(p.tile))].keep = true;
                p_.tiles[at(p.tile)].keep = true;
            }
        }
    }

    void collect_results() {
        for (int op = 0; op < g_.op_count; ++op) {
            if (g_.is_loss(op)) {
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
        if (o_.keep_gradients) {
            for (int p = 0; p < g_.parameter_count; ++p) {
                for (const piece& c : parameter_gradients_[at(p)].pieces) {
                    p_.gradients.push_back({p, c.part, c.tile});
                }
            }
        }
        p_.order.resize(at(p_.devices));
        for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
            task& t = p_.tasks[at(i)];
            t.position = static_cast<int>(p_.order[at(t.device)].size());
            p_.order[at(t.device)].push_back(i);
        }
    }

    graph_view g_;
    strategy_view s_;
    Options o_;
    plan p_;
    std::vector<located> values_;
    std::vector<std::vector<gathered_tile>> gathered_values_;
    std::vector<located> gradients_;
    std::vector<std::vector<gathered_tile>> gathered_gradients_;
    std::vector<located> parameter_gradients_;
    std::vector<located> parameters_;
    std::vector<char> needs_gradient_;
    std::vector<description> descriptions_;
    std::vector<std::vector<shard>> shards_;
    std::vector<std::pair<int, intermediate_state>> intermediates_;
    std::vector<int> contribution_keys_;
    std::vector<int> uses_left_;
    std::vector<int> norms_;
    std::vector<reduced_slice> reduced_;
};

} // namespace detail

/// The logical plan of a network under a strategy. The strategy must keep the rules (see require()).
template <class Options = lower_options>
plan lower(const graph_view& g, const strategy_view& s, int devices, const Options& options = {}) {
    return detail::lowering<Options>(g, s, devices, options).run();
}

} // namespace tessera
