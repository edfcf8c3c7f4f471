// SPDX-License-Identifier: Apache-2.0
// A network in training on the devices of this process: plans, parameters and the threads that run them, for networks
// as values.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/device_turn.hpp"
#include "tessera/execute/session/answers.hpp"

#include <span>
#include <utility>

namespace tessera {

/// Made of parts, each in a file of execute/session/: the plans (plan_cache, session_networks), the parameters
/// (parameter_state), steps (plan_runs, training_progress), evaluation and prediction (session_answers, run_results).
/// It owns them; its own are the turns of threads, which may call it at the same time (device_turn), and the order in
/// which parts are asked: arguments are checked first, then transfers that are under way end.
template <Backend B>
class session {
public:
    /// Plans `g` under `s` and initializes its parameters. Throws tessera::error for a strategy that breaks a rule or
    /// does not fit.
    session(const graph_view& g, const strategy& s, int devices, const optimizer& update,
            const session_options& options, B& backend, workers& threads)
        : of_(detail::make_setting(g, s, devices, update, options, backend, threads)), networks_(of_), progress_(of_),
          values_(of_, backend), results_(of_, backend, values_),
          plans_(of_, backend, networks_, values_, results_, progress_),
          runs_(of_, networks_, values_, results_, progress_, plans_),
          answers_(of_, networks_, results_, plans_, runs_) {
        const device_turn turn(of_.threads);
        // First: what one rank alone refuses, and what another measures, may be what differs.
        progress_.compare_trainings();
        of_.require_sense();
        const detail::run_key first = networks_.first_key();
        if constexpr (has_memory<B> && !RunsOverGroups<B>) {
            if (of_.group() != nullptr) {
                throw error("tessera: the backend has memory of its own, which ranks do not share; use one process");
            }
        }
        progress_.share_reports();
        plans_.begin(first, [this](const plan& p) { progress_.compare_plans(p); });
        values_.initialize();
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
        plans_.clear(); // whose transfers may report
        progress_.unshare_reports();
    }

    const plan& training_plan() const { return plans_.first().runner.bound(); }
    /// Where parameters lie: for others whose plans read them.
    const parameter_store& stored() const { return values_.store(); }
    /// Runs the training plan: for those who look at its memory or time its tasks.
    const executor<B>& training_executor() const { return plans_.first().runner; }
    const graph_view graph_of() const { return of_.view(); }
    /// The strategy that it was planned under.
    const strategy& strategy_of() const { return of_.how; }
    /// The network as the training plan numbers its operators and tensors: where expressions are fused
    /// (session_options::fuse), fewer of them.
    const graph_view planned_graph() const { return plans_.first().planned.network.view(); }
    /// The network at the length of a batch's sequences; the view is good until the next call. Throws tessera::error
    /// for a length that does not fit.
    graph_view graph_of(std::span<const input_data> inputs) const {
        const device_turn turn(of_.threads, device_turn::waits);
        return networks_.at_length_of(inputs);
    }
    std::uint64_t steps() const {
        const device_turn turn(of_.threads, device_turn::waits);
        return progress_.steps();
    }
    double learning_rate() const {
        const device_turn turn(of_.threads, device_turn::waits);
        return progress_.learning_rate();
    }
    void set_learning_rate(double rate) {
        const device_turn turn(of_.threads, device_turn::waits);
        progress_.set_learning_rate(rate);
    }

    /// One training step on a batch, which may be shorter than the network's; returns its loss before the update. Where
    /// the strategy's gradients go to servers in urgent_first order, updates of far layers may still be under way,
    /// which whoever reads parameters waits for. Throws tessera::error when the loss is not finite: parameters, the
    /// optimizer's state and running statistics are then what they were. Throws one that names a parameter when its
    /// update is not finite although the loss is: the step is then taken, but for the elements that would have become
    /// infinite or NaN, which keep their values; where gradients are clipped, for nothing at all. (Of an update that
    /// was still under way the next step, or finish(), throws it.)
    double step(std::span<const input_data> inputs) {
        const device_turn turn(of_.threads);
        return runs_.step(inputs, nullptr);
    }
    /// The same, which also says when every task of the plan started and ended.
    double step(std::span<const input_data> inputs, simulation::timeline& measured) {
        const device_turn turn(of_.threads);
        return runs_.step(inputs, &measured);
    }

