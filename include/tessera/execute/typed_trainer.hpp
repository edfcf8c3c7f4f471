// SPDX-License-Identifier: Apache-2.0
// The trainer: a network type in training on the devices of this process, over whatever session its backend has.
// (execute/trainer.hpp has it with the session that plans and runs here; compiled ones are in runtime/.)
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/execute/backend.hpp"
#include "tessera/execute/batch.hpp"
#include "tessera/execute/check_backend.hpp"
#include "tessera/execute/evaluate_calls.hpp"
#include "tessera/execute/generation_options.hpp"
#include "tessera/execute/layer_calls.hpp"
#include "tessera/execute/learning_rate.hpp"
#include "tessera/execute/local/device_turn.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/predict_calls.hpp"
#include "tessera/execute/pruning.hpp"
#include "tessera/execute/session_of.hpp"
#include "tessera/strategy/typed_groups.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace tessera {

using trainer_options = session_options;

namespace detail {

TESSERA_REFUSAL(summary_not_included,
                "a summary wants tessera/execute/measure/summary.hpp included, and a cluster, a timeline or nothing");
TESSERA_REFUSAL(strategy_of_other_network, "the strategy was made for another network");

} // namespace detail

/// Trains a network under a strategy. B is a backend (see execute/local/executor.hpp); including host.hpp makes its
/// backend the default. Results do not depend on the strategy but for the order of floating-point sums. Everything is
/// built here: a step allocates nothing unless it is the first of its batch size. Threads may call it at the same time:
/// calls take turns (execute/local/device_turn.hpp); for many threads that predict, see execute/predictor.hpp.
///
/// It owns the backend and the session, and has the steps; evaluate(), predict() and what goes by layer (weights,
/// losses, pruning) are its bases'.
template <class Net, class B = default_backend<Net>>
class trainer : public detail::layer_calls<trainer<Net, B>, Net>,
                public detail::evaluate_calls<trainer<Net, B>, Net>,
                public detail::predict_calls<trainer<Net, B>, Net> {
public:
    using session_type = typename session_of<B>::type;

    /// Plans the network, builds its tasks and sets its parameters to their initial values (a function of
    /// options.seed). Throws tessera::error where the strategy was made for another number of devices, breaks a rule,
    /// or does not fit in memory.
    template <PlannedStrategy S>
    trainer(const local_devices& devices, const S& s, const optimizer_for<Net>& update,
            const trainer_options& options = {})
        : trainer(devices, strategy(strategy_view(s.view())), static_cast<index_t>(s.batch), update.value, options,
                  static_cast<int>(s.devices),
                  [&] { return make_backend<B, operators_of<Net>>(update.value, options); }) {
        check_network<S>();
    }
    /// The same with options that are the backend's own, such as cuda::backend_options.
    template <PlannedStrategy S>
    trainer(const local_devices& devices, const S& s, const optimizer_for<Net>& update, const trainer_options& options,
            const own_options_of<B>& own)
        : trainer(devices, strategy(strategy_view(s.view())), static_cast<index_t>(s.batch), update.value, options,
                  static_cast<int>(s.devices),
                  [&] { return make_backend<B, operators_of<Net>>(update.value, options, own); }) {
        check_network<S>();
    }
    /// The same under a strategy that is a value, for batches of `batch` samples. It may use fewer devices than there
    /// are.
    trainer(const local_devices& devices, const strategy& s, index_t batch, const optimizer_for<Net>& update,
            const trainer_options& options = {})
        : trainer(devices, s, batch, update.value, options, devices.count(),
                  [&] { return make_backend<B, operators_of<Net>>(update.value, options); }) {}
    trainer(const local_devices& devices, const strategy& s, index_t batch, const optimizer_for<Net>& update,
            const trainer_options& options, const own_options_of<B>& own)
        : trainer(devices, s, batch, update.value, options, devices.count(),
                  [&] { return make_backend<B, operators_of<Net>>(update.value, options, own); }) {}

    trainer(const trainer&) = delete;
    trainer& operator=(const trainer&) = delete;

    // ---- training ---------------------------------------------------------------------------------------------------

    /// One step on at most batch() samples; returns the loss before the update. Throws tessera::error where the batch
    /// does not fit the network, and when the loss is not a finite number; the step is then not taken (see
    /// session::step).
    template <Batch T>
    double step(const T& samples) {
        const device_turn turn(devices_.threads());
        return step(std::span<const input_data>(inputs_of(graph_for(samples), samples)));
    }
    template <class... Names>
    double step(const named_batch<Names...>& samples) {
        return step(std::span<const input_data>(inputs_of<Net>(graph(), samples)));
    }
    template <class... Names>
    double step(const feed<Names>&... inputs) {
        return step(named_batch<Names...>(inputs...));
    }
    /// The inputs in the network's own order.
    double step(std::span<const input_data> inputs) {
        const device_turn turn(devices_.threads());
        if (schedule_) {
            session_.set_learning_rate(checked(schedule_(session_.steps())));
        }
        pruning_.before(session_, 1);
        return session_.step(inputs);
    }

    /// Steps on one batch each, as many at a time as the strategy's plan covers (its period); returns their losses. The
    /// batches must stay where they are meanwhile.
    template <Batch T>
    std::vector<double> steps(const std::vector<T>& batches) {
        const device_turn turn(devices_.threads());
        std::vector<std::vector<input_data>> inputs;
        std::vector<double> rates;
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const auto one = inputs_of(graph_for(batches[i]), batches[i]);
            inputs.emplace_back(one.begin(), one.end());
            rates.push_back(schedule_ ? checked(schedule_(session_.steps() + i)) : session_.learning_rate());
        }
        pruning_.before(session_, batches.size());
        return session_.steps(inputs, rates);
    }

    /// The rate of all steps to come.
    void set_learning_rate(double rate) {
        const device_turn turn(devices_.threads());
        schedule_ = {};
        session_.set_learning_rate(checked(rate));
    }
    /// The rate as a function of the step: constant_rate, step_decay, cosine_decay, polynomial_decay, these after a
    /// warm_up or sequential_rates, or any callable from std::uint64_t to double.
    template <std::invocable<std::uint64_t> Schedule>
    void set_learning_rate(Schedule schedule) {
        const device_turn turn(devices_.threads());
        schedule_ = rate_schedule(std::move(schedule));
    }

    /// prune() before every step, to the share that a schedule has for it; steps(), before all of its steps, to that
    /// of the first.
    template <class... L>
    void set_pruning(const pruning_schedule& schedule) {
        const device_turn turn(devices_.threads());
        pruning_ = detail::scheduled_pruning(schedule, this->template weights_of<L...>());
    }

    /// Whether evaluations, predictions, weights() and bias() take the moving averages of the weights that the
    /// optimizer keeps (optimizer::averaging); steps are refused while they do. Throws tessera::error where it keeps
    /// none.
    void use_ema(bool use) { session_.use_ema(use); }
    [[deprecated("since 0.3: use use_ema")]] void use_averages(bool use) { use_ema(use); }

    /// What follows prompts of tokens: makes a generator, which has plans of its own and copies of the weights, and
    /// asks it. For many calls make one generator and keep it. Of tessera/execute/generator.hpp, which must be
    /// included.
    std::vector<token_list> generate(const std::vector<token_list>& prompts, const generation_options& options = {},
                                     const generator_options& size = {}) {
        return detail::generate_once<Net, B>(*this, prompts, options, size);
    }

    // ---- what there is ----------------------------------------------------------------------------------------------

    const plan& training_plan() const { return session_.training_plan(); }
    graph_view graph() const { return described_.view(); }
    /// The network as the training plan numbers it; see session::planned_graph().
    graph_view planned_graph() const { return session_.planned_graph(); }
    index_t batch() const { return batch_; }                          ///< samples of a full batch
    std::uint64_t steps() const { return session_.steps(); }          ///< steps taken
    double learning_rate() const { return session_.learning_rate(); } ///< of the last step
    /// Its layers with their shapes, parameters, floating-point operations and bytes, whole and on each device;
    /// to_text() makes a table of it. With a cluster on which to simulate the plan (and task times), or with a timeline
    /// of the plan, also their times. Of tessera/execute/measure/summary.hpp, which must be included.
    template <class... Times>
    auto summary(const Times&... times) const {
        if constexpr (requires { summarize(*this, times...); }) {
            return summarize(*this, times...);
        } else {
            static_cast<void>(sizeof(detail::summary_not_included<Net, Times...>));
        }
    }
    session_type& values() { return session_; } ///< the network as a value: parameters by number
    const session_type& values() const { return session_; }
    const local_devices& devices() const { return devices_; }

