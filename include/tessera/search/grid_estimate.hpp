// SPDX-License-Identifier: Apache-2.0
// What a grid strategy takes in time and memory, without lowering its devices one by one: replicas are folded into one, repeated blocks
// and micro-batches into a few, and what those few say is put together again.
#pragma once

#include "tessera/plan/lower.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/search/grid.hpp"
#include "tessera/simulate/simulate.hpp"

#include <array>

namespace tessera::search {

/// The estimate of a step.
struct grid_cost {
    index_t makespan = 0; ///< ns
    index_t without_updates =
        0; ///< ns until the last backward pass has ended: the rest is gradients that are still on their way
    index_t bubble = 0;               ///< ns that the busiest stage waits for others
    std::vector<index_t> stage_bytes; ///< of one device of every stage
    index_t most_bytes = 0;           ///< the largest of them
    bool fits = false;                ///< in the memory of the device with the least
};

/// Times of a stage's parts on one group of devices, from a simulation of the plan of four blocks in two stages and three micro-batches: the blocks
/// before and after the second and third are like all others.
struct grid_times {
    struct of_micro_batch {
        index_t forward[3]{}; ///< of what stands before the blocks, of a block, of what stands behind
        index_t recompute[3]{};
        index_t recompute_last = 0; ///< of a stage's last block, whose last results nobody there reads backward
        std::array<std::vector<index_t>, 3> backward; ///< of every operator, in the order of operators
        index_t send_forward = 1;                     ///< from stage to stage
        index_t send_backward = 1;
    };
    of_micro_batch first; ///< the first micro-batch
    of_micro_batch next;  ///< another one: gradients of parameters are added to those before
    of_micro_batch last;  ///< the last one, where one device updates the parameters alone
};

namespace detail {

/// Ends of the computation of every operator and micro-batch in a simulated plan.
class operator_ends {
public:
    operator_ends(const plan& p, const simulation::timeline& t, int ops)
        : ops_(ops), ends_(static_cast<std::size_t>(3 * ops * p.micro_batches), 0) {
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const task& x = p.tasks[i];
            if (x.kind == task_kind::compute && x.what != pass::update) {
                const int which = x.what == pass::forward ? 0 : x.what == pass::recompute ? 1 : 2;
                index_t& end = ends_[slot(which, x.op, x.micro_batch)];
                end = std::max(end, t.tasks[i].end);
            }
        }
    }
    /// Pass 0, 1 or 2: forward, recompute, backward.
    index_t end(int which, int op, int micro_batch) const { return ends_[slot(which, op, micro_batch)]; }
    /// The last end of the operators [first, last); 0 where they do nothing.
    index_t end(int which, int first, int last, int micro_batch) const {
        index_t latest = 0;
        for (int op = first; op < last; ++op) {
            latest = std::max(latest, end(which, op, micro_batch));
        }
        return latest;
    }

private:
    std::size_t slot(int which, int op, int m) const { return static_cast<std::size_t>((m * 3 + which) * ops_ + op); }
    int ops_;
    std::vector<index_t> ends_;
};

} // namespace detail

class grid_estimator {
public:
    static constexpr int blocks_needed = 4;

    /// The cluster and the network must outlive the estimator. Throws tessera::error for a network without enough repeated blocks.
    grid_estimator(const cluster& on, const graph_view& g, const simulation::task_times& times = {},
                   const lower_options& o = {})
        : on_(on), g_(g), times_(times), options_(o), repeats_(find_repeats(g)) {
        if (repeats_.count < blocks_needed) {
            throw error("tessera: a network of " + std::to_string(repeats_.count) +
                        " repeated blocks is not estimated from a few of them; lower and simulate its plan");
        }
        held_.resize(at(g.op_count));
        users_.resize(at(g.parameter_count));
        for (int op = 0; op < g.op_count; ++op) {
            for (int p : g.ops[op].parameters) {
                users_[at(p)].push_back(op);
            }
        }
        for (int d = 0; d < on.devices(); ++d) {
            const index_t m = on.class_of(d).memory_bytes;
            limit_ = m > 0 && (limit_ == 0 || m < limit_) ? m : limit_;
        }
    }

