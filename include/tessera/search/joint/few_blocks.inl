// SPDX-License-Identifier: Apache-2.0
// Bodies of few_blocks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/joint/few_blocks.hpp"

#include "tessera/net/with_batch.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/grid/search.hpp"
#include "tessera/search/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace tessera::search {

TESSERA_INLINE few_block_estimator::few_block_estimator(const graph_view& g, const cluster& on,
                                                        const lower_options& lowering,
                                                        const simulation::task_times& times)
    : on_(on), g_(g), lowering_(lowering), times_(times), repeats_(find_repeats(g)) {
    op_times_ = operator_times(g, on.class_of(0), times.reached);
    if (repeats_.count < blocks_needed) {
        return;
    }
    try {
        (void)with_blocks(g, repeats_, 2, g.tensors[0].extents[0]);
        estimates_ = true;
    } catch (const error&) { // something reads the middle of the blocks
    }
}

TESSERA_INLINE index_t few_block_estimator::samples_of(const parallelism& x) const {
    return std::max<index_t>(1, g_.tensors[0].extents[0] / (index_t{x.data} * x.micro_batches));
}

TESSERA_INLINE const std::vector<configuration>& few_block_estimator::within_of(const parallelism& x, index_t samples) {
    for (const within& w : within_) {
        if (w.share == x.share && w.how == x.how && w.samples == samples) {
            return w.ops;
        }
    }
    within_.push_back({x.share, x.how, samples, {}});
    const auto eliminated = [&](const graph_view& g) {
        return detail::eliminated_within(g, detail::places_of(on_, x.share, g.ops[0].attributes.math), x.share,
                                         x.how == shared_by::lean ? 1000 : 0);
    };
    if (!estimates_) {
        within_.back().ops = eliminated(with_batch(g_, samples).view());
        return within_.back().ops;
    }
    constexpr int blocks = 3; // the middle one stands for all
    const shortened_graph short_one = with_blocks(g_, repeats_, blocks, samples);
    const std::vector<configuration> found = eliminated(short_one.network.view());
    for (int op = 0; op < g_.op_count && !found.empty(); ++op) {
        within_.back().ops.push_back(found[to_size(repeats_.in_blocks(blocks, op))]);
    }
    return within_.back().ops;
}

TESSERA_INLINE parallelism_parts few_block_estimator::parts_of(const parallelism& x) {
    parallelism_parts parts;
    if (x.how == shared_by::exact || x.how == shared_by::lean) {
        parts.within = within_of(x, samples_of(x));
    }
    if (x.stages > 1) {
        parts.stage = estimates_ ? even_stages(g_, repeats_, x.stages * x.chunks)
                                 : schedule::balance_stages(op_times_, x.stages * x.chunks);
    }
    return parts;
}

TESSERA_INLINE int few_block_estimator::most_stages() const {
    int products = 0;
    for (int op = 0; op < g_.op_count; ++op) {
        products += tessera::detail::has_matrix(g_, op) ? 1 : 0;
    }
    return estimates_ ? repeats_.count : std::max(1, products / 2);
}

TESSERA_INLINE const few_block_estimator::alone& few_block_estimator::time_alone(index_t samples,
                                                                                 const recompute_rule& recomputed) {
    for (const alone& a : alone_) {
        if (a.samples == samples && a.recomputed == recomputed) {
            return a;
        }
    }
    parallelism x;
    x.recomputed = recomputed;
    const few_cost two = simulate_few(x, samples, 2);
    const few_cost four = simulate_few(x, samples, 4);
    x.micro_batches = 2;
    const line again{simulate_few(x, samples, 2).step - two.step, simulate_few(x, samples, 4).step - four.step};
    // Without updates: what a second micro-batch takes.
    alone_.push_back({samples, recomputed, again.at(repeats_.count), line{two.arena, four.arena}.at(repeats_.count)});
    return alone_.back();
}

TESSERA_INLINE const cluster& few_block_estimator::first_devices_of(int devices) {
    if (devices == on_.devices()) {
        return on_;
    }
    for (const owned<cluster>& c : firsts_) {
        if (c->devices() == devices) {
            return *c;
        }
    }
    firsts_.push_back(owned<cluster>(new cluster(first_devices(on_.graph(), devices))));
    return *firsts_.back();
}

