// SPDX-License-Identifier: Apache-2.0
// What a strategy needs of every device's memory, kept up to date from change to change.
#pragma once

#include "tessera/search/mcmc/proposals.hpp"

namespace tessera::search {

/// Counts parameters with their first users, their gradients and the optimizer's state, and every operator's output, which backward needs. What is gathered from other
/// devices and gradients on their way come on top, so that this is a lower bound; plan_memory() knows the whole.
class memory_estimate {
public:
    /// `states`: numbers that the optimizer keeps for each parameter.
    memory_estimate(const graph_view& g, const cluster& on, const strategy& s, int states)
        : g_(g), states_(states), bytes_(static_cast<std::size_t>(on.devices()), 0) {
        for (int d = 0; d < on.devices(); ++d) {
            limits_.push_back(on.class_of(d).memory_bytes);
        }
        first_user_.assign(static_cast<std::size_t>(g.parameter_count), -1);
        for (int op = g.op_count - 1; op >= 0; --op) {
            for (int p : g.ops[op].parameters) {
                first_user_[at(p)] = op;
            }
        }
        descriptions_.reserve(at(g.op_count));
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
            add(op, s.ops[at(op)], s.pool.data(), bytes_, 1);
        }
    }

    /// Bytes of each device.
    const std::vector<index_t>& bytes() const { return bytes_; }
    /// Bytes beyond the devices' capacities, all devices together; a capacity of 0 is no limit.
    index_t excess() const { return excess_of(bytes_); }
    /// The same after changes of some operators; accept() keeps them.
    index_t excess_after(const strategy& now, const std::vector<change>& changes) {
        next_ = bytes_;
        for (const change& x : changes) {
            add(x.op, now.ops[at(x.op)], now.pool.data(), next_, -1);
            add(x.op, x.what, x.pool.data(), next_, 1);
        }
        return excess_of(next_);
    }
    void accept() { bytes_ = next_; }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void add(int op, const configuration& c, const index_t* pool, std::vector<index_t>& bytes, index_t sign) const {
        const description& d = descriptions_[at(op)];
        const bool view = d.facts.view;
        for (int i = 0; i < c.shards(); ++i) {
            const shard s = shard_at(c, pool, d, i);
            for (int o = 0; o < d.operands.size(); ++o) {
                const operand& x = d.operands[o];
                const bool own =
                    x.kind == operand_kind::parameter && first_user_[at(g_.ops[op].parameters[x.slot])] == op;
                const index_t copies = own ? 2 + states_ : x.kind == operand_kind::output && !view ? 1 : 0;
                bytes[at(s.device)] +=
                    copies == 0 ? 0 : sign * copies * region(d, o, s.ranges).volume() * bytes_of(x.type);
            }
        }
    }
    index_t excess_of(const std::vector<index_t>& bytes) const {
        index_t sum = 0;
        for (std::size_t d = 0; d < bytes.size(); ++d) {
            sum += limits_[d] > 0 && bytes[d] > limits_[d] ? bytes[d] - limits_[d] : 0;
        }
        return sum;
    }

    graph_view g_;
    int states_;
    std::vector<description> descriptions_;
    std::vector<int> first_user_; ///< of each parameter
    std::vector<index_t> limits_;
    std::vector<index_t> bytes_;
    std::vector<index_t> next_;
};

} // namespace tessera::search