    /// One training step of a group of processes, each of which hands in its own part of a full batch alone: of n
    /// samples rank r's are even_part(n, ranks, r). Throws tessera::error where its devices read samples of other parts
    /// under this strategy, and what step() throws.
    double step_part(std::span<const input_data> inputs) {
        const device_turn turn(of_.threads);
        return runs_.step_part(inputs);
    }

    /// Training steps on one batch each: as many at a time as the strategy's plan covers, what is left one by one;
    /// returns their losses. The learning rate is the same for all unless `rates` has one for each. Throws what step()
    /// throws, and for another number of rates: the steps before the one that it names are then taken, that one and the
    /// later ones of the same run of the plan are not.
    std::vector<double> steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates = {}) {
        const device_turn turn(of_.threads);
        return runs_.steps(batches, rates);
    }

    /// Forward with running statistics and without dropout. Throws tessera::error when the loss is not finite.
    evaluation evaluate(std::span<const input_data> inputs) {
        const device_turn turn(of_.threads);
        return answers_.evaluate(inputs);
    }

    /// The loss of an operator in the last step or evaluation, without its weight. Throws tessera::error for one that
    /// is no loss, and before there was a step or an evaluation.
    double loss_of(int op) const {
        const device_turn turn(of_.threads, device_turn::waits);
        const graph_view g = of_.view();
        if (op < 0 || op >= g.op_count || !g.is_loss(op)) {
            throw error("tessera: there is no loss " + std::to_string(op) + " among the operators of the network");
        }
        if (!results_.has_losses()) {
            throw error("tessera: there are no losses before the first step or evaluation");
        }
        return results_.loss_of(op);
    }

    /// What operators make of the inputs that they need, with running statistics and without dropout: for each tensor
    /// of `wanted`, by its number in the network, all samples. Inputs are those that these tensors need, in the
    /// network's order: no labels, as a rule. There may be more samples than the network was planned for: they go
    /// through in batches of that many. Throws tessera::error for inputs that do not fit.
    std::vector<prediction> predict(std::span<const input_data> inputs, const std::vector<int>& wanted) {
        const device_turn turn(of_.threads);
        return answers_.predict(inputs, wanted);
    }

    /// Waits until no transfer of a step is under way; throws what one has thrown, and what step() throws of updates
    /// that are not finite. All that reads or sets parameters waits by itself.
    void finish() {
        const device_turn turn(of_.threads);
        plans_.wait_for_transfers();
        progress_.tell_all_lost();
    }

    /// All elements of a parameter, plain.
    std::vector<float> parameter(int p) const {
        const device_turn turn(of_.threads);
        of_.require_parameter(p);
        return plans_.settled().parameter(p);
    }
    /// Before kept() and parameter_copies() over several nodes, or over processes whose backend has memory of its own:
    /// brings everything to all of them; all processes call it.
    void bring_to_all_nodes() const {
        const device_turn turn(of_.threads);
        plans_.settled().bring(-1);
    }
    /// Before the first step it also sets where the parameter's average begins.
    void set_parameter(int p, std::span<const float> values) {
        const device_turn turn(of_.threads);
        of_.require_parameter(p);
        of_.require_values(p, values);
        plans_.settled().set(p, values, progress_.steps() == 0);
    }

    [[deprecated("since 0.3: use use_ema")]] void use_averages(bool use) { use_ema(use); }
    /// From now on (or no longer) evaluations, predictions and parameter() take the moving averages of the weights
    /// instead of the weights; a step is refused meanwhile. What is not trained and running statistics have no averages
    /// and stay what they are. Throws tessera::error where the optimizer keeps none.
    void use_ema(bool use) {
        const device_turn turn(of_.threads);
        if (!of_.averages()) {
            throw error("tessera: there are no averages of the weights; make the optimizer with averaging(0.999F)");
        }
        if (use != values_.uses_ema()) {
            plans_.settled().swap_averages();
        }
    }
    bool uses_ema() const { return values_.uses_ema(); }
    [[deprecated("since 0.3: use uses_ema")]] bool uses_averages() const { return uses_ema(); }

    // ---- what a file must hold for training to go on as if it had not ended (io/files/checkpoint.hpp) ---------------