    const repeated_blocks& repeats() const { return repeats_; }
    index_t memory_limit() const { return limit_; }

    /// Samples of one micro-batch of one replica, at least 1.
    index_t samples(const device_grid& x) const {
        const index_t parts = index_t{x.data} * x.micro_batches;
        const index_t batch = g_.tensors[0].extents[0];
        if (batch % parts != 0) {
            throw error("tessera: a batch of " + std::to_string(batch) + " samples does not go evenly in " +
                        std::to_string(x.micro_batches) + " micro-batches of " + std::to_string(x.data) + " replicas");
        }
        return batch / parts;
    }

    /// Bytes of one device of every stage: parameters, their gradients, the optimizer's state (which replicas share), and what lives at the same
    /// time, extrapolated from plans of one and two blocks with one and two micro-batches in flight.
    std::vector<index_t> memory(const device_grid& x) {
        const memory_model& m = memory_of(x);
        std::vector<index_t> bytes;
        for (int s = 0; s < x.stages; ++s) {
            const int in_flight = std::min(x.stages - s, x.micro_batches);
            const index_t blocks = blocks_in(x, s);
            bytes.push_back(persistent(x, s) + m.part[0].at(blocks, in_flight));
            bytes.back() += s == 0 ? m.part[1].at(1, in_flight) : 0;
            bytes.back() += s == x.stages - 1 ? m.part[2].at(1, 1) : 0;
        }
        return bytes;
    }

    grid_cost operator()(const device_grid& x) {
        grid_cost c;
        c.stage_bytes = memory(x);
        for (const index_t b : c.stage_bytes) {
            c.most_bytes = std::max(c.most_bytes, b);
        }
        c.fits = limit_ == 0 || c.most_bytes <= limit_;
        put_together(x, times_of(x), c);
        return c;
    }

    /// No more than the step takes: what the busiest stage computes.
    index_t least(const device_grid& x) {
        const grid_times& t = times_of(x);
        index_t most = 0;
        for (int s = 0; s < x.stages; ++s) {
            index_t sum = 0;
            const index_t parts[3] = {s == 0 ? 1 : 0, blocks_in(x, s), s == x.stages - 1 ? 1 : 0};
            for (int k = 0; k < 3; ++k) {
                index_t backward = 0;
                for (const index_t b : t.first.backward[k]) {
                    backward += b;
                }
                sum += parts[k] * (t.first.forward[k] + backward + (x.recompute ? t.first.recompute[k] : 0));
            }
            most = std::max(most, x.recompute && s < x.stages - 1 ? sum - t.first.recompute[1] + t.first.recompute_last
                                                                  : sum);
        }
        return most * x.micro_batches;
    }

    /// The step times that the estimate is made of.
    const grid_times& times_of(const device_grid& x) {
        const route next = on_.between(0, x.stages > 1 ? x.data * x.tensor : 0);
        const index_t b = samples(x);
        const shortened_graph few = with_blocks(g_, repeats_, blocks_needed, 3 * b);
        const strategy s = few_blocks(x, few, 3, true);
        for (const timed& t : timed_) {
            if (t.samples == b && t.latency == next.latency && t.megabytes == next.megabytes && t.ops == s.ops) {
                return t.times;
            }
        }
        timed_.push_back({b, next.latency, next.megabytes, s.ops, measure(few.network.view(), s)});
        return timed_.back().times;
    }

private:
    struct timed {
        index_t samples, latency, megabytes;
        std::vector<configuration> ops;
        grid_times times;
    };
    /// Bytes of an arena: with one block and one micro-batch in flight, and what another block, micro-batch, and block of one adds.
    struct arena_model {
        index_t one = 0, block = 0, micro_batch = 0, both = 0;
        index_t at(index_t blocks, index_t in_flight) const {
            return one + (blocks - 1) * block + (in_flight - 1) * (micro_batch + (blocks - 1) * both);
        }
    };
    struct memory_model {
        index_t samples = 0;
        int micro_batches = 0;
        bool apart = false;
        std::vector<configuration> ops;
        arena_model part[3]; ///< of the blocks, and, where they are kept apart, of what stands before and behind
    };
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    int blocks_in(const device_grid& x, int stage) const {
        int n = 0;
        for (int b = 0; b < repeats_.count; ++b) {
            n += x.stage[at(repeats_.first + b * repeats_.length)] == stage ? 1 : 0;
        }
        return n;
    }

