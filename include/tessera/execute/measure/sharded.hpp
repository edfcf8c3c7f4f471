// SPDX-License-Identifier: Apache-2.0
// One operator in shards, or a chain of them, without a network around it: for micro-benchmarks, and to look at what a
// split costs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/owned.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/local/executor.hpp"
#include "tessera/execute/local/initialize.hpp"
#include "tessera/execute/local/plain_values.hpp"
#include "tessera/execute/local/stored_values.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/strategy/typed_part.hpp"

#include <span>
#include <utility>

namespace tessera {

/// The layer Op split as Options say, with which on<> would name it, or as the layouts of its inputs and of its output
/// ask for; or a chain of layers, sequential<conv, relu> (or any part of a network), whose Options are on<> for its
/// layers and others<>: what one of them leaves is redistributed to what the next one reads. It is planned for the
/// devices that there are and built by backend B. The forward and the backward tasks of its plan run by themselves, as
/// often as wanted. Forward includes the copy of what each shard reads of the caller's inputs; backward that of the
/// output's gradient, the gradients of inputs and parameters, and the reduction of the latter over the shards (an
/// update of learning rate 0, which leaves the parameters as they are). Where a split leaves partial outputs or input
/// gradients at the ends, they stay so: to add them up belongs to whoever reads them. Where the first of Options are
/// extents<> of the inputs, the compiler checks shapes and splits.
template <class B, class Op, class... Options>
class sharded_on {
    using how = detail::part_options<Op, Options...>;
    static_assert(how::ok || true, "tessera: refused above"); // where the type is named, not first where it is made

public:
    /// Input data, parameters and the output's gradient are pseudo-random. `own`: the backend's own options, where it
    /// has any. Throws tessera::error, with the words of the rule that is broken, where the operator does not take the
    /// inputs, or the split is not legal or wants more devices.
    sharded_on(const local_devices& devices, const shape& input, precision math = precision::fp32,
               const own_options_of<B>& own = {})
        : sharded_on(devices, std::vector<shape>{input}, math, own) {}
    /// The same where Options have the extents: layouts, or extents<> before the splits. They are checked by the
    /// compiler.
    explicit sharded_on(const local_devices& devices, precision math = precision::fp32,
                        const own_options_of<B>& own = {})
        : sharded_on(devices, how::inputs(), math, own) {
        static_assert(how::by_layouts || how::by_extents,
                      "tessera: layouts of the operator's inputs and of its output say the extents, or extents<> of "
                      "the inputs before the splits; with splits alone hand in the shapes of the inputs");
    }
    /// The same for operators of several inputs. A loss gets its labels by itself.
    sharded_on(const local_devices& devices, const std::vector<shape>& inputs, precision math = precision::fp32,
               const own_options_of<B>& own = {})
        : devices_(devices.of_one_process("an operator by itself")), graph_(make_graph(inputs, math)),
          strategy_(how::of(graph_.view())), backend_(make_backend<B, operators_of_part<Op>>(optimizer(), own)) {
        plan p = make_plan();
        require_room(backend_, p.arena_bytes);
        store_ = parameter_store(p, memory_of(backend_));
        runner_.reset(new executor<B>(backend_, devices_.threads(), view(), std::move(p), store_));
        while (boundary_ < tasks() && !is_backward(bound().tasks[to_size(boundary_)])) {
            ++boundary_;
        }
        fill();
    }
    sharded_on(const sharded_on&) = delete;
    sharded_on& operator=(const sharded_on&) = delete;

    void forward() { runner_->run_tasks(state_, 0, boundary_); }
    /// After at least one forward().
    void backward() { runner_->run_tasks(state_, boundary_, tasks()); }
    /// Forward and backward in one run with the clock read around every task: `measured` compares task by task with a
    /// simulation of bound().
    void run(simulation::timeline& measured) { runner_->run(state_, measured); }

    const plan& bound() const { return runner_->bound(); }
    graph_view network() const { return graph_.view(); } ///< what bound() is a plan of
    const strategy& split() const { return strategy_; }  ///< under which it was made
    const local_devices& devices() const { return devices_; }
    /// For those who time single tasks: the backend, where the plan's tiles lie, and the number of the first task that
    /// backward() runs.
    B& backend() { return backend_; }
    const addresses& memory() const { return runner_->memory(); }
    int first_backward_task() const { return boundary_; }
    index_t moved_bytes() const { return bound().moved_bytes; } ///< between devices, forward and backward together
    /// Floating-point operations of the whole operators, a multiply-add counted as two, without what shards compute
    /// twice.
    index_t forward_flops() const {
        return flops([](const description& d) { return tessera::forward_flops(d); });
    }
    index_t backward_flops() const {
        return flops([](const description& d) { return tessera::backward_flops(d); });
    }

    // Data of the caller, to be changed between runs.
    std::span<float> input(int k = 0) { return numbers_[to_size(view().ops[0].inputs[k])]; }
    /// Integers: what the last operator compares with or, if that takes none, what the first looks up.
    std::span<std::int32_t> labels() { return integers_[to_size(last_integers())]; }
    std::span<float> output_gradient() { return numbers_.back(); }
    run_state& state() { return state_; } ///< seed and step, of which dropout's mask is a function

    /// All elements of parameter `slot` (0 weights, 1 bias, 2 running statistics) of operator `op` of a chain, plain.
    void set_parameter(int slot, std::span<const float> values, int op = 0) {
        const int p = view().ops[op].parameters[slot];
        detail::store_values(backend_, store_, p, -1, view().parameters[p].extents, values);
    }

