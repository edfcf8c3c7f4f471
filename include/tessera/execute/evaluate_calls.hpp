// SPDX-License-Identifier: Apache-2.0
// evaluate() of a network that is a type, over any number of batches.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/batch.hpp"
#include "tessera/execute/local/device_turn.hpp"
#include "tessera/execute/scores.hpp"

#include <iterator>

namespace tessera::detail {

/// Sums of what a session says of batches. A base of Self, which has graph(), graph_for(samples), devices() and
/// values(); it owns nothing.
template <class Self, class Net>
class evaluate_calls {
public:
    /// Loss and accuracy with running statistics and without dropout, over all batches of a range, each of them
    /// anything that step() takes but feeds; short ones count as much as they have samples. Throws tessera::error where
    /// there are none, and when the loss is not a finite number.
    template <class Range>
    requires requires(Range& r) {
        std::begin(r);
        std::end(r);
    }
    scores evaluate(Range&& batches) {
        score_sum total;
        if constexpr (requires { std::span<const input_data>(batches); }) {
            add(total, std::span<const input_data>(batches));
        } else {
            for (auto&& b : batches) {
                add(total, b);
            }
        }
        if (total.is_empty()) {
            throw error("tessera: an evaluation of no batches; hand in at least one sample");
        }
        return total.total();
    }
    /// The same of one batch: anything that step() takes.
    template <Batch T>
    scores evaluate(const T& samples) {
        score_sum total;
        add(total, samples);
        return total.total();
    }
    template <class... Names>
    scores evaluate(const named_batch<Names...>& samples) {
        score_sum total;
        add(total, samples);
        return total.total();
    }
    template <class First, class... Names>
    scores evaluate(const feed<First>& first, const feed<Names>&... inputs) {
        return evaluate(named_batch<First, Names...>(first, inputs...));
    }

protected:
    evaluate_calls() = default;
    ~evaluate_calls() = default;

private:
    template <Batch T>
    void add(score_sum& total, const T& samples) {
        const device_turn turn(self().devices().threads());
        const auto inputs = inputs_of(self().graph_for(samples), samples);
        add(total, std::span<const input_data>(inputs));
    }
    template <class... Names>
    void add(score_sum& total, const named_batch<Names...>& samples) {
        const auto inputs = inputs_of<Net>(self().graph(), samples);
        add(total, std::span<const input_data>(inputs));
    }
    void add(score_sum& total, std::span<const input_data> inputs) {
        const device_turn turn(self().devices().threads());
        const evaluation e = self().values().evaluate(inputs);
        const tensor_node& first =
            self().values().graph_of(inputs).tensors[0]; // an input: every network starts with one
        const index_t samples = inputs[0].elements * first.extents[0] / first.extents.volume();
        total.add(e, samples);
    }

    Self& self() { return static_cast<Self&>(*this); }
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
