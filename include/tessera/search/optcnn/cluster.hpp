// SPDX-License-Identifier: Apache-2.0
// OptCNN on a device graph: transfers and sums are priced on the routes that they take, not all on the worst link.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/collective.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/search/optcnn/lane_loads.hpp"
#include "tessera/search/optcnn/optcnn.hpp"
#include "tessera/search/proportional.hpp"

#include <array>
#include <map>
#include <utility>

namespace tessera::search {

namespace detail {

/// The additive model's times on a device graph, with shard i on device i.
template <class Cluster>
class cluster_prices {
public:
    cluster_prices(const Cluster& on, precision math) : on_(on) {
        for (int a = 0; a < on.devices(); ++a) {
            machine m;
            const device_class& c = on.class_of(a);
            m.devices = on.devices();
            m.gigaflops = c.rate(work_kind::matrix_product, math);
            m.memory_megabytes = c.memory_megabytes;
            m.launch = c.launch;
            devices_.push_back(m);
        }
    }

    /// t_C: of the shard that takes longest on its device.
    cost_t compute(const cost::op_model& m, const configuration& c, const index_t* pool) const {
        cost_t most = 0;
        for (int i = 0; i < c.shards(); ++i) {
            const shard s = shard_at(c, pool, m.d, i);
            const cost_t mine = cost::shard_time(m, s, devices_[to_size(s.device)]);
            most = mine > most ? mine : most;
        }
        return most;
    }

    /// t_S: what the shards that share a piece of a parameter sum, all pieces at the same time; and sums inside the
    /// operator.
    cost_t synchronization(const cost::op_model& m, const configuration& c, const index_t* pool) {
        const description& d = m.d;
        cost_t total = 0;
        for (int o = 0; o < d.operands.size(); ++o) {
            const operand& x = d.operands[o];
            if (has(m.trained, o)) {
                const std::uint32_t first = x.additive ? reduced_loops(d, gradient_nest(d, o)) : 0;
                std::uint32_t own = first; // loops along which shards have pieces of their own
                for (int l = 0; l < d.loops.size(); ++l) {
                    own |= depends(x, l) ? bit(l) : 0;
                }
                total += 2 * sums(m, c, pool, o, own, first);
            }
        }
        for (int k = 0; k < d.nests.size(); ++k) {
            const int written = d.nests[k].write;
            const operand& x = d.operands[written];
            const bool inside = x.kind == operand_kind::intermediate;
            if (inside || m.loss) {
                const cost_t once = 2 * sums(m, c, pool, written, ~reduced_loops(d, k), 0);
                total += (inside && x.differentiable ? 2 : 1) * once; // a gradient through it leaves sums once more
            }
        }
        return total;
    }

private:
    /// Half of the all-reduces of an operand among shards that have the same index along the loops `own`; only the
    /// first along the loops `first` have a part.
    cost_t sums(const cost::op_model& m, const configuration& c, const index_t* pool, int operand, std::uint32_t own,
                std::uint32_t first) {
        std::map<std::vector<int>, std::pair<std::vector<int>, index_t>> groups; // by index: members, bytes
        for (int i = 0; i < c.shards(); ++i) {
            const shard s = shard_at(c, pool, m.d, i);
            std::vector<int> index;
            bool part = true;
            for (int l = 0; l < m.d.loops.size(); ++l) {
                if (has(own, l)) {
                    index.push_back(s.index[l]);
                }
                part = part && (!has(first, l) || s.index[l] == 0);
            }
            if (part) {
                auto& [members, bytes] = groups[index];
                members.push_back(s.device);
                bytes = region(m.d, operand, s.ranges).volume() * bytes_of(m.d.operands[operand].type);
            }
        }
        cost_t most = 0;
        std::map<int, cost_t> busy;
        for (const auto& [index, group] : groups) {
            const auto& [members, bytes] = group;
            if (members.size() < 2 || bytes == 0) {
                continue;
            }
            auto known = choices_.find(members);
            if (known == choices_.end()) {
                known = choices_.emplace(members, cost::all_reduce_halves(on_, members)).first;
            }
            const cost::collective_cost& how = known->second.best(bytes);
            most = std::max(most, how.time(bytes));
            for (const cost::lane_load& l : how.lanes) {
                busy[l.lane] += cost::collective_cost::scaled(l.busy, bytes);
            }
        }
        for (const auto& [lane, time] : busy) {
            most = std::max(most, time);
        }
        return most;
    }