TESSERA_INLINE few_block_estimator::few few_block_estimator::few_of(const parallelism& x, index_t samples, int blocks) {
    parallelism y = x;
    y.stages = y.chunks = 1;
    y.data = x.data % 2 == 0 ? 2 : x.data;
    few f{with_blocks(g_, repeats_, blocks, samples * y.data * y.micro_batches), {}, y.data, x.data / y.data};
    parallelism_parts parts;
    if (x.how == shared_by::exact || x.how == shared_by::lean) {
        const std::vector<configuration>& all = within_of(x, samples);
        if (all.empty()) {
            throw error("tessera: an operator cannot be split in " + std::to_string(x.share) +
                        " shards; use fewer devices for a replica");
        }
        for (const int op : f.network.op_of) {
            parts.within.push_back(all[to_size(op)]);
        }
    }
    f.how = strategy_of(f.network.network.view(), first_devices_of(x.data * x.share), y, parts);
    return f;
}

TESSERA_INLINE plan few_block_estimator::plan_of(const few& f, int devices) const {
    plan p = bound_plan(f.network.network.view(), f.how, devices, lowering_);
    for (tile& t : p.tiles) { // slices among all replicas are smaller
        t.bytes = t.slices > 1 ? (t.bytes + f.copies - 1) / f.copies : t.bytes;
    }
    plan_memory(p);
    return p;
}

TESSERA_INLINE index_t few_block_estimator::most_bytes(const plan& p, int first, int devices) {
    index_t most = 0;
    for (int d = first; d < first + devices; ++d) {
        most = std::max(most, p.arena_bytes[to_size(d)] + p.persistent_bytes[to_size(d)]);
    }
    return most;
}

TESSERA_INLINE few_block_estimator::few_cost few_block_estimator::simulate_few(const parallelism& x, index_t samples,
                                                                               int blocks) {
    const few f = few_of(x, samples, blocks);
    const cluster& on = first_devices_of(x.data * x.share);
    const plan p = plan_of(f, on.devices());
    simulation::task_times times = times_;
    times.parts = f.copies;
    simulation::task_activities activities(on, f.network.network.view(), times);
    return {simulation::simulate(p, activities).makespan, most_bytes(p, 0, f.data * x.share), p.arena_bytes[0]};
}

TESSERA_INLINE void few_block_estimator::memory_apart(const parallelism& x, index_t samples, int blocks, int kept,
                                                      index_t* bytes) {
    few f = few_of(x, samples, blocks);
    strategy& s = f.how;
    s.follow(detail::forward_ahead(x.micro_batches, kept - 1));
    const int devices = f.data * x.share;
    const int listed = static_cast<int>(s.pool.size());
    for (int i = 0; i < 2 * listed; ++i) {
        s.pool.push_back(s.pool[to_size(i)] + devices);
    }
    for (std::size_t op = 0; op < s.ops.size(); ++op) {
        const int b = repeats_.block_of(f.network.op_of[op]);
        const int part = b < 0 ? 1 : b == repeats_.count ? 2 : 0;
        s.ops[op].start += part * devices;
        s.ops[op].devices += s.ops[op].devices >= 0 ? part * listed : 0;
    }
    const plan p = plan_of(f, 3 * devices);
    for (int part = 0; part < 3; ++part) {
        bytes[part] = most_bytes(p, part * devices, devices);
    }
}

TESSERA_INLINE void few_block_estimator::measure_apart(measured& m) {
    parallelism x = m.of;
    x.micro_batches = std::min(x.micro_batches, 2);
    for (int kept = 1; kept <= x.micro_batches; ++kept) {
        index_t two[3];
        index_t four[3];
        memory_apart(x, m.samples, 2, kept, two);
        memory_apart(x, m.samples, 4, kept, four);
        for (int part = 0; part < 3; ++part) {
            m.apart[part][kept - 1] = {two[part], four[part]};
        }
    }
    m.is_apart = true;
}

