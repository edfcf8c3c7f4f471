// SPDX-License-Identifier: Apache-2.0
// Bodies of estimate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/estimate.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE grid_cost grid_estimator::operator()(const device_grid& x) {
    grid_cost c;
    c.stage_bytes = memory(x);
    for (const index_t b : c.stage_bytes) {
        c.most_bytes = std::max(c.most_bytes, b);
    }
    c.fits = limit_ == 0 || c.most_bytes <= limit_;
    put_together(x, times_of(x), c);
    return c;
}

TESSERA_INLINE index_t grid_estimator::least(const device_grid& x) {
    const grid_times& t = times_of(x);
    index_t most = 0;
    for (int s = 0; s < x.stages; ++s) {
        index_t sum = 0;
        const index_t parts[3] = {s == 0 ? 1 : 0, blocks_in(x, s), s == x.stages - 1 ? 1 : 0};
        for (int k = 0; k < 3; ++k) {
            index_t backward = 0;
            for (const index_t b : t.first.backward[to_size(k)]) {
                backward += b;
            }
            sum += parts[k] * (t.first.forward[k] + backward + (x.recompute ? t.first.recompute[k] : 0));
        }
        most =
            std::max(most, x.recompute && s < x.stages - 1 ? sum - t.first.recompute[1] + t.first.recompute_last : sum);
    }
    return most * x.micro_batches;
}

TESSERA_INLINE void grid_estimator::put_together(const device_grid& x, const grid_times& times, grid_cost& c) {
    std::vector<simulation::activity> items;
    const int stages = x.stages;
    const int count = x.micro_batches;
    const auto add = [&](int device, index_t duration) {
        simulation::activity a;
        a.device = device;
        a.duration = std::max<index_t>(1, duration);
        if (device >= 0) {
            a.lanes.push_back({stages + device, a.duration}); // its engine, which updates share
        }
        items.push_back(a);
        return static_cast<int>(items.size()) - 1;
    };
    std::vector<std::vector<int>> forward(to_size(stages), std::vector<int>(to_size(count), -1));
    std::vector<std::vector<int>> backward = forward; // the last activity of each
    struct needed {
        int activity, stage, micro_batch;
        bool forward;
    };
    std::vector<needed> needs;
    std::vector<index_t> busy(to_size(stages), 0);
    const pipeline_schedule order = schedule::one_forward_one_backward(stages, count);
    for (int s = 0; s < stages; ++s) {
        const index_t blocks = blocks_in(x, s);
        const index_t ends[3] = {s == 0 ? 1 : 0, blocks, s == stages - 1 ? 1 : 0};
        for (const action& w : order.workers[to_size(s)]) {
            const grid_times::of_micro_batch& t = w.micro_batch == 0 ? times.first : times.next;
            index_t sum[3]{};
            for (int k = 0; k < 3; ++k) {
                sum[0] += ends[k] * t.forward[k];
                sum[1] += x.recompute ? ends[k] * t.recompute[k] : 0;
                sum[1] += x.recompute && k == 1 && s < stages - 1 ? t.recompute_last - t.recompute[1] : 0;
                for (const index_t b : t.backward[to_size(k)]) {
                    sum[2] += ends[k] * b;
                }
            }
            if (w.what == action_kind::forward) {
                forward[to_size(s)][to_size(w.micro_batch)] = add(s, sum[0]);
                busy[to_size(s)] += sum[0];
                if (s > 0) {
                    needs.push_back({forward[to_size(s)][to_size(w.micro_batch)], s - 1, w.micro_batch, true});
                }
                continue;
            }
            busy[to_size(s)] += sum[1] + sum[2];
            if (x.recompute) {
                add(s, sum[1]);
            }
            const bool last = w.micro_batch == count - 1;
            const int begin = static_cast<int>(items.size());
            backward[to_size(s)][to_size(w.micro_batch)] = last ? last_backward(x, s, t, items) : add(s, sum[2]);
            if (s < stages - 1) {
                needs.push_back({begin, s + 1, w.micro_batch, false});
            }
        }
    }
    for (const needed& n : needs) {
        const grid_times::of_micro_batch& t = n.micro_batch == 0 ? times.first : times.next;
        const int sent = add(-1, n.forward ? t.send_forward : t.send_backward);
        items[to_size(sent)].after = {(n.forward ? forward : backward)[to_size(n.stage)][to_size(n.micro_batch)]};
        items[to_size(n.activity)].after.push_back(sent);
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
        c.without_updates = std::max(c.without_updates, done.end[to_size(backward[to_size(s)][to_size(count - 1)])]);
        most = std::max(most, busy[to_size(s)]);
    }
    c.bubble = c.without_updates - most;
}

