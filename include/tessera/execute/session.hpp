// SPDX-License-Identifier: Apache-2.0
// A network in training on the devices of this process: plans, parameters and the threads that run them, for networks as values.
#pragma once

#include "tessera/base/owned.hpp"
#include "tessera/execute/copy_box.hpp"
#include "tessera/execute/executor.hpp"
#include "tessera/net/initialize.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/plan/lower.hpp"

#include <cmath>
#include <span>

namespace tessera {

struct session_options {
    std::uint64_t seed = 1;
    bool keep_gradients = false;
    index_t device_memory = 0; ///< bytes of each device; 0: no limit
    bool measure =
        false; ///< implementations and formats are measured when a plan is built, not chosen by rules of thumb
    std::string profile{}; ///< file that keeps what was measured for the next time; empty: nothing is kept
};

/// A backend for these options; one that has nothing to choose ignores them.
template <class B>
B make_backend(const optimizer& update, const session_options& options) {
    if constexpr (requires { B(update, options); }) {
        return B(update, options);
    } else {
        return B(update);
    }
}

struct evaluation {
    double loss = 0;     ///< as in training: the weighted sum of the losses' means
    index_t correct = 0; ///< rows of the first loss whose largest logit is the label's
    index_t rows = 0;
};

/// One element of a list of a batch's inputs, in the order of the network's inputs: floats, or integers for labels.
struct input_data {
    const void* data = nullptr;
    index_t elements = 0;

    input_data() = default;
    input_data(std::span<const float> x) : data(x.data()), elements(static_cast<index_t>(x.size())) {}
    input_data(std::span<const std::int32_t> x) : data(x.data()), elements(static_cast<index_t>(x.size())) {}
};

template <Backend B>
class session {
public:
    /// Plans `g` under `s` and initializes its parameters. Throws tessera::error for a strategy that breaks a rule or does not fit.
    session(const graph_view& g, const strategy& s, int devices, const optimizer& update,
            const session_options& options, B& backend, workers& threads)
        : graph_(with_batch(g, g.tensors[0].extents[0])), strategy_(s), update_(update), options_(options),
          devices_(devices), backend_(backend), threads_(threads) {
        require(graph_.view(), strategy_.view(), devices);
        if (threads.devices() < devices) {
            throw error("tessera: the strategy wants " + std::to_string(devices) + " devices and there are " +
                        std::to_string(threads.devices()) + "; make more devices or plan for fewer");
        }
        plan p = make_plan(graph_.view(), run_kind::training, false, s.period);
        store_ = parameter_store(p, memory_of(backend_));
        const index_t batch = graph_.tensors[0].extents.extent[0];
        runs_.push_back(make_run(batch, run_kind::training, s.period, static_cast<plan&&>(p)));
        state_.seed = options.seed;
        state_.learning_rate = static_cast<double>(update.learning_rate);
        for (int i = 0; i < g.parameter_count; ++i) {
            std::vector<float> values(static_cast<std::size_t>(g.parameters[i].extents.volume()));
            initialize(graph_.view(), i, options.seed, values);
            set_parameter(i, values);
        }
    }

    const plan& training_plan() const { return runs_.front()->runner.bound(); }
    /// Runs the training plan: for those who look at its memory or time its tasks.
    const executor<B>& training_executor() const { return runs_.front()->runner; }
    const graph_view graph_of() const { return graph_.view(); }
    std::uint64_t steps() const { return state_.step; }
    double learning_rate() const { return state_.learning_rate; }
    void set_learning_rate(double rate) { state_.learning_rate = rate; }

    /// One training step on a batch, which may be shorter than the network's; returns its loss before the update. Throws
    /// tessera::error when the loss is not a number.
    double step(std::span<const input_data> inputs) { return step(inputs, nullptr); }
    /// The same, which also says when every task of the plan started and ended.
    double step(std::span<const input_data> inputs, simulation::timeline& measured) { return step(inputs, &measured); }

    /// Training steps on one batch each: as many at a time as the strategy's plan covers, what is left one by one; returns their losses. The
    /// learning rate is the same for all unless `rates` has one for each. Throws what step() throws, and for another number of rates.
    std::vector<double> steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates = {}) {
        if (!rates.empty() && rates.size() != batches.size()) {
            throw error("tessera: " + std::to_string(batches.size()) + " steps and " + std::to_string(rates.size()) +
                        " learning rates; give one for each step, or none");
        }
        std::vector<double> losses;
        const auto period = static_cast<std::size_t>(strategy_.period);
        for (std::size_t i = 0; i < batches.size();) {
            bool whole = i + period <= batches.size();
            for (std::size_t k = 1; k < period && whole; ++k) {
                whole = check_inputs(batches[i + k]) == check_inputs(batches[i]);
            }
            const std::size_t count = whole ? period : 1;
            run_steps(batches.subspan(i, count), rates.empty() ? rates : rates.subspan(i, count), nullptr, losses);
            i += count;
        }
        return losses;
    }

