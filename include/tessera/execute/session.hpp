// SPDX-License-Identifier: Apache-2.0
// A network in training on the devices of this process: plans, parameters and the threads that run them, for networks
// as values.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/execute/evaluation.hpp"
#include "tessera/execute/input_data.hpp"
#include "tessera/execute/local/device_turn.hpp"
#include "tessera/execute/local/executor.hpp"
#include "tessera/execute/local/initialize.hpp"
#include "tessera/execute/local/kept_pieces.hpp"
#include "tessera/execute/local/plain_values.hpp"
#include "tessera/execute/local/residuals.hpp"
#include "tessera/execute/local/stored_values.hpp"
#include "tessera/execute/not_finite.hpp"
#include "tessera/execute/prediction.hpp"
#include "tessera/execute/ranks/batch_parts.hpp"
#include "tessera/execute/ranks/own_memory.hpp"
#include "tessera/execute/ranks/step_identity.hpp"
#include "tessera/execute/ranks/training_identity.hpp"
#include "tessera/net/parameter_groups.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/net/with_length.hpp"
#include "tessera/plan/fuse.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/one_value.hpp"
#include "tessera/plan/staleness.hpp"

#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace tessera {

/// How many plans a session keeps ready besides the one for training on full batches: one for each size of batch and
/// kind of run. Of more, the one that has not run for the longest time goes, and is made again when it is wanted.
inline constexpr std::size_t most_ready_plans = 8;

