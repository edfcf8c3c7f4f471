// SPDX-License-Identifier: Apache-2.0
// One operator in shards, without a network around it: for micro-benchmarks, and to look at what a split costs.
#pragma once

#include "tessera/base/owned.hpp"
#include "tessera/execute/devices.hpp"
#include "tessera/execute/executor.hpp"
#include "tessera/execute/initialize.hpp"
#include "tessera/execute/plain_values.hpp"
#include "tessera/execute/stored_values.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/strategy/typed_fit.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <span>

namespace tessera {

/// The operator Op split as the options of on<> say, or as the layouts of its inputs and of its output ask for, planned for the devices that there are and built by backend B. The forward and
/// the backward tasks of its plan run by themselves, as often as wanted. Forward includes the copy of what each shard reads of
/// the caller's inputs; backward that of the output's gradient, the gradients of inputs and parameters, and the reduction of
/// the latter over the shards (an update of learning rate 0, which leaves the parameters as they are). Where a split leaves partial
/// outputs or input gradients, they stay so: to add them up belongs to whoever reads them.
template <class B, class Op, class... Options>
class sharded_on {
public:
    /// Input data, parameters and the output's gradient are pseudo-random. `own`: the backend's own options, where it has any. Throws tessera::error, with the words of the rule that is
    /// broken, where the operator does not take the inputs, or the split is not legal or wants more devices.
    sharded_on(const local_devices& devices, const shape& input, precision math = precision::fp32,
               const own_options_of<B>& own = {})
        : sharded_on(devices, std::vector<shape>{input}, math, own) {}
    /// The same where Options are layouts, which have the extents. They are checked by the compiler.
    explicit sharded_on(const local_devices& devices, precision math = precision::fp32,
                        const own_options_of<B>& own = {})
        : sharded_on(devices, shapes_of_layouts(), math, own) {
        static_assert(by_layouts, "tessera: layouts of the operator's inputs and of its output say the extents; with "
                                  "splits hand in the shapes of the inputs");
    }
    /// The same for operators of several inputs. A loss gets its labels by itself.
    sharded_on(const local_devices& devices, const std::vector<shape>& inputs, precision math = precision::fp32,
               const own_options_of<B>& own = {})
        : devices_(devices), graph_(make_graph(inputs, math)),
          backend_(make_backend<B, operator_of<Op>>(optimizer(), own)) {
        plan p = make_plan();
        require_room(backend_, p.arena_bytes);
        store_ = parameter_store(p, memory_of(backend_));
        runner_.reset(new executor<B>(backend_, devices_.threads(), view(), static_cast<plan&&>(p), store_));
        while (boundary_ < tasks() && !is_backward(bound().tasks[static_cast<std::size_t>(boundary_)])) {
            ++boundary_;
        }
        fill();
    }
    sharded_on(const sharded_on&) = delete;
    sharded_on& operator=(const sharded_on&) = delete;

    void forward() { runner_->run_tasks(state_, 0, boundary_); }
    /// After at least one forward().
    void backward() { runner_->run_tasks(state_, boundary_, tasks()); }

    const plan& bound() const { return runner_->bound(); }
    /// For those who time single tasks: the backend, where the plan's tiles lie, and the number of the first task that backward() runs.
    B& backend() { return backend_; }
    const addresses& memory() const { return runner_->memory(); }
    int first_backward_task() const { return boundary_; }
    index_t moved_bytes() const { return bound().moved_bytes; } ///< between devices, forward and backward together
    /// Floating-point operations of the whole operator, a multiply-add counted as two, without what shards compute twice.
    index_t forward_flops() const { return tessera::forward_flops(view().describe(0)); }
    index_t backward_flops() const { return tessera::backward_flops(view().describe(0)); }

    // Data of the caller, to be changed between runs.
    std::span<float> input(int k = 0) { return numbers_[static_cast<std::size_t>(view().ops[0].inputs[k])]; }
    std::span<std::int32_t> labels() { return labels_; }
    std::span<float> output_gradient() { return numbers_.back(); }
    run_state& state() { return state_; } ///< seed and step, of which dropout's mask is a function

    /// All elements of parameter `slot` (0 weights, 1 bias, 2 running statistics), plain.
    void set_parameter(int slot, std::span<const float> values) {
        const int p = view().ops[0].parameters[slot];
        detail::store_values(backend_, store_, p, -1, view().parameters[p].extents, values);
    }

    std::vector<float> output() const { return collect(bound().results, view().ops[0].output); }
    std::vector<float> input_gradient(int k = 0) const { return collect(bound().results, view().ops[0].inputs[k]); }
    /// Of parameter `slot`: the sum of the shards' contributions.
    std::vector<float> gradient(int slot) const {
        const int p = view().ops[0].parameters[slot];
        return sum_pieces(bound().gradients, p, view().parameters[p].extents);
    }

private:
    int tasks() const { return static_cast<int>(bound().tasks.size()); }
    graph_view view() const { return graph_.view(); }

    static graph make_graph(const std::vector<shape>& inputs, precision math) {
        const op_record& record = record_of(Op::attributes);
        graph_builder b;
        std::vector<int> read;
        for (const shape& s : inputs) {
            const bool looks_up = record.integers != nullptr && record.integers(Op::attributes, s, 0) > 0;
            read.push_back(b.add_input(s, looks_up ? element::i32 : element::f32, "input"));
        }
        if (record.facts.loss && record.inputs == 2 && inputs.size() == 1) {
            const label_tensor labels = labels_of(Op::attributes, inputs[0]);
            read.push_back(b.add_input(labels.extents, labels.type, "labels"));
        }
        const int out = b.add_op(Op::attributes, name_of_layer<Op>(), key_of<Op>, false, read.data(),
                                 static_cast<int>(read.size()));
        if (b.refused) {
            throw error(to_text(b.refused, b.refused_at));
        }
        b.add_input(b.tensors[out].extents, element::f32, "output gradient");
        graph g = b.built();
        set_precision(g, math);
        return g;
    }