TESSERA_INLINE const few_block_estimator::measured& few_block_estimator::measure(const parallelism& x) {
    parallelism y = x;
    y.stages = y.chunks = 1;
    y.micro_batches = std::min(x.micro_batches, 3);
    measured* m = nullptr;
    for (measured& known : measured_) {
        m = known.of == y && known.samples == samples_of(x) ? &known : m;
    }
    if (m == nullptr) {
        measured made;
        made.of = y;
        made.samples = samples_of(x);
        for (int count = std::min(x.micro_batches, 2); count <= made.of.micro_batches; ++count) {
            y.micro_batches = count;
            const few_cost two = simulate_few(y, made.samples, 2);
            const few_cost four = simulate_few(y, made.samples, 4);
            made.step[count - 1] = {two.step, four.step};
            made.bytes = {two.bytes, four.bytes};
        }
        measured_.push_back(made);
        m = &measured_.back();
    }
    if (x.stages > 1 && !m->is_apart) {
        measure_apart(*m);
    }
    return *m;
}

TESSERA_INLINE index_t few_block_estimator::time_between_stages(const parallelism& x, index_t samples) const {
    const route next = on_.between(0, x.data * x.share);
    const tensor_node& t = g_.tensors[g_.ops[repeats_.first + repeats_.length - 1].output];
    const index_t bytes = t.extents.volume() / t.extents[0] * samples / x.share * bytes_of(t.type);
    return next.latency + bytes * 1000 / std::max<index_t>(1, next.megabytes);
}

TESSERA_INLINE joint_cost few_block_estimator::operator()(const parallelism& x) {
    if (estimates_) {
        return of_few(x);
    }
    const finished_step s = simulate_finished(g_, on_, strategy_of(g_, on_, x, parts_of(x)), times_, lowering_);
    return {s.makespan, 0, *std::max_element(s.peak_bytes.begin(), s.peak_bytes.end())};
}

TESSERA_INLINE joint_cost few_block_estimator::of_few(const parallelism& x) {
    const measured& m = measure(x);
    const index_t count = x.micro_batches;
    joint_cost c;
    const index_t blocks = (repeats_.count + x.stages - 1) / x.stages;
    if (count == 1) {
        c.step = m.step[0].at(blocks);
    } else if (count == 2) {
        c.step = m.step[1].at(blocks);
    } else {
        c.step = m.step[1].at(blocks) + (count - 2) * (m.step[2].at(blocks) - m.step[1].at(blocks));
    }
    c.bytes = m.bytes.at(blocks);
    if (x.stages > 1) {
        add_pipeline(x, m, blocks, c);
    }
    return c;
}

TESSERA_INLINE void few_block_estimator::add_pipeline(const parallelism& x, const measured& m, index_t blocks,
                                                      joint_cost& c) const {
    const index_t count = x.micro_batches;
    const auto of_one = [&](index_t n) { // micro-batch
        return count == 1 ? m.step[0].at(n) : count == 2 ? m.step[1].at(n) / 2 : m.step[2].at(n) - m.step[1].at(n);
    };
    // What stands before the blocks and behind them are two stages' matter; the slower of them keeps the others waiting.
    const index_t ends = std::max<index_t>(0, of_one(0));
    index_t of_end[2] = {1, 1};
    for (int op = 0; op < g_.op_count; ++op) {
        const int b = repeats_.block_of(op);
        if (b < 0 || b == repeats_.count) {
            of_end[b < 0 ? 0 : 1] += op_times_[to_size(op)];
        }
    }
    const index_t slower = std::max(of_end[0], of_end[1]);
    const index_t spared = ends - static_cast<index_t>(static_cast<double>(ends) * static_cast<double>(slower) /
                                                       static_cast<double>(of_end[0] + of_end[1]));
    c.step -= (count - 1) * spared;
    c.bubble = (x.stages - 1) * ((of_one(blocks) - ends) / x.chunks + 2 * time_between_stages(x, m.samples));
    c.step += c.bubble;
    // Micro-batches of which the first worker keeps results, in those of all its chunks.
    const index_t all = count * x.chunks;
    const index_t first = x.chunks == 1 ? x.stages : x.stages * (x.chunks + 1) - 1;
    const auto with = [&](int part, index_t n, index_t chunks) {
        const index_t one = m.apart[part][0].at(n);
        const index_t more = count > 1 ? m.apart[part][1].at(n) - one : 0;
        return one + more * (std::min(all, chunks) - x.chunks) / x.chunks;
    };
    c.bytes = std::max(with(0, blocks, first) + with(1, 1, first), with(0, blocks, x.chunks) + with(2, 1, x.chunks));
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