/// Threads may call it at the same time: calls take turns, see device_turn.
template <Backend B>
class session {
public:
    /// Plans `g` under `s` and initializes its parameters. Throws tessera::error for a strategy that breaks a rule or
    /// does not fit.
    session(const graph_view& g, const strategy& s, int devices, const optimizer& update,
            const session_options& options, B& backend, workers& threads)
        : graph_(with_batch(g, g.tensors[0].extents[0])), strategy_(s), update_(update), options_(options),
          devices_(devices), backend_(backend), threads_(threads), memory_(backend, threads.group()),
          arenas_(memory_.source()) {
        const device_turn in_turn(threads_);
        if (group() != nullptr) { // first: what one rank alone refuses, and what another measures, may be what differs
            training_ = identity_lines().hash();
            group()->compare(meeting::compare_trainings, training_, [this] { return identity_lines().text(); });
        }
        require(update, graph_.view());
        require(graph_.view(), strategy_.view(), devices);
        if (threads.all_devices() < devices) {
            throw error("tessera: the strategy wants " + std::to_string(devices) + " devices and there are " +
                        std::to_string(threads.all_devices()) + "; make more devices or plan for fewer");
        }
        const index_t batch = graph_.tensors[0].extents.extent[0];
        run_key first{{batch, longest_of(graph_.view())}};
        first.period = s.period;
        if (!options.trains) {
            first.kind = run_kind::evaluation;
            first.period = 1;
            first.part = find_setting(detail::all_predictions(graph_.view()));
        }
        if (group() != nullptr) {
            check_group();
            shared_reports_ = group()->share(group()->first_here(), 2 * sizeof(run_report));
        }
        run_key all = first; // of all parameters: evaluations have losses, and the mirrored replica of a schedule
        bool has_loss = false;
        for (int op = 0; op < g.op_count; ++op) {
            has_loss = has_loss || g.is_loss(op);
        }
        all.part = has_loss ? nullptr : first.part;
        fused_network network = network_for(all);
        plan p = make_plan(network, all, all == first ? options_.device_memory : 0);
        if (group() != nullptr) {
            group()->compare(meeting::compare_plans, p.hash, [&] { return text_of_plan(p); });
            training_ = op::mix(training_ ^ p.hash);
        }
        store_ = parameter_store(p, memory_.source());
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter) {
                stored_.push_back(e.what);
            }
        }
        persistent_ = p.persistent_bytes;
        if (!(all == first)) {
            network = network_for(first);
            p = make_plan(network, first, options_.device_memory);
        }
        runs_.push_back(make_run(first, std::move(network), std::move(p)));
        state_.seed = options.seed;
        state_.learning_rate = static_cast<double>(update.learning_rate);
        const network_paths paths = paths_of(graph_.view());
        for (int i = 0; i < g.parameter_count; ++i) {
            std::vector<float> values(static_cast<std::size_t>(g.parameters[i].extents.volume()));
            initialize(g.parameters[i], paths.parameter(i), options.seed, values);
            set_parameter(i, values);
        }
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
        runs_.clear(); // whose transfers may report
        if (shared_reports_ != nullptr) {
            group()->set_reports(nullptr);
            group()->unshare(shared_reports_);
        }
    }

    const plan& training_plan() const { return runs_.front()->runner.bound(); }
    /// Where parameters lie: for others whose plans read them.
    const parameter_store& stored() const { return store_; }
    /// Runs the training plan: for those who look at its memory or time its tasks.
    const executor<B>& training_executor() const { return runs_.front()->runner; }
    const graph_view graph_of() const { return graph_.view(); }
    /// The network as the training plan numbers its operators and tensors: where expressions are fused
    /// (session_options::fuse), fewer of them.
    const graph_view planned_graph() const { return runs_.front()->planned.network.view(); }
    /// The network at the length of a batch's sequences; the view is good until the next call. Throws tessera::error
    /// for a length that does not fit.
    graph_view graph_of(std::span<const input_data> inputs) const {
        const device_turn in_turn(threads_, device_turn::waits);
        return graph_at(nullptr, detail::length_of(graph_.view(), inputs));
    }
    std::uint64_t steps() const {
        const device_turn in_turn(threads_, device_turn::waits);
        return state_.step;
    }
    double learning_rate() const {
        const device_turn in_turn(threads_, device_turn::waits);
        return state_.learning_rate;
    }
    void set_learning_rate(double rate) {
        const device_turn in_turn(threads_, device_turn::waits);
        state_.learning_rate = rate;
    }

    /// One training step on a batch, which may be shorter than the network's; returns its loss before the update. Where
    /// the strategy's gradients go to servers in urgent_first order, updates of far layers may still be under way,
    /// which whoever reads parameters waits for. Throws tessera::error when the loss is not finite: parameters, the
    /// optimizer's state and running statistics are then what they were. Throws one that names a parameter when its
    /// update is not finite although the loss is: the step is then taken, but for the elements that would have become
    /// infinite or NaN, which keep their values; where gradients are clipped, for nothing at all. (Of an update that
    /// was still under way the next step, or finish(), throws it.)
    double step(std::span<const input_data> inputs) { return step(inputs, nullptr); }
    /// The same, which also says when every task of the plan started and ended.
    double step(std::span<const input_data> inputs, simulation::timeline& measured) { return step(inputs, &measured); }

    /// One training step of a group of processes, each of which hands in its own part of a full batch alone: of n
    /// samples rank r's are even_part(n, ranks, r). Throws tessera::error where its devices read samples of other parts
    /// under this strategy, and what step() throws.
    double step_part(std::span<const input_data> inputs) {
        const device_turn in_turn(threads_);
        const index_t samples = graph_.tensors[0].extents.extent[0];
        const interval mine =
            group() == nullptr ? interval{0, samples} : even_part(samples, group()->size(), group()->rank());
        const index_t length = detail::length_of(graph_.view(), inputs);
        const index_t given = detail::check_inputs(graph_at(nullptr, length), inputs);
        if (given != mine.size()) {
            throw error("tessera: this rank's part of a batch of " + std::to_string(samples) + " has " +
                        std::to_string(mine.size()) + " samples, and " + std::to_string(given) + " were given");
        }
        run_of& r = find_run({{samples, length}, run_kind::training, 1});
        detail::require_own_samples(r.runner.bound(), group(), samples);
        batch_.assign(inputs.begin(), inputs.end());
        for (input_data& x : batch_) { // as if the whole batch were there: devices count from its start
            const index_t before = x.elements / given * mine.begin * static_cast<index_t>(sizeof(float));
            x.data = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(x.data) -
                                                   static_cast<std::uintptr_t>(before));
        }
        losses_.clear();
        run_steps(r, {&batch_, 1}, {}, nullptr, losses_, false);
        return losses_.back();
    }

    /// Training steps on one batch each: as many at a time as the strategy's plan covers, what is left one by one;
    /// returns their losses. The learning rate is the same for all unless `rates` has one for each. Throws what step()
    /// throws, and for another number of rates: the steps before the one that it names are then taken, that one and the
    /// later ones of the same run of the plan are not.
    std::vector<double> steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates = {}) {
        const device_turn in_turn(threads_);
        if (!rates.empty() && rates.size() != batches.size()) {
            throw error("tessera: " + std::to_string(batches.size()) + " steps and " + std::to_string(rates.size()) +
                        " learning rates; give one for each step, or none");
        }
        std::vector<double> losses;
        const auto period = static_cast<std::size_t>(strategy_.period);
        for (std::size_t i = 0; i < batches.size();) {
            bool whole = i + period <= batches.size();
            const batch_size size = whole && period > 1 ? check_inputs(batches[i]) : batch_size{};
            for (std::size_t k = 1; k < period && whole; ++k) {
                whole = check_inputs(batches[i + k]) == size;
            }
            const std::size_t count = whole ? period : 1;
            run_steps(batches.subspan(i, count), rates.empty() ? rates : rates.subspan(i, count), nullptr, losses);
            i += count;
        }
        return losses;
    }

    /// Forward with running statistics and without dropout. Throws tessera::error when the loss is not finite.
    evaluation evaluate(std::span<const input_data> inputs) {
        const device_turn in_turn(threads_);
        run_of& r = find_run({check_inputs(inputs), run_kind::evaluation, 1});
        const std::vector<input_data> batch(inputs.begin(), inputs.end());
        run(r, {&batch, 1}, {}, nullptr);
        evaluation e;
        e.loss = total_loss(r, 0);
        if (!is_finite(e.loss)) {
            throw error("tessera: the loss of an evaluation is not a finite number: " + cause_of_loss(inputs));
        }
        count_correct(r, inputs, e);
        weigh_losses(r, inputs, e);
        return e;
    }

    /// The loss of an operator in the last step or evaluation, without its weight. Throws tessera::error for one that
    /// is no loss, and before there was a step or an evaluation.
    double loss_of(int op) const {
        const device_turn in_turn(threads_, device_turn::waits);
        const graph_view g = graph_.view();
        if (op < 0 || op >= g.op_count || !g.is_loss(op)) {
            throw error("tessera: there is no loss " + std::to_string(op) + " among the operators of the network");
        }
        if (loss_of_op_.empty()) {
            throw error("tessera: there are no losses before the first step or evaluation");
        }
        return loss_of_op_[static_cast<std::size_t>(op)];
    }

    /// What operators make of the inputs that they need, with running statistics and without dropout: for each tensor
    /// of `wanted`, by its number in the network, all samples. Inputs are those that these tensors need, in the
    /// network's order: no labels, as a rule. There may be more samples than the network was planned for: they go
    /// through in batches of that many. Throws tessera::error for inputs that do not fit.
    std::vector<prediction> predict(std::span<const input_data> inputs, const std::vector<int>& wanted) {
        const device_turn in_turn(threads_);
        const detail::prediction_setting& of = *find_setting(wanted);
        const index_t length = detail::length_of(of.part.network.view(), inputs);
        const graph_view part = graph_at(&of, length);
        const index_t planned = graph_.tensors[0].extents.extent[0];
        const index_t samples = detail::count_samples(part, inputs);
        std::vector<prediction> all(wanted.size());
        for (index_t begin = 0; begin < samples; begin += planned) {
            const index_t count = begin + planned < samples ? planned : samples - begin;
            const std::vector<input_data> batch = detail::samples_of(inputs, samples, begin, count);
            detail::check_inputs(part, batch);
            run_of& r = find_run({{count, length}, run_kind::evaluation, 1, &of});
            run(r, {&batch, 1}, {}, nullptr);
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                const int whole_number = of.part.tensors[static_cast<std::size_t>(wanted[i])];
                const int t = r.planned.tensors[static_cast<std::size_t>(whole_number)];
                const shape& extents = r.planned.network.tensors[static_cast<std::size_t>(t)].extents;
                std::vector<float> part_of_all(static_cast<std::size_t>(extents.volume()), 0.0F);
                add_pieces(r, r.runner.bound().results, t, 0, whole(extents), part_of_all);
                all[i].extents = extents;
                all[i].extents.extent[0] = samples;
                all[i].values.insert(all[i].values.end(), part_of_all.begin(), part_of_all.end());
            }
        }
        return all;
    }

    /// Waits until no transfer of a step is under way; throws what one has thrown, and what step() throws of updates
    /// that are not finite. All that reads or sets parameters waits by itself.
    void finish() {
        const device_turn in_turn(threads_);
        wait_for_transfers();
        tell_lost(state_.step);
        if (group() != nullptr && runs_begun_ > 1) {
            tell_lost(state_.step, report_of_run(runs_begun_ - 2));
        }
    }

    /// All elements of a parameter, plain.
    std::vector<float> parameter(int p) const {
        const device_turn in_turn(threads_);
        check_parameter(p);
        wait_for_transfers();
        bring(p);
        return detail::stored_values(backend_, store_, p, -1, extents_of(p));
    }
    /// Before kept() and parameter_copies() over several nodes, or over processes whose backend has memory of its own:
    /// brings everything to all of them; all processes call it.
    void bring_to_all_nodes() const {
        const device_turn in_turn(threads_);
        wait_for_transfers();
        bring(-1);
    }
    /// Before the first step it also sets where the parameter's average begins.
    void set_parameter(int p, std::span<const float> values) {
        const device_turn in_turn(threads_);
        check_parameter(p);
        check_count(p, values);
        wait_for_transfers();
        const auto name = [&] { return parameter_path_of(graph_.view(), p); };
        detail::store_values(backend_, store_, p, -1, extents_of(p), values, group(), name);
        if (state_.step == 0 && averages()) {
            detail::store_values(backend_, store_, p, average_state(), extents_of(p), values, group(), name);
        }
    }

    /// From now on (or no longer) evaluations, predictions and parameter() take the moving averages of the weights
    /// instead of the weights; a step is refused meanwhile. What is not trained and running statistics have no averages
    /// and stay what they are. Throws tessera::error where the optimizer keeps none.
    void use_averages(bool use) {
        const device_turn in_turn(threads_);
        if (!averages()) {
            throw error("tessera: there are no averages of the weights; make the optimizer with averaging(0.999F)");
        }
        if (use == uses_averages_) {
            return;
        }
        bring_to_all_nodes();
        for (int p = 0; p < static_cast<int>(graph_.parameters.size()); ++p) {
            if (keeps(p, average_state())) {
                const auto weights = detail::stored_values(backend_, store_, p, -1, extents_of(p));
                const auto other = detail::stored_values(backend_, store_, p, average_state(), extents_of(p));
                detail::store_values(backend_, store_, p, -1, extents_of(p), other, group());
                detail::store_values(backend_, store_, p, average_state(), extents_of(p), weights, group());
            }
        }
        uses_averages_ = use;
    }
    bool uses_averages() const { return uses_averages_; }

    // ---- what a file must hold for training to go on as if it had not ended (io/files/checkpoint.hpp) ---------------------

    const optimizer& update() const { return update_; }
    std::uint64_t seed() const { return state_.seed; }
    /// What the training is, field by field (execute/ranks/training_identity.hpp).
    field_lines identity_lines() const {
        training_identity t;
        t.backend = full_type_name<B>();
        t.network = graph_.view();
        t.how = &strategy_;
        t.update = &update_;
        t.options = &options_;
        if constexpr (requires { backend_.made_with(); }) {
            t.own.add("", backend_.made_with());
        }
        return lines_of(t);
    }
    /// A parameter (`state` -1), or number `state` of what the optimizer keeps for each of its elements, counted from
    /// 0: all elements, plain.
    std::vector<float> kept(int p, int state) const {
        const device_turn in_turn(threads_);
        check_parameter(p);
        check_state(state);
        wait_for_transfers();
        return detail::stored_values(backend_, store_, p, place_of(p, state), extents_of(p));
    }
    /// Sets it, in every copy; throws tessera::error for another number of elements.
    void set_kept(int p, int state, std::span<const float> values) {
        const device_turn in_turn(threads_);
        check_parameter(p);
        check_state(state);
        check_count(p, values);
        wait_for_transfers();
        detail::store_values(backend_, store_, p, place_of(p, state), extents_of(p), values, group(),
                             [&] { return parameter_path_of(graph_.view(), p); });
    }
    /// The same piece by piece, as devices hold it: which there are; those elements of a piece that lie in the box
    /// `to`, into all of that box, row-major (call settle() before); and all elements from `source`, of which this
    /// process takes those of its own devices. All processes call fill_kept().
    std::vector<kept_piece> kept_pieces(int p, int state) const {
        check_parameter(p);
        check_state(state);
        return detail::pieces_of(store_, p, place_of(p, state));
    }
    void copy_kept(int p, int state, const kept_piece& piece, const box& to, float* numbers) const {
        const device_turn in_turn(threads_, device_turn::waits);
        detail::copy_piece(backend_, store_, p, place_of(p, state), piece, to, numbers, group());
    }
    void fill_kept(int p, int state, kept_source source) {
        const device_turn in_turn(threads_);
        check_parameter(p);
        check_state(state);
        wait_for_transfers();
        detail::store_sink<B> sink(backend_, store_, p, place_of(p, state), group());
        if (group() != nullptr) {
            group()->meet(meeting::set_parameter);
        }
        source(sink);
        sink.finish();
        if (group() != nullptr) {
            group()->meet(meeting::set_parameter);
        }
    }
    /// False for the optimizer's state of a parameter that is not trained.
    bool keeps(int p, int state) const { return !detail::regions_of(store_, p, state).empty(); }
    /// What devices have left out of compressed gradients: all of the plan; those of a device of this process, into as
    /// many numbers as the region has elements; and set (in the process of the device, all others pass over it). Throws
    /// tessera::error for one that the plan does not have.
    std::vector<kept_residual> residuals() const { return detail::residuals_of(store_); }
    void copy_residual(const kept_residual& r, float* numbers) const {
        const device_turn in_turn(threads_, device_turn::waits);
        std::memcpy(numbers, detail::residual_at(store_, r),
                    static_cast<std::size_t>(r.region.volume()) * sizeof(float));
    }
    void set_residual(const kept_residual& r, std::span<const float> numbers) {
        const device_turn in_turn(threads_, device_turn::waits);
        float* const to = detail::residual_at(store_, r);
        if (static_cast<index_t>(numbers.size()) != r.region.volume()) {
            throw error("tessera: a residual of " + std::to_string(r.region.volume()) + " numbers is given " +
                        std::to_string(numbers.size()));
        }
        if (group() == nullptr || group()->owns(r.device)) {
            std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
        }
    }
    /// The next step is the one after `steps`, with the random numbers of `seed`. What compressed gradients have left
    /// out is forgotten.
    void resume_after(std::uint64_t steps, std::uint64_t seed, double learning_rate) {
        const device_turn in_turn(threads_);
        wait_for_transfers();
        detail::forget_residuals(store_, group());
        state_.step = steps;
        state_.seed = seed;
        state_.learning_rate = learning_rate;
    }
    /// Every copy of a parameter on every device, as (region, plain elements): copies must stay equal bit for bit. None
    /// where it is stored in slices.
    std::vector<std::pair<box, std::vector<float>>> parameter_copies(int p) const {
        const device_turn in_turn(threads_);
        wait_for_transfers();
        std::vector<std::pair<box, std::vector<float>>> out;
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter && e.what.tensor == p && e.what.slices == 1) {
                out.push_back({e.what.region, std::vector<float>(static_cast<std::size_t>(e.what.region.volume()))});
                backend_.to_plain(e.what, store_.address(e), out.back().second.data());
            }
        }
        return out;
    }

    /// The gradient of a parameter in the last training step on a full batch: the sum of the contributions. Throws
    /// tessera::error without keep_gradients, and before there was such a step.
    std::vector<float> gradient(int p) const {
        const device_turn in_turn(threads_);
        check_parameter(p);
        if (!options_.keep_gradients) {
            throw error("tessera: gradients are not kept after a step; make the trainer with {.keep_gradients = true}");
        }
        if (!has_gradients_ && gradients_.empty()) {
            throw error("tessera: there are no gradients before the first training step on a full batch");
        }
        if (!has_gradients_) {
            return gradients_[static_cast<std::size_t>(p)];
        }
        wait_for_transfers();
        const run_of& r = *runs_.front();
        const box all = whole(extents_of(p));
        std::vector<float> out(static_cast<std::size_t>(all.volume()), 0.0F);
        add_pieces(r, r.runner.bound().gradients, p, r.key.period - 1, all, out);
        for (float& x : out) {
            x /= update_.loss_scale;
        }
        return out;
    }

    /// How many steps' gradients the parameters of the steps that were taken missed (synchronization::staleness).
    const staleness_record& staleness() const { return staleness_; }

    /// The processes that share the plans, or null.
    process_group* processes() const { return threads_.group(); }
    /// Waits until no transfer of a step is under way in any of them; all call it. Throws what one has thrown.
    void settle() const {
        const device_turn in_turn(threads_);
        wait_for_transfers();
    }