    /// Forward with running statistics and without dropout.
    evaluation evaluate(std::span<const input_data> inputs) {
        run_of& r = find_run(inputs, run_kind::evaluation, 1);
        const std::vector<input_data> batch(inputs.begin(), inputs.end());
        run(r, {&batch, 1}, {}, nullptr);
        evaluation e;
        e.loss = total_loss(r, 0);
        count_correct(r, inputs, e);
        return e;
    }

    /// All elements of a parameter, plain.
    std::vector<float> parameter(int p) const {
        std::vector<float> out(
            static_cast<std::size_t>(graph_.parameters[static_cast<std::size_t>(p)].extents.volume()));
        const box all = whole(graph_.parameters[static_cast<std::size_t>(p)].extents);
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter && e.what.tensor == p) {
                std::vector<float> part(static_cast<std::size_t>(e.what.region.volume()));
                if (e.what.slices > 1) { // the other slices stay what they are
                    box_copy(e.what.region, all, e.what.region).apply(out.data(), part.data(), true, reducer::sum);
                }
                backend_.to_plain(e.what, store_.address(e), part.data() + first_of(e.what));
                box_copy(e.what.region, e.what.region, all).apply(part.data(), out.data(), true, reducer::sum);
            }
        }
        return out;
    }
    void set_parameter(int p, std::span<const float> values) {
        const box all = whole(graph_.parameters[static_cast<std::size_t>(p)].extents);
        if (static_cast<index_t>(values.size()) != all.volume()) {
            throw error("tessera: a parameter of " + std::to_string(all.volume()) + " numbers is given " +
                        std::to_string(values.size()));
        }
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter && e.what.tensor == p) {
                std::vector<float> part(static_cast<std::size_t>(e.what.region.volume()));
                box_copy(e.what.region, all, e.what.region).apply(values.data(), part.data(), true, reducer::sum);
                backend_.from_plain(e.what, part.data() + first_of(e.what), store_.address(e));
            }
        }
    }
    /// Every copy of a parameter on every device, as (region, plain elements): copies must stay equal bit for bit. None where it is stored in
    /// slices.
    std::vector<std::pair<box, std::vector<float>>> parameter_copies(int p) const {
        std::vector<std::pair<box, std::vector<float>>> out;
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter && e.what.tensor == p && e.what.slices == 1) {
                out.push_back({e.what.region, std::vector<float>(static_cast<std::size_t>(e.what.region.volume()))});
                backend_.to_plain(e.what, store_.address(e), out.back().second.data());
            }
        }
        return out;
    }

    /// The gradient of a parameter in the last training step on a full batch: the sum of the contributions. Needs keep_gradients.
    std::vector<float> gradient(int p) const {
        const run_of& r = *runs_.front();
        const box all = whole(graph_.parameters[static_cast<std::size_t>(p)].extents);
        std::vector<float> out(static_cast<std::size_t>(all.volume()), 0.0F);
        add_pieces(r, r.runner.bound().gradients, p, r.period - 1, all, out);
        for (float& x : out) {
            x /= update_.loss_scale;
        }
        return out;
    }