private:
    friend detail::evaluate_calls<trainer, Net>;
    friend detail::predict_calls<trainer, Net>;

    template <class Make>
    trainer(const local_devices& devices, const strategy& s, index_t batch, const optimizer& update,
            const trainer_options& options, int planned, Make&& make)
        : described_(tessera::describe<Net>(batch)), batch_(batch), devices_(devices), backend_(make()),
          session_(described_.view(), s, same(planned, devices.count()), update, options, backend_,
                   devices_.threads()) {
        static_assert(check_backend<Net, B>::test() || true);
        checked(static_cast<double>(update.learning_rate));
    }

    template <class S>
    static void check_network() {
        if constexpr (requires { typename S::network; }) {
            if constexpr (!std::is_same_v<typename S::network, Net>) {
                static_cast<void>(sizeof(detail::strategy_of_other_network<typename S::network>));
            }
        }
    }

    static int same(int planned, int there) {
        if (planned != there) {
            throw error("tessera: the strategy was made for " + std::to_string(planned) + " devices and there are " +
                        std::to_string(there) + "; plan for the devices that there are, or make as many as it wants");
        }
        return there;
    }

    static double checked(double rate) {
        if (!is_finite(rate) || rate < 0) {
            throw error("tessera: a learning rate of " + fixed_text(rate) +
                        "; it must be a finite number of at least 0");
        }
        return rate;
    }

    /// The network at the length of a batch's sequences.
    template <Batch T>
    graph_view graph_for(const T& samples) const {
        const input_data inputs = detail::inputs_with_length(graph(), samples);
        return session_.graph_of({&inputs, 1});
    }

    prediction predict_inputs(std::span<const input_data> inputs, int tensor) {
        return session_.predict(inputs, {tensor})[0];
    }

    tessera::graph described_;
    index_t batch_;
    local_devices devices_;
    B backend_;
    session_type session_;
    rate_schedule schedule_;
    detail::scheduled_pruning pruning_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
