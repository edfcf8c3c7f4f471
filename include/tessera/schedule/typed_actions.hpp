// SPDX-License-Identifier: Apache-2.0
// A schedule written action by action in a strategy that is a type: actions<worker<forward_of<0, 0>, backward_of<0,
// 0>>, ...>.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/constant_vector.hpp"
#include "tessera/schedule/typed_pipeline.hpp"

namespace tessera {

namespace detail {

template <action_kind What, int Stage, int MicroBatch>
struct typed_action {
    static constexpr action value{Stage, MicroBatch, What};
};

} // namespace detail

// What a worker does with a micro-batch in a stage.
template <int Stage, int MicroBatch>
struct forward_of : detail::typed_action<action_kind::forward, Stage, MicroBatch> {};
template <int Stage, int MicroBatch>
struct recompute_of : detail::typed_action<action_kind::recompute, Stage, MicroBatch> {};
template <int Stage, int MicroBatch>
struct backward_of : detail::typed_action<action_kind::backward, Stage, MicroBatch> {};
template <int Stage, int MicroBatch>
struct backward_input_of : detail::typed_action<action_kind::backward_input, Stage, MicroBatch> {};
template <int Stage, int MicroBatch>
struct backward_weight_of : detail::typed_action<action_kind::backward_weight, Stage, MicroBatch> {};

/// One worker's actions in order.
template <class... Actions>
struct worker {
    using is_worker = void;
    static constexpr void add(pipeline_schedule& s) {
        s.workers.emplace_back();
        (s.workers.back().push_back(Actions::value), ...);
    }
};
/// Micro-batches that run on the mirrored replica: device devices - 1 - d in place of d.
template <int... MicroBatches>
struct mirrored {
    static constexpr void add(pipeline_schedule& s) {
        mark(s.mirrored, s.micro_batches);
        (mark(s.mirrored, MicroBatches + 1), ...);
        ((s.mirrored[to_size(MicroBatches)] = 1), ...);
    }
    static constexpr void mark(std::vector<char>& marks, int count) {
        while (static_cast<int>(marks.size()) < count) {
            marks.push_back(0);
        }
    }
};
/// Micro-batches whose results are kept although operators recompute.
template <int... MicroBatches>
struct results_kept {
    static constexpr void add(pipeline_schedule& s) {
        mirrored<>::mark(s.keeps, s.micro_batches);
        (mirrored<>::mark(s.keeps, MicroBatches + 1), ...);
        ((s.keeps[to_size(MicroBatches)] = 1), ...);
    }
};

/// A schedule of workers, with as many stages and micro-batches as their actions have. Layers that say no device run on
/// that of their stage's worker: the first one on device 0, the second on device 1, and so on.
template <class... Parts>
struct actions {
    static constexpr detail::says what = detail::says::schedule;
    static constexpr int pool_size = 0;

    static TESSERA_VECTOR_CONSTEXPR pipeline_schedule make() {
        pipeline_schedule s;
        s.micro_batches = 0;
        (add_worker<Parts>(s), ...);
        for (const std::vector<action>& list : s.workers) {
            for (const action& x : list) {
                s.stages = x.stage >= s.stages ? x.stage + 1 : s.stages;
                s.micro_batches = x.micro_batch >= s.micro_batches ? x.micro_batch + 1 : s.micro_batches;
            }
        }
        (add_marks<Parts>(s), ...);
        return s;
    }
    static TESSERA_VECTOR_CONSTEXPR problem check(const strategy_view&) {
        detail::require_constant_vectors<actions>();
        return check_schedule(make());
    }
    static TESSERA_VECTOR_CONSTEXPR schedule_facts facts(const strategy_view&) { return facts_of(make()); }
    static TESSERA_VECTOR_CONSTEXPR int first_device(const strategy_view&, int stage) {
        const pipeline_schedule s = make();
        for (std::size_t w = 0; w < s.workers.size(); ++w) {
            for (const action& x : s.workers[w]) {
                if (x.stage == stage) {
                    return static_cast<int>(s.is_mirrored(x.micro_batch) ? s.workers.size() - 1 - w : w);
                }
            }
        }
        return 0;
    }
    static TESSERA_VECTOR_CONSTEXPR problem check_order(const graph_view& g, const strategy_view& s) {
        return check_schedule(g, s, make());
    }
    static pipeline_schedule make_schedule(const graph_view&, const strategy_view&) { return make(); }

private:
    template <class Part>
    static constexpr void add_worker(pipeline_schedule& s) {
        if constexpr (requires { typename Part::is_worker; }) {
            Part::add(s);
        }
    }
    template <class Part>
    static constexpr void add_marks(pipeline_schedule& s) {
        if constexpr (!requires { typename Part::is_worker; }) {
            Part::add(s);
        }
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