    /// The strategy of one replica for a few blocks; in two stages, at the devices of the grid's first two, or in one.
    strategy few_blocks(const device_grid& x, const shortened_graph& few, int micro_batches, bool two) const {
        const graph_view g = few.network.view();
        device_grid y;
        y.tensor = x.tensor;
        y.stages = 1;
        y.recompute = x.recompute;
        const int middle = repeats_.first + (blocks_needed / 2) * repeats_.length;
        for (int op = 0; op < g.op_count; ++op) {
            y.within.push_back(x.within[at(few.op_of[at(op)])]);
            y.stage.push_back(0);
        }
        strategy s = strategy_of(g, y);
        for (int op = middle; op < g.op_count && two && x.stages > 1; ++op) {
            s.ops[at(op)].stage = 1;
            s.ops[at(op)].start = x.data * x.tensor;
        }
        s.micro_batches = micro_batches;
        return s;
    }

    // ---- times -----------------------------------------------------------------------------------------------------------

    grid_times measure(const graph_view& g, const strategy& s) const {
        plan p = lower(g, s.view(), on_.devices(), options_);
        simulation::carrier how(on_, g, times_);
        const simulation::timeline t = simulation::simulate(p, how);
        const detail::operator_ends ends(p, t, g.op_count);
        grid_times all;
        const bool two = s.ops.back().stage > 0;
        all.first = micro_batch_times(g, ends, 0, two);
        all.next = micro_batch_times(g, ends, 1, two);
        all.last = micro_batch_times(g, ends, 2, two);
        return all;
    }

    grid_times::of_micro_batch micro_batch_times(const graph_view& g, const detail::operator_ends& ends, int m,
                                                 bool two) const {
        grid_times::of_micro_batch t;
        const int n = repeats_.length;
        int cut[6]; // what stands before, four blocks, what stands behind
        for (int k = 0; k < 5; ++k) {
            cut[k] = repeats_.first + k * n;
        }
        cut[5] = g.op_count;
        const index_t begin = m == 0 ? 0 : ends.end(2, 0, g.op_count, m - 1);
        index_t forward[6];
        forward[0] = std::max(begin, ends.end(0, 0, cut[0], m));
        for (int k = 1; k < 6; ++k) {
            forward[k] = std::max(forward[k - 1], ends.end(0, cut[k - 1], cut[k], m));
        }
        t.forward[0] = forward[0] - begin;
        t.forward[1] = forward[2] - forward[1];
        t.forward[2] = forward[5] - forward[4];
        t.send_forward = std::max<index_t>(1, forward[3] - forward[2] - t.forward[1]);
        const auto again = [&](int first, int last, index_t after) {
            return std::max<index_t>(0, ends.end(1, first, last, m) - after);
        };
        t.recompute[0] = again(0, cut[0], forward[two ? 2 : 5]);
        t.recompute[1] = again(cut[0], cut[1], std::max(forward[two ? 2 : 5], ends.end(1, 0, cut[0], m)));
        t.recompute_last = two ? again(cut[1], cut[2], ends.end(1, cut[0], cut[1], m)) : t.recompute[1];
        t.recompute[2] = again(cut[4], cut[5], ends.end(1, cut[3], cut[4], m));
        // Backward, every operator takes from the end of all before it to its own.
        index_t now = std::max(forward[5], ends.end(1, two ? cut[2] : 0, cut[5], m));
        const auto backward = [&](int first, int last, std::vector<index_t>* to) {
            for (int op = last - 1; op >= first; --op) {
                const index_t end = std::max(now, ends.end(2, op, m));
                if (to != nullptr) {
                    to->insert(to->begin(), end - now);
                }
                now = end;
            }
        };
        backward(cut[4], cut[5], &t.backward[2]);
        backward(cut[3], cut[4], nullptr);
        const index_t fourth = now;
        backward(cut[2], cut[3], &t.backward[1]);
        const index_t third = now - fourth;
        backward(cut[1], cut[2], nullptr);
        t.send_backward = std::max<index_t>(1, now - fourth - 2 * third);
        backward(cut[0], cut[1], nullptr);
        backward(0, cut[0], &t.backward[0]);
        return t;
    }