private:
    process_group* group() const { return threads_.group(); }
    /// A parameter, or with -1 all that is kept, to where this process reads it.
    void bring(int parameter) const {
        if constexpr (has_memory<B>) {
            memory_.bring(store_, parameter);
        } else {
            detail::bring_to_all_nodes(store_, group(), parameter);
        }
    }
    run_report& report_of_run(int run) const { return static_cast<run_report*>(shared_reports_)[run % 2]; }
    void check_group() const {
        if constexpr (has_memory<B> && !RunsOverGroups<B>) {
            throw error("tessera: the backend has memory of its own, which ranks do not share; use one process");
        }
    }

    struct batch_size {
        index_t samples = 0;
        index_t length = 0; ///< of sequences, in a network of any length; else 0

        friend bool operator==(const batch_size&, const batch_size&) = default;
    };
    /// What tells two plans of a session apart.
    struct run_key {
        batch_size size;
        run_kind kind = run_kind::training;
        int period = 1;
        const detail::prediction_setting* part = nullptr; ///< null: the whole network

        friend bool operator==(const run_key&, const run_key&) = default;
    };
    struct network_of_length {
        const detail::prediction_setting* part;
        index_t length;
        graph network;
    };
    struct run_of {
        run_key key;
        fused_network planned;
        executor<B> runner;
        std::vector<int> staleness{}; ///< by step
    };

    void wait_for_transfers() const {
        for (const auto& r : runs_) {
            r->runner.finish();
        }
    }
    void check_parameter(int p) const {
        const auto count = static_cast<int>(graph_.parameters.size());
        if (p < 0 || p >= count) {
            throw error("tessera: there is no parameter " + std::to_string(p) + "; the network has " +
                        std::to_string(count) + ", counted from 0");
        }
    }
    void check_count(int p, std::span<const float> values) const {
        detail::require_count(parameter_path_of(graph_.view(), p), extents_of(p), values);
    }
    void check_state(int state) const {
        if (state < -1 || state >= update_.state_count()) {
            throw error("tessera: there is no number " + std::to_string(state) +
                        " of the optimizer's state; it keeps " + std::to_string(update_.state_count()) +
                        " for each element of a parameter");
        }
    }
    bool averages() const { return update_.average != 0 && options_.trains; }
    int average_state() const { return update_.own_state_count(); }
    /// Where a number is while averages and weights have changed places.
    int place_of(int p, int state) const {
        const bool moved = uses_averages_ && (state < 0 || state == average_state()) && keeps(p, average_state());
        return !moved ? state : state < 0 ? average_state() : -1;
    }
    const shape& extents_of(int parameter) const {
        return graph_.parameters[static_cast<std::size_t>(parameter)].extents;
    }

    double step(std::span<const input_data> inputs, simulation::timeline* measured) {
        const device_turn in_turn(threads_);
        batch_.assign(inputs.begin(), inputs.end());
        losses_.clear();
        run_steps({&batch_, 1}, {}, measured, losses_);
        return losses_.back();
    }

    /// One run of a plan of as many steps as there are batches, all of one size.
    void run_steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates,
                   simulation::timeline* measured, std::vector<double>& losses) {
        if (!options_.trains) {
            throw error(
                "tessera: a training step of what was made for predictions alone; make it with {.trains = true}");
        }
        if (uses_averages_) {
            throw error(
                "tessera: a training step while averages of the weights are in use; call use_averages(false) first");
        }
        run_steps(find_run({check_inputs(batches[0]), run_kind::training, static_cast<int>(batches.size())}), batches,
                  rates, measured, losses, true);
    }
    /// `whole`: this process has all samples of the batches, so that it can look for the cause of a loss that is not
    /// finite.
    void run_steps(run_of& r, std::span<const std::vector<input_data>> batches, std::span<const double> rates,
                   simulation::timeline* measured, std::vector<double>& losses, bool whole) {
        const std::uint64_t before = state_.step;
        run(r, batches, rates, measured, whole);
        const std::uint64_t end = before + batches.size();
        const double first = queues_tasks<B> ? total_loss(r, 0) : 0; // once: it comes from devices, of all processes
        if (!is_finite(first)) {                                     // which its updates have seen on the devices
            report_->refuse(before);
        }
        const std::uint64_t taken = report_->refused() < end ? report_->refused() : end;
        while (state_.step < taken) {
            const int i = static_cast<int>(state_.step - before);
            losses.push_back(queues_tasks<B> && i == 0 ? first : total_loss(r, i));
            ++state_.step;
        }
        staleness_.add(r.staleness, taken - before);
        if (taken < end) {
            wait_for_transfers(); // of the step that is not taken there are none
            running_ = nullptr;   // other nodes have what has been put back here
        }
        if (group() == nullptr || !r.runner.has_queues()) { // else when all processes' transfers have ended
            tell_lost(taken);
        }
        if (taken < end) {
            throw error(
                "tessera: the loss of step " + std::to_string(taken + 1) +
                " is not a finite number, and the step is not taken: " +
                (whole ? cause_of_loss(batches[taken - before]) : "lower the learning rate, or look at the batch"));
        }
    }

    /// Throws for an update, of a step before `taken`, that is not finite, once.
    void tell_lost(std::uint64_t taken) { tell_lost(taken, *report_); }
    void tell_lost(std::uint64_t taken, run_report& report) {
        if (!report.has_lost() || (group() != nullptr && report.lost_step() == told_)) {
            return;
        }
        const std::uint64_t step = report.lost_step();
        const int parameter = report.lost_parameter();
        if (group() != nullptr) { // others may not have read it yet
            told_ = step;
        } else {
            report.forget_lost();
        }
        if (step < taken) {
            throw error("tessera: the update of parameter " + parameter_path_of(graph_.view(), parameter) +
                        " in step " + std::to_string(step + 1) + " is not finite, though the loss is; " +
                        (update_.clip_norm > 0    ? "no parameter was changed"
                         : update_.is_layerwise() ? "it was not changed"
                                                  : "what would have become so was not changed") +
                        "; lower the learning rate, or clip gradients");
        }
    }

    std::string cause_of_loss(std::span<const input_data> inputs) const {
        return detail::cause_of_loss(graph_of(inputs), inputs, [this](int p) { return parameter(p); });
    }

    bool is_short(const run_key& key) const {
        return key.size.samples < graph_.tensors[0].extents.extent[0] || key.size.length < longest_of(graph_.view());
    }
    graph graph_for(const run_key& key) const {
        return with_batch(graph_at(key.part, key.size.length), key.size.samples);
    }
    graph_view graph_at(const detail::prediction_setting* part, index_t length) const {
        const graph_view longest = part != nullptr ? part->part.network.view() : graph_.view();
        if (length == longest_of(longest)) {
            return longest;
        }
        for (const auto& x : lengths_) {
            if (x->part == part && x->length == length) {
                return x->network.view();
            }
        }
        owned<network_of_length> made(new network_of_length{part, length, with_length(longest, length)});
        if (lengths_.size() >= most_ready_plans) {
            lengths_.erase(lengths_.begin());
        }
        lengths_.push_back(std::move(made));
        return lengths_.back()->network.view();
    }

    /// What a plan is made of: the network and the strategy of a run, with expressions fused.
    fused_network network_for(const run_key& key) const {
        const graph described = graph_for(key);
        const strategy& s = key.part != nullptr ? key.part->how : strategy_;
        return options_.fuse ? fuse(described.view(), s, wanted_of(key), key.kind == run_kind::training)
                             : not_fused(described.view(), s);
    }
    /// The tensors that a run is asked for, by their numbers in its network before it is rewritten.
    static std::vector<int> wanted_of(const run_key& key) {
        std::vector<int> all;
        for (std::size_t i = 0; key.part != nullptr && i < key.part->wanted.size(); ++i) {
            all.push_back(key.part->part.tensors[static_cast<std::size_t>(key.part->wanted[i])]);
        }
        return all;
    }

    plan make_plan(const fused_network& network, const run_key& key, index_t device_memory) {
        const graph_view g = network.network.view();
        lower_options o;
        o.kind = key.kind;
        o.update = update_;
        o.keep_gradients = options_.keep_gradients && key.kind == run_kind::training && !is_short(key);
        o.allow_empty = is_short(key);
        for (const int t : wanted_of(key)) {
            o.wanted.push_back(network.tensors[static_cast<std::size_t>(t)]);
        }
        o.stored = store_.entries().empty() ? nullptr : &stored_;
        strategy_view s = network.how.view();
        s.period = key.period;
        plan p = lower(g, s, devices_, o);
        if (key.kind == run_kind::training) {
            require_several_values(p, g);
        }
        agree_over(backend_, group());
        backend_.bind(p, g, store_.entries().empty() ? nullptr : &store_);
        tessera::finish(g, p, device_memory, &update_);
        return p;
    }

    owned<run_of> make_run(const run_key& key, fused_network network, plan p) {
        make_room(p);
        const graph_view view = network.network.view();
        std::vector<int> late =
            p.staleness > 0 ? staleness_of(p) : std::vector<int>(static_cast<std::size_t>(p.period), 0);
        return owned<run_of>(new run_of{
            key, std::move(network),
            executor<B>(backend_, threads_, view, std::move(p), store_, arenas_, options_.links), std::move(late)});
    }

    const detail::prediction_setting* find_setting(const std::vector<int>& wanted) {
        for (const auto& x : settings_) {
            if (x->wanted == wanted) {
                return x.get();
            }
        }
        settings_.push_back(owned<detail::prediction_setting>(
            new detail::prediction_setting(detail::setting_for(graph_.view(), strategy_, wanted))));
        return settings_.back().get();
    }

    /// All plans run in the same arenas, one at a time. Where a plan wants larger ones, the others move.
    void make_room(const plan& p) {
        for (std::size_t d = 0; d < p.arena_bytes.size() && options_.device_memory > 0; ++d) {
            const index_t bytes = persistent_[d] + p.arena_bytes[d];
            if (bytes > options_.device_memory) {
                throw error("tessera: device " + std::to_string(d) + " needs " + std::to_string(bytes) + " bytes (" +
                            std::to_string(persistent_[d]) + " of them for parameters and optimizer state) and has " +
                            std::to_string(options_.device_memory) + "; split more, or use smaller batches");
            }
        }
        if (arenas_.has_room(p.arena_bytes)) {
            return;
        }
        require_room(backend_, arenas_.missing(p.arena_bytes));
        wait_for_transfers();
        save_gradients();
        for (const auto& r : runs_) {
            r->runner.unload();
        }
        const auto move = [&] {
            for (const auto& r : runs_) {
                if (arenas_.has_room(r->runner.bound().arena_bytes)) { // else it says so when it is to run
                    r->runner.move_to(arenas_, r->planned.network.view(), store_);
                }
            }
        };
        try {
            arenas_.grow(p.arena_bytes);
        } catch (...) {
            move();
            throw;
        }
        move();
    }

    /// Before another plan, or other memory, takes the place of the training plan's results: gradients are kept outside
    /// of the devices.
    void save_gradients() {
        if (has_gradients_) {
            std::vector<std::vector<float>> all;
            for (int p = 0; p < static_cast<int>(graph_.parameters.size()); ++p) {
                all.push_back(gradient(p));
            }
            gradients_ = std::move(all);
            has_gradients_ = false;
        }
    }

    run_of& find_run(const run_key& key) {
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            if (runs_[i]->key == key) {
                const std::size_t newest = i == 0 ? 0 : runs_.size() - 1; // the first stays where it is
                for (; i < newest; ++i) {
                    owned<run_of> mine = std::move(runs_[i]);
                    runs_[i] = std::move(runs_[i + 1]);
                    runs_[i + 1] = std::move(mine);
                }
                return *runs_[newest];
            }
        }
        if (group() != nullptr) {
            compare_key(key);
        }
        fused_network network = network_for(key);
        plan p = make_plan(network, key, options_.device_memory);
        if (runs_.size() > most_ready_plans) {
            runs_[1]->runner.finish();
            running_ = runs_[1].get() == running_ ? nullptr : running_;
            runs_.erase(runs_.begin() + 1);
        }
        runs_.push_back(make_run(key, std::move(network), std::move(p)));
        return *runs_.back();
    }

    batch_size check_inputs(std::span<const input_data> inputs) const {
        const index_t length = detail::length_of(graph_.view(), inputs);
        return {detail::check_inputs(graph_at(nullptr, length), inputs), length};
    }

    /// `whole`: as for run_steps().
    void run(run_of& r, std::span<const std::vector<input_data>> batches, std::span<const double> rates,
             simulation::timeline* measured, bool whole = true) {
        if (&r != runs_.front().get()) {
            save_gradients();
        }
        has_gradients_ = options_.keep_gradients && &r == runs_.front().get();
        const std::size_t tensors = r.planned.network.tensors.size();
        if (group() != nullptr) {
            report_ = &report_of_run(runs_begun_++);
            report_->forget_lost();
            group()->set_reports(static_cast<run_report*>(shared_reports_));
        }
        pointers_.resize(tensors * batches.size());
        states_.assign(batches.size(), state_);
        for (std::size_t i = 0; i < batches.size(); ++i) {
            std::size_t k = 0;
            for (std::size_t t = 0; t < tensors; ++t) {
                pointers_[i * tensors + t] = r.planned.network.tensors[t].producer < 0 ? batches[i][k++].data : nullptr;
            }
            states_[i].inputs = pointers_.data() + i * tensors;
            states_[i].step = state_.step + i;
            states_[i].learning_rate = rates.empty() ? state_.learning_rate : rates[i];
            states_[i].report = report_;
        }
        state_.learning_rate = states_.back().learning_rate;
        if (running_ != &r) { // plans share the parameters
            wait_for_transfers();
            r.runner.share_parameters();
            running_ = &r;
        }
        report_->begin(); // transfers of the step before may still be under way
        const step_identity what = group() != nullptr ? identity_of(r, batches, whole) : step_identity{};
        const auto lines = [&] { return lines_of_step(what); };
        const run_identity who{group() != nullptr ? hash_of_fields(what) : 0, lines};
        states_[0].identity = group() != nullptr ? &who : nullptr;
        if (measured == nullptr) {
            r.runner.run(states_);
        } else {
            r.runner.run(states_, *measured);
        }
    }
    /// Before a plan is made, for which all processes come. Who has it runs it at once, and learns from the same
    /// meeting that another has not, and why.
    void compare_key(const run_key& key) {
        step_identity s;
        s.training = training_;
        s.kind = key.kind;
        s.number = state_.step;
        s.steps = static_cast<std::size_t>(key.period);
        s.seed = state_.seed;
        s.learning_rate = state_.learning_rate;
        s.samples = key.size.samples;
        s.length = key.size.length;
        group()->compare(meeting::begin_run, hash_of_fields(s), [&] { return lines_of_step(s); });
    }
    /// Of the run whose states are set.
    step_identity identity_of(const run_of& r, std::span<const std::vector<input_data>> batches, bool whole) const {
        step_identity s;
        s.training = training_;
        s.plan = r.runner.bound().hash;
        s.kind = r.key.kind;
        s.number = states_[0].step;
        s.steps = batches.size();
        s.part = !whole;
        s.seed = states_[0].seed;
        s.learning_rate = states_[0].learning_rate;
        s.samples = r.key.size.samples;
        s.length = r.key.size.length;
        for (std::size_t i = 0; i < batches.size(); ++i) {
            s.learning_rates = op::mix(s.learning_rates ^ std::bit_cast<std::uint64_t>(states_[i].learning_rate));
            if (whole) {
                detail::add_batch(s, r.planned.network.view(), batches[i]);
            }
        }
        s.learning_rates = batches.size() > 1 ? s.learning_rates : 0; // else it says no more than the first
        return s;
    }
    std::string lines_of_step(const step_identity& what) const {
        field_lines all = identity_lines();
        all.add("step", what);
        return all.text();
    }
    static std::string text_of_plan(const plan& p) {
        field_lines all;
        all.add("plan", p.hash);
        all.add("plan.tasks", p.tasks.size());
        all.add("plan.tiles", p.tiles.size());
        return all.text();
    }

    void add_pieces(const run_of& r, const std::vector<result_piece>& pieces, int tensor, int step, const box& all,
                    std::vector<float>& out) const {
        const plan& p = r.runner.bound();
        sum_.add(backend_, p, r.runner.memory(), pieces, tensor, step, all, out, [&](const std::vector<int>& tiles) {
            held_.clear();
            for (std::size_t i = 0; i < tiles.size() && RunsOverGroups<B>; ++i) {
                const int root = p.root(tiles[i]);
                const tile& t = p.tiles[static_cast<std::size_t>(root)];
                held_.push_back({t.device, r.runner.memory()[root], t.elements * bytes_of(t.type)});
            }
            memory_.bring(held_);
        });
    }

    double total_loss(const run_of& r, int step) const {
        double total = 0;
        const graph_view g = r.planned.network.view();
        loss_of_op_.assign(graph_.ops.size(), 0.0);
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
            const op_attributes& a = g.ops[op].attributes;
            const double loss = sum / loss_divisor(a, rows);
            total += a.weight * loss;
            loss_of_op_[static_cast<std::size_t>(r.planned.ops[static_cast<std::size_t>(op)])] = loss;
        }
        return total;
    }

    void count_correct(const run_of& r, std::span<const input_data> inputs, evaluation& e) const {
        const graph_view g = r.planned.network.view();
        for (int op = 0; op < g.op_count; ++op) {
            const auto& in = g.ops[op].inputs;
            if (!g.is_loss(op) || in.size() < 2 || g.tensors[in[1]].type != element::i32) {
                continue; // it compares no classes
            }
            const int tensor = in[0];
            const input_data& labels = inputs[detail::input_number(g, in[1])];
            detail::count_correct(g.ops[op].attributes, leaders(r, tensor, inputs),
                                  static_cast<const std::int32_t*>(labels.data), e);
            return;
        }
    }

    /// Each loss, and what its mean is over.
    void weigh_losses(const run_of& r, std::span<const input_data> inputs, evaluation& e) const {
        const graph_view g = r.planned.network.view();
        for (int op = 0; op < g.op_count; ++op) {
            if (!g.is_loss(op)) {
                continue;
            }
            const op_node& o = g.ops[op];
            const auto& weigh = record_of(o.attributes).rows_weigh;
            double over = static_cast<double>(r.key.size.samples);
            if (weigh != nullptr) {
                const auto handed_in = [&](int k) {
                    return o.inputs.size() > k && g.tensors[o.inputs[k]].producer < 0
                               ? inputs[detail::input_number(g, o.inputs[k])].data
                               : nullptr;
                };
                const std::vector<float> own = o.parameters.empty() ? std::vector<float>{} : parameter(o.parameters[0]);
                over = weigh(o.attributes,
                             {g.output_of(op).extents.volume(), static_cast<const std::int32_t*>(handed_in(1)),
                              static_cast<const float*>(handed_in(2)), own.empty() ? nullptr : own.data()});
            }
            const auto before = static_cast<std::size_t>(r.planned.ops[static_cast<std::size_t>(op)]);
            e.losses.push_back({loss_of_op_[before], o.attributes.weight, over});
        }
    }

    /// The leaders of all rows of logits, found where the logits are if the backend can, so that they need not come
    /// here.
    std::vector<row_leader> leaders(const run_of& r, int tensor, std::span<const input_data> inputs) const {
        const graph_view g = r.planned.network.view();
        const box all = whole(g.tensors[tensor].extents);
        const auto volume = static_cast<std::size_t>(all.volume());
        if (g.tensors[tensor].producer < 0) { // handed in as they are
            const auto* own = static_cast<const float*>(inputs[detail::input_number(g, tensor)].data);
            return detail::leaders_of(logit_rows(all), {own, volume});
        }
        const plan& p = r.runner.bound();
        if constexpr (finds_leaders<B>) {
            if (std::none_of(p.results.begin(), p.results.end(),
                             [&](const result_piece& x) { return x.tensor == tensor && x.part > 0; })) {
                return leaders_on_devices(r, tensor, all);
            }
        }
        std::vector<float> logits(volume, 0.0F); // sums of parts
        add_pieces(r, p.results, tensor, 0, all, logits);
        return detail::leaders_of(logit_rows(all), logits);
    }

    /// The same of what lies on devices: each process finds those of its own.
    std::vector<row_leader> leaders_on_devices(const run_of& r, int tensor, const box& all) const {
        const plan& p = r.runner.bound();
        std::vector<row_leader> own;
        for (const result_piece& x : p.results) {
            const tile& t = p.tiles[static_cast<std::size_t>(x.tile)];
            const auto rows = static_cast<std::size_t>(logit_rows(t.region).count());
            if (x.tensor != tensor) {
                continue;
            }
            if (group() == nullptr || group()->owns(t.device)) {
                if constexpr (finds_leaders<B>) {
                    const std::vector<row_leader> found = backend_.leaders(t, r.runner.memory()[p.root(x.tile)]);
                    own.insert(own.end(), found.begin(), found.end());
                }
            } else {
                own.insert(own.end(), rows, row_leader{0, 0}); // to be joined with those that are
            }
        }
        if (group() != nullptr) {
            group()->join(std::as_writable_bytes(std::span<row_leader>(own)));
        }
        std::vector<row_leader> found(static_cast<std::size_t>(logit_rows(all).count()));
        std::span<const row_leader> next = own;
        for (const result_piece& x : p.results) {
            if (x.tensor == tensor) {
                const box& region = p.tiles[static_cast<std::size_t>(x.tile)].region;
                const auto rows = static_cast<std::size_t>(logit_rows(region).count());
                detail::merge_leaders(all, region, next.first(rows), found);
                next = next.subspan(rows);
            }
        }
        return found;
    }

    graph graph_;
    strategy strategy_;
    optimizer update_;
    session_options options_;
    int devices_;
    B& backend_;
    workers& threads_;
    mutable detail::memory_of_group<B> memory_; ///< that the next two take
    parameter_store store_;
    std::vector<tile> stored_;        ///< of the parameters in it
    std::vector<index_t> persistent_; ///< bytes of the store on every device
    shared_arenas arenas_;
    bool uses_averages_ = false; ///< they are where the parameters were
    bool has_gradients_ = false; ///< in the arenas, of the training plan's last run
    std::vector<std::vector<float>>
        gradients_; ///< of every parameter, once the arenas have been used for something else
    run_state state_;
    std::uint64_t training_ = 0; ///< in a group: hash of its identity
    run_report own_report_;
    void* shared_reports_ =
        nullptr; ///< of a group of processes, two: while some still read that of a run others may begin the next
    int runs_begun_ = 0;
    run_report* report_ = &own_report_;     ///< of the last run
    std::uint64_t told_ = run_report::none; ///< the last update that was not finite, in a group
    staleness_record staleness_;
    std::vector<run_state> states_; ///< with what follows: kept so that a step allocates nothing
    std::vector<input_data> batch_;
    std::vector<double> losses_;
    std::vector<const void*> pointers_;
    mutable std::vector<double> loss_of_op_; ///< of the last step or evaluation
    mutable std::vector<float> loss_rows_;   ///< with the next: kept so that a step allocates nothing
    mutable detail::piece_sum sum_;
    mutable std::vector<detail::held_bytes> held_;            ///< that it reads
    std::vector<owned<detail::prediction_setting>> settings_; ///< of predictions that were asked for
    mutable std::vector<owned<network_of_length>> lengths_;   ///< shorter than the longest, the newest last
    std::vector<owned<run_of>> runs_; ///< the first is for training on full batches; the others by when they ran last
    const run_of* running_ = nullptr; ///< the last that has run
};

} // namespace tessera

#include "tessera/base/end_header.inl"