private:
    struct run_of {
        index_t batch = 0;
        run_kind kind = run_kind::training;
        int period = 1;
        graph described;
        executor<B> runner;
    };

    /// Place of a stored slice in its region.
    static index_t first_of(const tile& x) { return even_part(x.region.volume(), x.slices, x.slice).begin; }

    double step(std::span<const input_data> inputs, simulation::timeline* measured) {
        batch_.assign(inputs.begin(), inputs.end());
        losses_.clear();
        run_steps({&batch_, 1}, {}, measured, losses_);
        return losses_.back();
    }

    /// One run of a plan of as many steps as there are batches, all of one size.
    void run_steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates,
                   simulation::timeline* measured, std::vector<double>& losses) {
        run_of& r = find_run(batches[0], run_kind::training, static_cast<int>(batches.size()));
        run(r, batches, rates, measured);
        for (std::size_t k = 0; k < batches.size(); ++k) {
            ++state_.step;
            losses.push_back(total_loss(r, static_cast<int>(k)));
            if (!std::isfinite(losses.back())) {
                throw error("tessera: the loss of step " + std::to_string(state_.step) +
                            " is not a finite number; lower the learning rate, clip gradients, or look at the data");
            }
        }
    }

    plan make_plan(const graph_view& g, run_kind kind, bool is_short, int period) {
        lower_options o;
        o.kind = kind;
        o.update = update_;
        o.keep_gradients = options_.keep_gradients && kind == run_kind::training && !is_short;
        o.allow_empty = is_short;
        strategy_view s = strategy_.view();
        s.period = period;
        plan p = lower(g, s, devices_, o);
        backend_.bind(p, g, store_.entries().empty() ? nullptr : &store_);
        finish(g, p, options_.device_memory);
        return p;
    }

    owned<run_of> make_run(index_t batch, run_kind kind, int period, plan p) {
        graph described = with_batch(graph_.view(), batch);
        const graph_view view = described.view();
        return owned<run_of>(new run_of{batch, kind, period, static_cast<graph&&>(described),
                                        executor<B>(backend_, threads_, view, static_cast<plan&&>(p), store_)});
    }

    run_of& find_run(std::span<const input_data> inputs, run_kind kind, int period) {
        const index_t batch = check_inputs(inputs);
        for (const auto& r : runs_) {
            if (r->batch == batch && r->kind == kind && r->period == period) {
                return *r;
            }
        }
        const graph described = with_batch(graph_.view(), batch);
        const bool is_short = batch < graph_.tensors[0].extents.extent[0];
        runs_.push_back(make_run(batch, kind, period, make_plan(described.view(), kind, is_short, period)));
        return *runs_.back();
    }

    /// Number of samples of a batch; throws unless every input has as many.
    index_t check_inputs(std::span<const input_data> inputs) const {
        index_t batch = -1;
        std::size_t k = 0;
        for (const tensor_node& t : graph_.tensors) {
            if (t.producer >= 0) {
                continue;
            }
            if (k >= inputs.size()) {
                throw error("tessera: the batch lacks the input " + std::string(t.name));
            }
            const index_t each = t.extents.volume() / t.extents.extent[0];
            const index_t samples = inputs[k].elements / each;
            if (inputs[k].data == nullptr || samples * each != inputs[k].elements || samples < 1 ||
                samples > t.extents.extent[0] || (batch >= 0 && samples != batch)) {
                throw error("tessera: input " + std::string(t.name) + " has " + std::to_string(inputs[k].elements) +
                            " elements; it needs a multiple of " + std::to_string(each) + ", at most " +
                            std::to_string(t.extents.volume()) + ", and as many samples as the other inputs");
            }
            batch = samples;
            ++k;
        }
        if (k != inputs.size()) {
            throw error("tessera: the batch has " + std::to_string(inputs.size()) + " inputs and the network " +
                        std::to_string(k));
        }
        check_labels(inputs);
        return batch;
    }

    void check_labels(std::span<const input_data> inputs) const {
        const graph_view g = graph_.view();
        for (int op = 0; op < g.op_count; ++op) {
            const op_node& o = g.ops[op];
            for (int k = 0; k < o.inputs.size(); ++k) {
                const index_t count = g.tensors[o.inputs[k]].producer < 0 ? g.integers_of(op, k) : 0;
                if (count > 0) {
                    check_integers(inputs[input_number(o.inputs[k])], count, g.is_loss(op), o.name);
                }
            }
        }
    }

    static void check_integers(const input_data& x, index_t count, bool is_loss, std::string_view layer) {
        const auto* numbers = static_cast<const std::int32_t*>(x.data);
        for (index_t i = 0; i < x.elements; ++i) {
            if (numbers[i] < 0 || numbers[i] >= count) {
                throw error("tessera: " + std::string(is_loss ? "label " : "token ") + std::to_string(numbers[i]) +
                            (is_loss ? " of sample " : " at place ") + std::to_string(i) + " is not one of the " +
                            std::to_string(count) + (is_loss ? " classes of " : " rows of ") + std::string(layer));
            }
        }
    }

    std::size_t input_number(int tensor) const {
        std::size_t k = 0;
        for (int t = 0; t < tensor; ++t) {
            k += graph_.tensors[static_cast<std::size_t>(t)].producer < 0 ? 1 : 0;
        }
        return k;
    }

    void run(run_of& r, std::span<const std::vector<input_data>> batches, std::span<const double> rates,
             simulation::timeline* measured) {
        const std::size_t tensors = graph_.tensors.size();
        pointers_.resize(tensors * batches.size());
        states_.assign(batches.size(), state_);
        for (std::size_t i = 0; i < batches.size(); ++i) {
            std::size_t k = 0;
            for (std::size_t t = 0; t < tensors; ++t) {
                pointers_[i * tensors + t] = graph_.tensors[t].producer < 0 ? batches[i][k++].data : nullptr;
            }
            states_[i].inputs = pointers_.data() + i * tensors;
            states_[i].step = state_.step + i;
            states_[i].learning_rate = rates.empty() ? state_.learning_rate : rates[i];
        }
        state_.learning_rate = states_.back().learning_rate;
        if (measured == nullptr) {
            r.runner.run(states_[0]);
        } else {
            r.runner.run(states_[0], *measured);
        }
    }

    /// Sums of the kept pieces of a tensor, every part and region once.
    void add_pieces(const run_of& r, const std::vector<result_piece>& pieces, int tensor, int step, const box& all,
                    std::vector<float>& out) const {
        const plan& p = r.runner.bound();
        seen_.clear();
        for (const result_piece& piece : pieces) {
            const tile& t = p.tiles[static_cast<std::size_t>(piece.tile)];
            bool again = piece.tensor != tensor || piece.step != step;
            for (const auto& [part, region] : seen_) {
                again = again || (part == piece.part && region == t.region);
            }
            if (again) {
                continue;
            }
            seen_.push_back({piece.part, t.region});
            piece_.resize(static_cast<std::size_t>(t.region.volume()));
            backend_.to_plain(t, r.runner.memory()[piece.tile], piece_.data());
            box_copy(t.region, t.region, all).apply(piece_.data(), out.data(), false, reducer::sum);
        }
    }

    double total_loss(const run_of& r, int step) const {
        double total = 0;
        const graph_view g = r.described.view();
        for (int op = 0; op < g.op_count; ++op) {
            if (!g.is_loss(op)) {
                continue;
            }
            const shape& rows = g.output_of(op).extents;
            loss_rows_.assign(static_cast<std::size_t>(rows.volume()), 0.0F);
            add_pieces(r, r.runner.bound().results, g.ops[op].output, step, whole(rows), loss_rows_);
            double sum = 0;
            for (float x : loss_rows_) {
                sum += static_cast<double>(x);
            }
            total += g.ops[op].attributes.weight * sum / static_cast<double>(rows.volume());
        }
        return total;
    }

    void count_correct(const run_of& r, std::span<const input_data> inputs, evaluation& e) const {
        const graph_view g = r.described.view();
        for (int op = 0; op < g.op_count; ++op) {
            if (!g.is_loss(op)) {
                continue;
            }
            const shape& x = g.tensors[g.ops[op].inputs[0]].extents;
            std::vector<float> logits(static_cast<std::size_t>(x.volume()), 0.0F);
            add_pieces(r, r.runner.bound().results, g.ops[op].inputs[0], 0, whole(x), logits);
            const auto* labels = static_cast<const std::int32_t*>(inputs[input_number(g.ops[op].inputs[1])].data);
            const int axis = op::channel_dimension(x.rank);
            const index_t classes = x[axis];
            const index_t blocks = axis == 1 ? x[0] : x[0] * x[1];
            const index_t pixels = x.volume() / blocks / classes;
            for (index_t n = 0; n < blocks; ++n) {
                for (index_t q = 0; q < pixels; ++q) {
                    index_t best = 0;
                    for (index_t c = 1; c < classes; ++c) {
                        const auto at = [&](index_t k) {
                            return logits[static_cast<std::size_t>((n * classes + k) * pixels + q)];
                        };
                        best = at(c) > at(best) ? c : best;
                    }
                    e.correct += best == labels[n * pixels + q] ? 1 : 0;
                    ++e.rows;
                }
            }
            return;
        }
    }

    graph graph_;
    strategy strategy_;
    optimizer update_;
    session_options options_;
    int devices_;
    B& backend_;
    workers& threads_;
    parameter_store store_;
    run_state state_;
    std::vector<run_state> states_; ///< with what follows: kept so that a step allocates nothing
    std::vector<input_data> batch_;
    std::vector<double> losses_;
    std::vector<const void*> pointers_;
    mutable std::vector<float> loss_rows_; ///< with the two below: kept so that a step allocates nothing
    mutable std::vector<float> piece_;
    mutable std::vector<std::pair<int, box>> seen_;
    std::vector<owned<run_of>> runs_;
};

} // namespace tessera