TESSERA_INLINE int grid_estimator::last_backward(const device_grid& x, int s, const grid_times::of_micro_batch& t,
                                                 std::vector<simulation::activity>& items) {
    int previous = -1;
    for (int op = g_.op_count - 1; op >= 0; --op) {
        if (x.stage[to_size(op)] != s) {
            continue;
        }
        const int b = repeats_.block_of(op);
        const int part = b < 0 ? 0 : b == repeats_.count ? 2 : 1;
        const int place = b < 0                 ? op
                          : b == repeats_.count ? op - repeats_.end()
                                                : (op - repeats_.first) % repeats_.length;
        simulation::activity a;
        a.device = s;
        a.duration = std::max<index_t>(1, t.backward[to_size(part)][to_size(place)]);
        a.lanes.push_back({x.stages + s, a.duration});
        items.push_back(a);
        previous = static_cast<int>(items.size()) - 1;
        for (const stored_parameter& h : stored_by(x, op)) {
            if (g_.parameters[h.parameter].trained && is_first_user(x, h.parameter, op)) {
                add_update(x, h, s, previous, items);
            }
        }
    }
    return previous;
}

TESSERA_INLINE const grid_estimator::halves&
grid_estimator::halves_for(const device_grid& x, const std::vector<std::vector<int>>& places, int stages) {
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
    halves_.push_back(std::move(h));
    return halves_.back();
}

TESSERA_INLINE std::pair<index_t, index_t> grid_estimator::half_time(const halves& h, index_t bytes) {
    index_t latency = 0;
    index_t slope = 0;
    lane_sum_.resize(to_size(on_.lanes()), 0);
    for (const cost::collective_choice& c : h.offered) {
        const cost::collective_cost& best = c.best(bytes);
        latency = std::max(latency, best.latency);
        slope = std::max(slope, best.slope);
        for (const cost::lane_load& l : best.lanes) {
            lane_sum_[to_size(l.lane)] += l.busy;
        }
    }
    for (const cost::collective_choice& c : h.offered) {
        for (const cost::lane_load& l : c.best(bytes).lanes) {
            slope = std::max(slope, lane_sum_[to_size(l.lane)]);
            lane_sum_[to_size(l.lane)] = 0;
        }
    }
    const device_rates& rates = on_.class_of(0).rates;
    const index_t wire =
        cost::collective_cost::scaled(slope, bytes) * 1000 / (rates.known() ? rates.link_share : index_t{1000});
    return {latency + wire + (rates.known() ? rates.collective_start : 0), wire};
}

TESSERA_INLINE void grid_estimator::add_update(const device_grid& x, const stored_parameter& h, int s, int after,
                                               std::vector<simulation::activity>& items) {
    const int stages = stages_of(x, h.parameter);
    const index_t members = members_of(x, h);
    const index_t bytes = h.elements * 4;
    const index_t states = options_.update.state_count();
    const device_class& c = on_.class_of(0);
    const auto memory_time = [&](index_t b) { return cost::memory_time(b, c, times_.reached); };
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
        add(after, x.stages + s, t, t - c.launch); // starting is latency
        return;
    }
    const auto [time, wire] = half_time(halves_for(x, h.places, stages), bytes);
    const int scatter = add(after, s, time, wire);
    const index_t own = c.launch + memory_time((3 + 2 * states) * bytes / members) + 1;
    const int update = add(scatter, x.stages + s, own, own - c.launch);
    add(update, s, time, wire);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