    strategy make_strategy() {
        if constexpr (by_layouts) {
            using fit = fitted<Op, Options...>;
            strategy s(view());
            s.ops[0] = fit::stored.c;
            s.pool.assign(fit::stored.pool, fit::stored.pool + std::extent_v<decltype(fit::stored.pool)> - 1);
            return s;
        } else {
            detail::strategy_storage<1, on<Op, Options...>::pool_size> chosen;
            chosen.count = 1;
            detail::strategy_writer<decltype(chosen)> writer{&chosen, view(), devices_.count()};
            writer.template apply<on<Op, Options...>>();
            if (chosen.refused) {
                throw error(to_text(chosen.refused, type_name<Op>()));
            }
            return strategy(chosen.view());
        }
    }

    plan make_plan() {
        const strategy chosen = make_strategy();
        require(view(), chosen.view(), devices_.count());
        lower_options o;
        o.keep_gradients = true;
        o.output_gradient = view().tensor_count - 1;
        plan p = lower(view(), chosen.view(), devices_.count(), o);
        backend_.bind(p, view(), nullptr);
        // What forward leaves must survive any number of backward runs.
        for (const task& t : p.tasks) {
            if (is_backward(t)) {
                break;
            }
            for (int w : t.writes) {
                p.tiles[static_cast<std::size_t>(p.root(w))].keep = true;
            }
            if (t.workspace >= 0) {
                p.tiles[static_cast<std::size_t>(p.root(t.workspace))].keep = true;
            }
        }
        finish(view(), p);
        return p;
    }

    /// Options are the layouts of the inputs and of the output.
    static constexpr bool by_layouts = sizeof...(Options) > 0 && (is_layout<Options> && ...);
    static_assert(by_layouts || !(is_layout<Options> || ...), "tessera: either layouts or splits, not both");

    static constexpr bool check_layouts() {
        if constexpr (by_layouts) {
            return fitted<Op, Options...>::ok;
        } else {
            return true;
        }
    }
    static constexpr bool fits = check_layouts();

    static std::vector<shape> shapes_of_layouts() {
        std::vector<shape> shapes;
        if constexpr (by_layouts && fits) {
            shapes = {Options::value().extents...};
            const op_record& r = record_of(Op::attributes);
            shapes.resize(shapes.size() - (r.facts.loss && r.inputs == 2 ? 2 : 1));
        }
        return shapes;
    }

    static bool is_backward(const task& t) {
        return t.what == pass::backward || t.what == pass::backward_input || t.what == pass::backward_weight;
    }

    /// Numbers in [-1, 1), a function of tensor and index.
    void fill() {
        const graph_view g = view();
        for (int t = 0; t < g.tensor_count; ++t) {
            const auto n = static_cast<std::size_t>(g.tensors[t].extents.volume());
            numbers_.emplace_back();
            if (g.tensors[t].type == element::i32) {
                const auto count = static_cast<std::size_t>(g.integers_in(t));
                for (std::size_t i = 0; i < n; ++i) {
                    labels_.push_back(static_cast<std::int32_t>(i % count));
                }
            } else if (g.tensors[t].producer < 0) {
                const std::uint64_t key = op::mix(static_cast<std::uint64_t>(t));
                for (std::size_t i = 0; i < n; ++i) {
                    numbers_.back().push_back(static_cast<float>(op::mix(key ^ i) >> 40U) / 8388608.0F - 1.0F);
                }
            }
            const bool integers = g.tensors[t].type == element::i32;
            pointers_.push_back(integers ? static_cast<const void*>(labels_.data()) : numbers_.back().data());
        }
        state_.inputs = pointers_.data();
        state_.learning_rate = 0;
        for (int slot = 0; slot < g.ops[0].parameters.size(); ++slot) {
            std::vector<float> values(
                static_cast<std::size_t>(g.parameters[g.ops[0].parameters[slot]].extents.volume()));
            initialize(g, g.ops[0].parameters[slot], 1, values);
            set_parameter(slot, values);
        }
    }

    std::vector<float> collect(const std::vector<result_piece>& pieces, int tensor) const {
        return sum_pieces(pieces, tensor, view().tensors[tensor].extents);
    }
    /// The parts of a tensor added up, every part and region once.
    std::vector<float> sum_pieces(const std::vector<result_piece>& pieces, int tensor, const shape& extents) const {
        std::vector<float> out(static_cast<std::size_t>(extents.volume()), 0.0F);
        detail::piece_sum().add(backend_, bound(), memory(), pieces, tensor, 0, whole(extents), out);
        return out;
    }

    local_devices devices_;
    graph graph_;
    B backend_;
    parameter_store store_;
    owned<executor<B>> runner_;               ///< the one that sessions have, in parts
    int boundary_ = 0;                        ///< first backward task
    std::vector<std::vector<float>> numbers_; ///< of every tensor that is an input of numbers
    std::vector<std::int32_t> labels_;
    std::vector<const void*> pointers_;
    run_state state_;
};

/// The same on the default backend: sharded<conv2, split<sample, 2>, split<channel, 2>> op{devices, input_shape}, or
/// sharded<fc1, layout<extents<64, 320>, ...>, layout<extents<64, 50>, ...>> op{devices}.
template <class Op, class... Options>
using sharded = sharded_on<default_backend<Op>, Op, Options...>;

} // namespace tessera
