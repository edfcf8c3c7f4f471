// SPDX-License-Identifier: Apache-2.0
// What a program for PyTorch is made from: the plan, where its parameters live, and which variable holds a tile.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/refusals.hpp"
#include "tessera/backend/torch/tables.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera::torch::detail {

/// The same strategy with gradients synchronized in the usual way, no streams and nothing computed twice: where values lie and move forward does not
/// depend on these.
inline strategy plain_strategy(const strategy_view& s) {
    strategy plain(s);
    plain.sync = {};
    plain.overlap = false;
    plain.schedule.keeps.clear();
    for (configuration& c : plain.ops) {
        c.recompute = false;
    }
    for (std::vector<action>& worker : plain.schedule.workers) {
        worker.erase(std::remove_if(worker.begin(), worker.end(),
                                    [](const action& a) { return a.what == action_kind::recompute; }),
                     worker.end());
    }
    return plain;
}

/// A program that grows, operator by operator, and the plan that it follows.
class places {
protected:
    places(const graph_view& g, const strategy_view& s, int devices, const optimizer& update)
        : g_(g), s_(s), plain_(plain_strategy(s)), options_{.update = update}, in_(g, plain_.view(), devices, options_),
          plan_(lower(g, plain_.view(), devices, options_)), paths_(paths_of(g)) {
        out_.ranks = devices;
        out_.batch = g.tensors[0].extents[0];
        out_.micro_batches = s.micro_batches;
        out_.update = update;
        int stages = 1;
        for (int op = 0; op < g.op_count; ++op) {
            stages = std::max(stages, stage_of(op) + 1);
            names_.push_back(free_.next(paths_.op(op)));
        }
        out_.stages.resize(at(stages));
        out_.recomputes.assign(at(stages), 0);
        values_.resize(at(stages));
        tables_ = tile_tables(plan_, g);
        add_parameters();
    }

    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    const tile& tile_at(int t) const { return plan_.tiles[at(t)]; }
    int stage_of(int op) const { return s_.schedule != nullptr ? s_.ops[op].stage : 0; }
    void add_lines(int stage, int rank, const std::string& text) {
        for (std::size_t from = 0; from <= text.size();) {
            const std::size_t end = std::min(text.find('\n', from), text.size());
            out_.stages[at(stage)][rank].push_back(text.substr(from, end - from));
            from = end + 1;
        }
    }
    std::string value(int stage, int tile) const {
        const auto found = values_[at(stage)].find(tile);
        return found == values_[at(stage)].end() ? std::string() : found->second;
    }

    /// The variable of what a tile holds: where it is stored as bf16, of the rounded numbers.
    std::string stored(int stage, int rank, const std::string& name, int tile) {
        if (tile_at(tile).type != element::bf16) {
            return name;
        }
        std::string rounded = derived(name, "bf16");
        add_lines(stage, rank, joined({rounded, " = rt.bf16(", name, ")"}));
        return rounded;
    }

    void add_parameters() {
        for (int p = 0; p < g_.parameter_count; ++p) {
            const parameter_node& x = g_.parameters[p];
            const update_rule rule = rule_for(out_.update, g_, p);
            out_.parameters.push_back({paths_.parameter(p),
                                       x.extents,
                                       x.trained && !x.state,
                                       static_cast<double>(rule.rate_factor),
                                       static_cast<double>(rule.weight_decay),
                                       {}});
        }
        for (int t = 0; t < static_cast<int>(plan_.tiles.size()); ++t) {
            if (tile_at(t).kind == tile_kind::parameter) {
                out_.parameters[at(tile_at(t).tensor)].homes.push_back({tile_at(t).device, tile_at(t).region, t});
            }
        }
    }

    /// How a program reads the local part of a parameter that lies in a tile of the plan.
    std::string parameter_text(int tile) const {
        const parameter_table& p = out_.parameters[at(tile_at(tile).tensor)];
        int number = 0;
        for (const located_tile& h : p.homes) {
            if (h.tile == tile) {
                break;
            }
            number += h.rank == tile_at(tile).device ? 1 : 0;
        }
        return "r.parameter(" + literal(p.name) + (number > 0 ? ", " + std::to_string(number) : "") + ")";
    }

    /// The running state that a shard updates; empty for one that follows another.
    std::string state_text(int op, int which, const task& t) {
        const box own = region(in_.desc(op), which, t.ranges);
        const int parameter = g_.ops[op].parameters[in_.desc(op).operands[which].slot];
        for (const located_tile& h : out_.parameters[at(parameter)].homes) {
            if (h.rank == t.device && h.region == own && followed_.insert(h.tile).second) {
                return parameter_text(h.tile);
            }
        }
        return {};
    }

    graph_view g_;
    strategy_view s_;
    strategy plain_;
    lower_options options_;
    lowering::lowering_input in_;
    plan plan_;
    network_paths paths_;
    program out_;
    tile_tables tables_;
    free_names free_{python_words()};
    std::vector<std::string> names_;                 ///< by operator
    std::vector<std::map<int, std::string>> values_; ///< by stage: the variable of a tile
    std::set<int> followed_;                         ///< running states that a shard updates
    std::vector<std::string> refused_;
};

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