    const cluster& on_;
    std::vector<machine> devices_;
    std::map<std::vector<int>, cost::collective_choice> choices_;
};

/// Builds an optcnn_problem on a device graph.
template <class Problem>
class cluster_builder {
public:
    cluster_builder(const graph_view& g, const cluster& on, const configuration_options& options,
                    const thread_pool& threads)
        : g_(g), on_(on), options_(options), prices_(on, g.ops[0].attributes.math), threads_(threads),
          rates_(rates_where_unequal(on, on.devices(), g.ops[0].attributes.math)), kinds_(kinds_of(g)) {}

    Problem run() {
        for (int op = 0; op < g_.op_count; ++op) {
            const int twin = kinds_[to_size(op)];
            nodes_.emplace_back();
            if (twin == op) {
                price(op);
            }
            problem_.configurations.push_back(nodes_[to_size(twin)].configurations);
            twin == op ? problem_.costs.add_node(nodes_[to_size(twin)].unary) : problem_.costs.add_node_like(twin);
        }
        const lane_loads lanes(on_);
        add_edges(problem_.costs, g_, kinds_, threads_, [&](int from, int to, int slot) {
            const node& v = nodes_[to_size(to)];
            const operand& input = v.model.d.operands[v.model.d.find_operand(operand_kind::input, slot)];
            return lanes.edge_times(nodes_[to_size(from)].output, v.inputs[to_size(slot)], bytes_of(input.type),
                                    input.differentiable);
        });
        return std::forward<Problem>(problem_);
    }

private:
    using tiles = lane_loads::tiles;
    struct node {
        cost::op_model model;
        std::vector<configuration> configurations;
        std::vector<cost_t> unary;
        tiles output;
        std::vector<tiles> inputs;
    };

    void price(int op) {
        node& n = nodes_.back();
        n.model = cost::model_of(g_, op);
        const description& d = n.model.d;
        n.inputs.resize(to_size(g_.ops[op].inputs.size()));
        const auto offer = [&](const configuration& c) {
            n.configurations.push_back(c);
            const index_t* pool = problem_.pool.data();
            n.unary.push_back(prices_.compute(n.model, c, pool) + prices_.synchronization(n.model, c, pool));
            n.output.add(d, d.output(), c, pool);
            for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
                n.inputs[to_size(slot)].add(d, d.find_operand(operand_kind::input, slot), c, pool);
            }
        };
        for_each_offered(g_, op, d, on_.devices(), options_, offer);
        for (const loop_name name : {loop_name::sample, loop_name::channel}) {
            proportional_split p = split_in_proportion(d, name, rates_);
            if (!p.cuts.empty()) {
                p.what.cuts[d.find_loop(name)] = static_cast<int>(problem_.pool.size());
                problem_.pool.insert(problem_.pool.end(), p.cuts.begin(), p.cuts.end());
                offer(p.what);
            }
        }
    }
    graph_view g_;
    const cluster& on_;
    configuration_options options_;
    cluster_prices<cluster> prices_;
    const thread_pool& threads_;
    std::vector<index_t> rates_; ///< of all devices, where they are unequal
    Problem problem_;
    std::vector<int> kinds_; ///< the first operator that is alike
    std::vector<node> nodes_;
};

} // namespace detail

/// More devices than this are priced as a uniform_machine(): tables of a device graph would take minutes.
inline constexpr int most_priced_devices = 64;

/// The cost tables of a network on a device graph, shard i on device i: the slowest device's share for t_C, the best
/// all-reduce among the devices that share for t_S, and
/// for t_X the greatest latency and the busiest lane of all that moves at once. Where devices are unequal, splits in
/// proportion to their rates are offered too.
template <class Problem = optcnn_problem>
Problem make_optcnn_problem(const graph_view& g, const cluster& on, const configuration_options& options = {},
                            const thread_pool& threads = {}) {
    if (on.devices() > most_priced_devices) {
        return make_optcnn_problem<Problem>(g, uniform_machine(on, g.ops[0].attributes.math), options, threads);
    }
    return detail::cluster_builder<Problem>(g, on, options, threads).run();
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