    std::vector<float> output() const { return collect(bound().results, view().ops[view().op_count - 1].output); }
    std::vector<float> input_gradient(int k = 0) const { return collect(bound().results, view().ops[0].inputs[k]); }
    /// Of parameter `slot`: the sum of the shards' contributions.
    std::vector<float> gradient(int slot, int op = 0) const {
        const int p = view().ops[op].parameters[slot];
        return sum_pieces(bound().gradients, p, view().parameters[p].extents);
    }

private:
    int tasks() const { return static_cast<int>(bound().tasks.size()); }
    graph_view view() const { return graph_.view(); }

    static graph make_graph(const std::vector<shape>& inputs, precision math) {
        if (inputs.empty()) {
            throw error("tessera: " + std::string(type_name<Op>()) +
                        " is to run by itself, but of no input; give the shapes of its inputs");
        }
        graph_builder b;
        detail::build_alone<Op>(b, inputs.data(), static_cast<int>(inputs.size()));
        if (b.refused) {
            throw error(to_text(b.refused, b.refused_at));
        }
        graph g = b.built();
        set_precision(g, math);
        return g;
    }

    template <class Count>
    index_t flops(Count count) const {
        index_t all = 0;
        for (int op = 0; op < view().op_count; ++op) {
            all += count(view().describe(op));
        }
        return all;
    }

    int last_integers() const {
        int last = 0;
        for (int t = 0; t < view().tensor_count; ++t) {
            last = view().tensors[t].type == element::i32 ? t : last;
        }
        return last;
    }

    plan make_plan() {
        require(view(), strategy_.view(), devices_.count());
        lower_options o;
        o.keep_gradients = true;
        o.output_gradient = view().tensor_count - 1;
        plan p = lower(view(), strategy_.view(), devices_.count(), o);
        backend_.bind(p, view(), nullptr);
        // What forward leaves must survive any number of backward runs.
        for (const task& t : p.tasks) {
            if (is_backward(t)) {
                break;
            }
            for (int w : t.writes) {
                p.tiles[to_size(p.root(w))].keep = true;
            }
            if (t.compute().workspace >= 0) {
                p.tiles[to_size(p.root(t.compute().workspace))].keep = true;
            }
        }
        finish(view(), p);
        return p;
    }

    static bool is_backward(const task& t) {
        return t.what == pass::backward || t.what == pass::backward_input || t.what == pass::backward_weight;
    }

    /// Numbers in [-1, 1), a function of tensor and index.
    void fill() {
        const graph_view g = view();
        for (int t = 0; t < g.tensor_count; ++t) {
            const auto n = to_size(g.tensors[t].extents.volume());
            numbers_.emplace_back();
            integers_.emplace_back();
            if (g.tensors[t].type == element::i32) {
                const auto count = to_size(g.integers_in(t));
                for (std::size_t i = 0; i < n; ++i) {
                    integers_.back().push_back(static_cast<std::int32_t>(i % count));
                }
            } else if (g.tensors[t].producer < 0) {
                const std::uint64_t key = op::mix(static_cast<std::uint64_t>(t));
                for (std::size_t i = 0; i < n; ++i) {
                    numbers_.back().push_back(static_cast<float>(op::mix(key ^ i) >> 40U) / 8388608.0F - 1.0F);
                }
            }
            const bool integers = g.tensors[t].type == element::i32;
            pointers_.push_back(integers ? static_cast<const void*>(integers_.back().data()) : numbers_.back().data());
        }
        state_.inputs = pointers_.data();
        state_.learning_rate = 0;
        for (int p = 0; p < g.parameter_count; ++p) {
            std::vector<float> values(to_size(g.parameters[p].extents.volume()));
            initialize(g, p, 1, values);
            detail::store_values(backend_, store_, p, -1, g.parameters[p].extents, values);
        }
    }

    std::vector<float> collect(const std::vector<result_piece>& pieces, int tensor) const {
        return sum_pieces(pieces, tensor, view().tensors[tensor].extents);
    }
    /// The parts of a tensor added up, every part and region once.
    std::vector<float> sum_pieces(const std::vector<result_piece>& pieces, int tensor, const shape& extents) const {
        std::vector<float> out(to_size(extents.volume()), 0.0F);
        detail::piece_sum().add(backend_, bound(), memory(), pieces, tensor, 0, whole(extents), out);
        return out;
    }

    local_devices devices_;
    graph graph_;
    strategy strategy_;
    B backend_;
    parameter_store store_;
    owned<executor<B>> runner_;                       ///< the one that sessions have, in parts
    int boundary_ = 0;                                ///< first backward task
    std::vector<std::vector<float>> numbers_;         ///< of every tensor that is an input of numbers
    std::vector<std::vector<std::int32_t>> integers_; ///< of every tensor that is an input of integers
    std::vector<const void*> pointers_;
    run_state state_;
};

/// The same on the default backend: sharded<conv2, split<sample, 2>, split<channel, 2>> op{devices, input_shape}, or
/// sharded<fc1, layout<extents<64, 320>, ...>, layout<extents<64, 50>, ...>> op{devices}, or
/// sharded<sequential<conv2, relu>, on<conv2, split<channel, 2>>, on<relu, split<sample, 2>>> op{devices, input_shape}.
template <class Op, class... Options>
using sharded = sharded_on<default_backend<Op>, Op, Options...>;

} // namespace tessera

#include "tessera/base/end_header.inl"
