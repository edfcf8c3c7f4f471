// SPDX-License-Identifier: Apache-2.0
// One operator in shards, without a network around it: for micro-benchmarks, and to look at what a split costs.
#pragma once

#include "tessera/execute/devices.hpp"
#include "tessera/execute/executor.hpp"
#include "tessera/execute/plain_values.hpp"
#include "tessera/layout/typed_strategy.hpp"
#include "tessera/net/initialize.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/plan/lower.hpp"

#include <span>

namespace tessera {

/// The operator Op split as the options of on<> say, planned for the devices that there are and built by backend B. The forward and
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
    /// The same for operators of several inputs. A loss gets its labels by itself.
    sharded_on(const local_devices& devices, const std::vector<shape>& inputs, precision math = precision::fp32,
               const own_options_of<B>& own = {})
        : devices_(devices), graph_(make_graph(inputs, math)), backend_(make_backend<B>(optimizer(), own)),
          done_(static_cast<std::size_t>(devices.count())) {
        plan_ = make_plan();
        require_room(backend_, plan_.arena_bytes);
        store_ = parameter_store(plan_, memory_of(backend_));
        addresses_ = addresses(plan_, store_, memory_of(backend_));
        load_plan(backend_, plan_, view(), addresses_);
        prepare();
        fill();
    }
    sharded_on(const sharded_on&) = delete;
    sharded_on& operator=(const sharded_on&) = delete;

    void forward() { run(0); }
    /// After at least one forward().
    void backward() { run(1); }

    const plan& bound() const { return plan_; }
    /// For those who time single tasks: the backend, where the plan's tiles lie, and the number of the first task that backward() runs.
    B& backend() { return backend_; }
    const addresses& memory() const { return addresses_; }
    int first_backward_task() const { return boundary_; }
    index_t moved_bytes() const { return plan_.moved_bytes; } ///< between devices, forward and backward together
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
        detail::store_parameter(backend_, store_, p, view().parameters[p].extents, values);
    }

    std::vector<float> output() const { return collect(plan_.results, view().ops[0].output); }
    std::vector<float> input_gradient(int k = 0) const { return collect(plan_.results, view().ops[0].inputs[k]); }
    /// Of parameter `slot`: the sum of the shards' contributions.
    std::vector<float> gradient(int slot) const {
        const int p = view().ops[0].parameters[slot];
        return sum_pieces(plan_.gradients, p, view().parameters[p].extents);
    }

private:
    struct entry {
        runnable what;
        const wait_for* waits = nullptr;
        int wait_count = 0;
    };
    struct device_list {
        std::vector<entry> entries;
        int phase_end[2] = {0, 0}; ///< of the forward and of the backward tasks
    };
    struct alignas(64) counter {
        std::atomic<int> value{0};
    };

    graph_view view() const { return graph_.view(); }

    static graph make_graph(const std::vector<shape>& inputs, precision math) {
        const op_record& record = record_of(Op::attributes);
        const bool is_loss = record.facts.loss;
        graph_builder b;
        std::vector<int> read;
        for (const shape& s : inputs) {
            const bool looks_up = record.integers != nullptr && record.integers(Op::attributes, s, 0) > 0;
            read.push_back(b.add_input(s, looks_up ? element::i32 : element::f32, "input"));
        }
        if (is_loss && inputs.size() == 1) {
            read.push_back(b.add_input(op::rows_of(inputs[0]), element::i32, "labels"));
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

    plan make_plan() {
        detail::strategy_storage<1, on<Op, Options...>::pool_size> chosen;
        chosen.count = 1;
        detail::strategy_writer<decltype(chosen)> writer{&chosen, view(), devices_.count()};
        writer.template apply<on<Op, Options...>>();
        if (chosen.refused) {
            throw error(to_text(chosen.refused, type_name<Op>()));
        }
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

    static bool is_backward(const task& t) {
        return t.what == pass::backward || t.what == pass::backward_input || t.what == pass::backward_weight;
    }

    void prepare() {
        while (boundary_ < static_cast<int>(plan_.tasks.size()) &&
               !is_backward(plan_.tasks[static_cast<std::size_t>(boundary_)])) {
            ++boundary_;
        }
        lists_.resize(static_cast<std::size_t>(plan_.devices));
        const graph_view g = view();
        auto body = [&](int device) {
            backend_.start(device);
            device_list& list = lists_[static_cast<std::size_t>(device)];
            for (int i : plan_.order[static_cast<std::size_t>(device)]) {
                const task& t = plan_.tasks[static_cast<std::size_t>(i)];
                list.entries.push_back(
                    {backend_.prepare(plan_, i, g, addresses_), t.waits.data(), static_cast<int>(t.waits.size())});
                list.phase_end[0] += i < boundary_ ? 1 : 0;
            }
            list.phase_end[1] = static_cast<int>(list.entries.size());
        };
        devices_.threads().run(body);
    }

    void run(int phase) {
        for (std::size_t d = 0; d < done_.size(); ++d) {
            done_[d].value.store(phase == 0 ? 0 : lists_[d].phase_end[0], std::memory_order_relaxed);
        }
        auto body = [&](int device) { run_device(device, phase); };
        const int last = phase == 0 ? boundary_ : static_cast<int>(plan_.tasks.size());
        run_between(backend_, addresses_, state_, phase == 0 ? 0 : boundary_, last,
                    [&] { devices_.threads().run(body); });
    }

    void run_device(int device, int phase) {
        workers& threads = devices_.threads();
        const device_list& list = lists_[static_cast<std::size_t>(device)];
        std::atomic<int>& mine = done_[static_cast<std::size_t>(device)].value;
        for (int i = phase == 0 ? 0 : list.phase_end[0]; i < list.phase_end[phase]; ++i) {
            const entry& e = list.entries[static_cast<std::size_t>(i)];
            for (int k = 0; k < e.wait_count; ++k) {
                const std::atomic<int>& other = done_[static_cast<std::size_t>(e.waits[k].list)].value;
                const int count = e.waits[k].count;
                detail::spin_until([&] { return other.load(std::memory_order_acquire) >= count || threads.failed(); },
                                   threads.spins());
            }
            if (threads.failed()) {
                return;
            }
            e.what.call(e.what.context, state_);
            mine.store(i + 1, std::memory_order_release);
        }
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
        detail::piece_sum().add(backend_, plan_, addresses_, pieces, tensor, 0, whole(extents), out);
        return out;
    }

    local_devices devices_;
    graph graph_;
    B backend_;
    plan plan_;
    int boundary_ = 0; ///< first backward task
    parameter_store store_;
    addresses addresses_;
    std::vector<device_list> lists_;
    std::vector<counter> done_;
    std::vector<std::vector<float>> numbers_; ///< of every tensor that is an input of numbers
    std::vector<std::int32_t> labels_;
    std::vector<const void*> pointers_;
    run_state state_;
};

/// The same on the default backend: sharded<conv2, split<sample, 2>, split<channel, 2>> op{devices, input_shape}.
template <class Op, class... Options>
using sharded = sharded_on<default_backend<Op>, Op, Options...>;

} // namespace tessera