    /// One activity for every step of every stage, and, behind the last micro-batch's operators, for every parameter's gradients.
    void put_together(const device_grid& x, const grid_times& times, grid_cost& c) {
        std::vector<simulation::activity> items;
        const int stages = x.stages;
        const int count = x.micro_batches;
        const auto add = [&](int device, index_t duration) {
            simulation::activity a;
            a.device = device;
            a.duration = std::max<index_t>(1, duration);
            items.push_back(a);
            return static_cast<int>(items.size()) - 1;
        };
        std::vector<std::vector<int>> forward(at(stages), std::vector<int>(at(count), -1));
        std::vector<std::vector<int>> backward = forward; // the last activity of each
        struct needed {
            int activity, stage, micro_batch;
            bool forward;
        };
        std::vector<needed> needs;
        std::vector<index_t> busy(at(stages), 0);
        const pipeline_schedule order = schedule::one_forward_one_backward(stages, count);
        for (int s = 0; s < stages; ++s) {
            const index_t blocks = blocks_in(x, s);
            const index_t ends[3] = {s == 0 ? 1 : 0, blocks, s == stages - 1 ? 1 : 0};
            for (const step& w : order.workers[at(s)]) {
                const grid_times::of_micro_batch& t = w.micro_batch == 0 ? times.first : times.next;
                index_t sum[3]{};
                for (int k = 0; k < 3; ++k) {
                    sum[0] += ends[k] * t.forward[k];
                    sum[1] += x.recompute ? ends[k] * t.recompute[k] : 0;
                    sum[1] += x.recompute && k == 1 && s < stages - 1 ? t.recompute_last - t.recompute[1] : 0;
                    for (const index_t b : t.backward[k]) {
                        sum[2] += ends[k] * b;
                    }
                }
                if (w.what == step_kind::forward) {
                    forward[at(s)][at(w.micro_batch)] = add(s, sum[0]);
                    busy[at(s)] += sum[0];
                    if (s > 0) {
                        needs.push_back({forward[at(s)][at(w.micro_batch)], s - 1, w.micro_batch, true});
                    }
                    continue;
                }
                busy[at(s)] += sum[1] + sum[2];
                if (x.recompute) {
                    add(s, sum[1]);
                }
                const bool last = w.micro_batch == count - 1;
                const int begin = static_cast<int>(items.size());
                backward[at(s)][at(w.micro_batch)] = last ? last_backward(x, s, t, times, items) : add(s, sum[2]);
                if (s < stages - 1) {
                    needs.push_back({begin, s + 1, w.micro_batch, false});
                }
            }
        }
        for (const needed& n : needs) {
            const grid_times::of_micro_batch& t = n.micro_batch == 0 ? times.first : times.next;
            const int sent = add(-1, n.forward ? t.send_forward : t.send_backward);
            items[at(sent)].after = {(n.forward ? forward : backward)[at(n.stage)][at(n.micro_batch)]};
            items[at(n.activity)].after.push_back(sent);
        }
        std::vector<int> all(items.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i] = static_cast<int>(i);
        }
        simulation::schedule done;
        simulation::scheduler(stages, 2 * stages).run(items, all, done);
        c.makespan = done.makespan;
        index_t most = 0;
        for (int s = 0; s < stages; ++s) {
            c.without_updates = std::max(c.without_updates, done.end[at(backward[at(s)][at(count - 1)])]);
            most = std::max(most, busy[at(s)]);
        }
        c.bubble = c.without_updates - most;
    }

    // ---- gradients ---------------------------------------------------------------------------------------------------------

    /// The last micro-batch backward, operator by operator, each followed by the sums and updates of its parameters on the stage's links and beside
    /// its devices' computation. Returns the last operator's activity.
    int last_backward(const device_grid& x, int s, const grid_times::of_micro_batch& t, const grid_times& times,
                      std::vector<simulation::activity>& items) {
        int previous = -1;
        for (int op = g_.op_count - 1; op >= 0; --op) {
            if (x.stage[at(op)] != s) {
                continue;
            }
            const int b = repeats_.block_of(op);
            const int part = b < 0 ? 0 : b == repeats_.count ? 2 : 1;
            const int place = b < 0                 ? op
                              : b == repeats_.count ? op - repeats_.end()
                                                    : (op - repeats_.first) % repeats_.length;
            simulation::activity a;
            a.device = s;
            // Updates and local copies share a device's memory; replicas share the updates.
            const index_t beside = times.last.backward[part][at(place)] - times.next.backward[part][at(place)];
            a.duration = std::max<index_t>(1, t.backward[part][at(place)] + beside / x.data);
            items.push_back(a);
            previous = static_cast<int>(items.size()) - 1;
            for (const held& h : held_by(x, op)) {
                if (g_.parameters[h.parameter].trained && is_first_user(x, h.parameter, op)) {
                    add_update(x, h, s, previous, items);
                }
            }
        }
        return previous;
    }
    /// What an operator's places hold of its parameters.
    struct held {
        int parameter = 0;
        index_t elements = 0;                 ///< of the largest region
        std::vector<std::vector<int>> places; ///< which hold the same region
    };
    struct held_by_op {
        configuration within;
        std::vector<held> parameters;
    };
    const std::vector<held>& held_by(const device_grid& x, int op) {
        held_by_op& known = held_[at(op)];
        if (known.within == x.within[at(op)] && !known.parameters.empty()) {
            return known.parameters;
        }
        known = {x.within[at(op)], {}};
        const description d = g_.describe(op);
        for (int o = 0; o < d.operands.size() && !g_.ops[op].parameters.empty(); ++o) {
            const operand_kind k = d.operands[o].kind;
            if (k != operand_kind::parameter && k != operand_kind::state) {
                continue;
            }
            held h;
            h.parameter = g_.ops[op].parameters[d.operands[o].slot];
            std::vector<box> regions;
            for (int i = 0; i < known.within.shards(); ++i) {
                const box r = region(d, o, shard_at(known.within, nullptr, d, i).ranges);
                h.elements = std::max(h.elements, r.volume());
                std::size_t n = 0;
                while (n < regions.size() && !(regions[n] == r)) {
                    ++n;
                }
                if (n == regions.size()) {
                    regions.push_back(r);
                    h.places.emplace_back();
                }
                h.places[n].push_back(i);
            }
            known.parameters.push_back(static_cast<held&&>(h));
        }
        return known.parameters;
    }
    /// True for the operator of a stage that goes backward last of those that use a parameter.
    bool is_first_user(const device_grid& x, int parameter, int op) const {
        for (int u : users_[at(parameter)]) {
            if (x.stage[at(u)] == x.stage[at(op)]) {
                return u == op;
            }
        }
        return false;
    }
    int stages_of(const device_grid& x, int parameter) const {
        int n = 0;
        int last = -1;
        for (int u : users_[at(parameter)]) {
            n += x.stage[at(u)] != last ? 1 : 0;
            last = x.stage[at(u)];
        }
        return n;
    }
    /// Devices that hold a region of a parameter.
    index_t members_of(const device_grid& x, const held& h) const {
        return index_t{x.data} * static_cast<index_t>(h.places[0].size()) * stages_of(x, h.parameter);
    }

    /// Half of an all-reduce in all groups of a stage at once: lanes that several groups use are busy for all of them.
    struct halves {
        int data = 0, tensor = 0, stages = 0;
        std::vector<std::vector<int>> places;
        std::vector<cost::collective_choice> offered; ///< by group
    };
    const halves& halves_for(const device_grid& x, const std::vector<std::vector<int>>& places, int stages) {
        for (const halves& h : halves_) {
            if (h.data == x.data && h.tensor == x.tensor && h.stages == stages && h.places == places) {
                return h;
            }
        }
        halves h{x.data, x.tensor, stages, places, {}};
        for (const std::vector<int>& group : places) {
            std::vector<int> members;
            for (int k = 0; k < stages; ++k) { // of a tied parameter the last stage has copies too
                for (int i = 0; i < x.data; ++i) {
                    for (const int j : group) {
                        members.push_back((k * (x.stages - 1) * x.data + i) * x.tensor + j);
                    }
                }
            }
            h.offered.push_back(members.size() > 1 ? cost::all_reduce_halves(on_, members) : cost::collective_choice{});
        }
        halves_.push_back(static_cast<halves&&>(h));
        return halves_.back();
    }

    /// Time and link time of half an all-reduce of so many bytes in all groups at once.
    std::pair<index_t, index_t> half_time(const halves& h, index_t bytes) {
        index_t latency = 0;
        index_t slope = 0;
        lane_sum_.resize(at(on_.lanes()), 0);
        for (const cost::collective_choice& c : h.offered) {
            const cost::collective_cost& best = c.best(bytes);
            latency = std::max(latency, best.latency);
            slope = std::max(slope, best.slope);
            for (const cost::lane_load& l : best.lanes) {
                lane_sum_[at(l.lane)] += l.busy;
            }
        }
        for (const cost::collective_choice& c : h.offered) {
            for (const cost::lane_load& l : c.best(bytes).lanes) {
                slope = std::max(slope, lane_sum_[at(l.lane)]);
                lane_sum_[at(l.lane)] = 0;
            }
        }
        const index_t wire = cost::collective_cost::scaled(slope, bytes);
        return {latency + wire, wire};
    }

    void add_update(const device_grid& x, const held& h, int s, int after, std::vector<simulation::activity>& items) {
        const int stages = stages_of(x, h.parameter);
        const index_t members = members_of(x, h);
        const index_t bytes = h.elements * 4;
        const index_t states = options_.update.state_count();
        const device_class& c = on_.class_of(0);
        const auto memory_time = [&](index_t b) {
            return b * 1000 * 100 / (c.memory_megabytes * times_.reached.memory);
        };
        const auto add = [&](int before, int lane, index_t duration, index_t busy) {
            simulation::activity a;
            a.after = {before};
            a.duration = std::max<index_t>(1, duration);
            a.lanes = {{lane, busy}};
            items.push_back(a);
            return static_cast<int>(items.size()) - 1;
        };
        if (members == 1) {
            const index_t t = c.launch + memory_time(2 * bytes + 2 * states * bytes);
            add(after, x.stages + s, t, t);
            return;
        }
        const auto [time, wire] = half_time(halves_for(x, h.places, stages), bytes);
        const int scatter = add(after, s, time, wire);
        const index_t own = c.launch + memory_time((3 + 2 * states) * bytes / members) + 1;
        const int update = add(scatter, x.stages + s, own, own);
        add(update, s, time, wire);
    }
    // ---- memory ------------------------------------------------------------------------------------------------------------

    /// Parameters and the optimizer's state on a device of a stage, which all that hold the same share.
    index_t persistent(const device_grid& x, int s) {
        index_t bytes = 0;
        for (int op = 0; op < g_.op_count; ++op) {
            for (const held& h : x.stage[at(op)] == s ? held_by(x, op) : none_) {
                if (!is_first_user(x, h.parameter, op)) {
                    continue;
                }
                bytes += tessera::detail::align(h.elements * 4);
                if (g_.parameters[h.parameter].trained) {
                    const index_t members = members_of(x, h);
                    const index_t slice = (h.elements + members - 1) / members;
                    bytes += tessera::detail::align(slice * 4 * options_.update.state_count());
                }
            }
        }
        return bytes;
    }

    const memory_model& memory_of(const device_grid& x) {
        memory_model m;
        m.samples = samples(x);
        m.micro_batches = std::min(x.micro_batches, 4);
        m.apart = x.stages > 1;
        m.ops = few_blocks(x, with_blocks(g_, repeats_, 1, m.samples), 1, false).ops;
        for (const memory_model& known : memories_) {
            if (known.samples == m.samples && known.micro_batches == m.micro_batches && known.apart == m.apart &&
                known.ops == m.ops) {
                return known;
            }
        }
        const auto set = [&](index_t arena_model::*which, int blocks, int in_flight) {
            index_t bytes[3];
            arenas(x, blocks, in_flight, bytes);
            for (int k = 0; k < 3; ++k) {
                const arena_model& known = m.part[k];
                m.part[k].*which = bytes[k] - (which == &arena_model::one ? 0 : known.at(blocks, in_flight));
            }
        };
        set(&arena_model::one, 1, 1);
        set(&arena_model::block, 2, 1);
        if (x.micro_batches > 1) {
            set(&arena_model::micro_batch, 1, 2);
            set(&arena_model::both, 2, 2);
        }
        memories_.push_back(static_cast<memory_model&&>(m));
        return memories_.back();
    }

    /// The largest arena of a stage of so many blocks with so many micro-batches in flight, as 1F1B has them; where there are several stages, what
    /// stands before the blocks and behind them is put on devices of its own.
    void arenas(const device_grid& x, int blocks, int in_flight, index_t* bytes) const {
        const int count = std::min(x.micro_batches, in_flight + 2);
        const shortened_graph few = with_blocks(g_, repeats_, blocks, samples(x) * count);
        strategy s = few_blocks(x, few, count, false);
        pipeline_schedule order = schedule::empty_schedule(1, 1, count);
        const int ahead = std::min(in_flight - 1, count);
        for (int m = 0; m < count + ahead; ++m) {
            if (m < count) {
                order.workers[0].push_back({0, m, step_kind::forward});
            }
            if (m >= ahead) {
                order.workers[0].push_back({0, m - ahead, step_kind::backward});
            }
        }
        s.follow(order);
        for (std::size_t op = 0; op < s.ops.size() && x.stages > 1; ++op) {
            const int b = repeats_.block_of(few.op_of[op]);
            s.ops[op].start = b < 0 ? x.tensor : b == repeats_.count ? 2 * x.tensor : 0;
        }
        plan p = lower(few.network.view(), s.view(), 3 * x.tensor, options_);
        plan_memory(p);
        for (int k = 0; k < 3; ++k) {
            const auto first = p.arena_bytes.begin() + std::ptrdiff_t{k} * x.tensor;
            bytes[k] = *std::max_element(first, first + x.tensor);
        }
    }

    const cluster& on_;
    graph_view g_;
    simulation::task_times times_;
    lower_options options_;
    repeated_blocks repeats_;
    index_t limit_ = 0;
    std::vector<timed> timed_;
    std::vector<memory_model> memories_;
    std::vector<halves> halves_;
    std::vector<index_t> lane_sum_;
    std::vector<std::vector<int>> users_; ///< of every parameter
    std::vector<held_by_op> held_;        ///< of every operator
    const std::vector<held> none_;
};

} // namespace tessera::search