    const optimizer& update() const { return of_.update; }
    std::uint64_t seed() const { return progress_.seed(); }
    /// What the training is, field by field (execute/ranks/training_identity.hpp).
    field_lines identity_lines() const { return of_.identity_lines(); }
    /// A parameter (`state` -1), or number `state` of what the optimizer keeps for each of its elements, counted from
    /// 0: all elements, plain.
    std::vector<float> state_of(int p, int state) const {
        const device_turn turn(of_.threads);
        require(p, state);
        return plans_.settled().state_of(p, state);
    }
    /// Sets it, in every copy; throws tessera::error for another number of elements.
    void set_state(int p, int state, std::span<const float> values) {
        const device_turn turn(of_.threads);
        require(p, state);
        of_.require_values(p, values);
        plans_.settled().set_state(p, state, values);
    }
    /// The same piece by piece, as devices hold it: which there are; those elements of a piece that lie in the box
    /// `to`, into all of that box, row-major (call settle() before); and all elements from `source`, of which this
    /// process takes those of its own devices. All processes call load_state().
    std::vector<state_piece> state_pieces(int p, int state) const {
        require(p, state);
        return values_.pieces(p, state);
    }
    void copy_state(int p, int state, const state_piece& piece, const box& to, float* numbers) const {
        const device_turn turn(of_.threads, device_turn::waits);
        values_.copy_piece(p, state, piece, to, numbers);
    }
    void load_state(int p, int state, state_source source) {
        const device_turn turn(of_.threads);
        require(p, state);
        plans_.settled().fill(p, state, source);
    }
    /// False for the optimizer's state of a parameter that is not trained.
    bool keeps(int p, int state) const { return values_.keeps(p, state); }
    /// What devices have left out of compressed gradients: all of the plan; those of a device of this process, into as
    /// many numbers as the region has elements; and set (in the process of the device, all others pass over it). Throws
    /// tessera::error for one that the plan does not have.
    std::vector<residual_key> residuals() const { return values_.residuals(); }
    void copy_residual(const residual_key& r, float* numbers) const {
        const device_turn turn(of_.threads, device_turn::waits);
        values_.copy_residual(r, numbers);
    }
    void set_residual(const residual_key& r, std::span<const float> numbers) {
        const device_turn turn(of_.threads, device_turn::waits);
        values_.set_residual(r, numbers);
    }
    /// The next step is the one after `steps`, with the random numbers of `seed`. What compressed gradients have left
    /// out is forgotten.
    void resume_after(std::uint64_t steps, std::uint64_t seed, double learning_rate) {
        const device_turn turn(of_.threads);
        plans_.settled().forget_residuals();
        progress_.resume_after(steps, seed, learning_rate);
    }
    /// Every copy of a parameter on every device, as (region, plain elements): copies must stay equal bit for bit. None
    /// where it is stored in slices.
    std::vector<std::pair<box, std::vector<float>>> parameter_copies(int p) const {
        const device_turn turn(of_.threads);
        return plans_.settled().copies(p);
    }

    /// The gradient of a parameter in the last training step on a full batch: the sum of the contributions. Throws
    /// tessera::error without keep_gradients, and before there was such a step.
    std::vector<float> gradient(int p) const {
        const device_turn turn(of_.threads);
        of_.require_parameter(p);
        if (!of_.options.keep_gradients) {
            throw error("tessera: gradients are not kept after a step; make the trainer with {.keep_gradients = true}");
        }
        if (!results_.has_gradients()) {
            throw error("tessera: there are no gradients before the first training step on a full batch");
        }
        if (results_.has_gradients_in_arenas()) {
            plans_.wait_for_transfers();
        }
        return results_.gradient(plans_.first(), p);
    }

    /// How many steps' gradients the parameters of the steps that were taken missed (synchronization::staleness).
    const staleness_record& staleness() const { return progress_.staleness(); }

    /// The processes that share the plans, or null.
    process_group* processes() const { return of_.group(); }
    /// Waits until no transfer of a step is under way in any of them; all call it. Throws what one has thrown.
    void settle() const {
        const device_turn turn(of_.threads);
        plans_.wait_for_transfers();
    }

private:
    void require(int p, int state) const {
        of_.require_parameter(p);
        of_.require_state(state);
    }

    detail::session_setting of_;
    detail::session_networks networks_;
    detail::training_progress progress_;
    detail::parameter_state<B> values_;
    detail::run_results<B> results_;
    detail::plan_cache<B> plans_;
    detail::plan_runs<B> runs_;
    detail::session_answers<B> answers_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
