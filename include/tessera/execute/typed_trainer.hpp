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
#include "tessera/execute/learning_rate.hpp"
#include "tessera/execute/local/device_turn.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/prediction_inputs.hpp"
#include "tessera/execute/pruning.hpp"
#include "tessera/strategy/typed_groups.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace tessera {

template <Backend B>
class session; // execute/session.hpp

/// What trains a network as a value on a backend: its member `session_type`, if it has one.
template <class B>
struct session_of {
    using type = session<B>;
};
template <class B>
requires requires { typename B::session_type; }
struct session_of<B> {
    using type = typename B::session_type;
};

using trainer_options = session_options;

/// The loss of one layer of a network.
struct layer_loss {
    std::string layer; ///< its path
    double value = 0;  ///< without the weight
    double weight = 1; ///< in the sum of all
};

/// What an evaluation over any number of batches found.
struct scores {
    double loss = 0;     ///< mean over all samples, or over what all rows weigh, as in training of one batch
    double accuracy = 0; ///< share of the rows that count of the first loss whose largest logit is the label's
    index_t correct = 0;
    index_t rows = 0; ///< labels: one for each sample, or for each pixel, but for those that a loss ignores
    index_t samples = 0;
};

namespace detail {

/// What weights<L>() stands for: a layer, and which of its instances.
template <class L>
struct addressed {
    using layer_type = L;
    static constexpr int which = 0;
};
template <class L, int Instance>
struct addressed<instance<L, Instance>> {
    using layer_type = L;
    static constexpr int which = Instance;
};

TESSERA_REFUSAL(no_such_layer, "the network has no such layer");
TESSERA_REFUSAL(layer_is_no_loss, "the layer is no loss");
TESSERA_REFUSAL(no_such_parameter, "the network has no such layer, or the layer has no such parameter");
TESSERA_REFUSAL(summary_not_included,
                "a summary wants tessera/execute/measure/summary.hpp included, and a cluster, a timeline or nothing");
TESSERA_REFUSAL(strategy_of_other_network, "the strategy was made for another network");

/// The parameter of a layer by its slot; -1 where the network has no such layer or the layer no such parameter.
template <class L>
constexpr int find_parameter(const graph_view& g, int slot) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].key != key_of<typename addressed<L>::layer_type> || g.ops[op].instance != addressed<L>::which) {
            continue;
        }
        return slot < g.ops[op].parameters.size() ? g.ops[op].parameters[slot] : -1;
    }
    return -1;
}

template <class L>
constexpr int find_operator(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].key == key_of<typename addressed<L>::layer_type> && g.ops[op].instance == addressed<L>::which) {
            return op;
        }
    }
    return -1;
}

template <class Net, class L>
inline constexpr int operator_of = find_operator<L>(storage_of<Net, 64>.view());

/// The tensor that predict<L>() is of: what a layer makes, or the tensor that a chain or save<> has called L; -1 where
/// there is neither.
template <class Net, class L>
constexpr int find_output() {
    if (operator_of<Net, L> >= 0) {
        return storage_of<Net, 64>.view().ops[operator_of<Net, L>].output;
    }
    graph_builder b;
    build_whole<Net>(b, 64);
    const int tensor = b.find_tap(key_of<L>);
    return tensor >= 0 && b.tensors[tensor].producer >= 0 ? tensor : -1;
}
template <class Net, class L>
inline constexpr int output_of = find_output<Net, L>();

template <class Net, class L, int Slot>
inline constexpr int parameter_of = find_parameter<L>(storage_of<Net, 64>.view(), Slot);

} // namespace detail

/// Trains a network under a strategy. B is a backend (see execute/local/executor.hpp); including host.hpp makes its backend
/// the default. Results do not depend on the strategy but for the order of floating-point sums. Everything is built
/// here: a step allocates nothing unless it is the first of its batch size. Threads may call it at the same time: calls
/// take turns (execute/local/device_turn.hpp); for many threads that predict, see execute/predictor.hpp.
template <class Net, class B = default_backend<Net>>
class trainer {
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
        const device_turn in_turn(devices_.threads());
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
        const device_turn in_turn(devices_.threads());
        if (schedule_) {
            session_.set_learning_rate(checked(schedule_(session_.steps())));
        }
        prune_before(1);
        return session_.step(inputs);
    }

    /// Steps on one batch each, as many at a time as the strategy's plan covers (its period); returns their losses. The
    /// batches must stay where they are meanwhile.
    template <Batch T>
    std::vector<double> steps(const std::vector<T>& batches) {
        const device_turn in_turn(devices_.threads());
        std::vector<std::vector<input_data>> inputs;
        std::vector<double> rates;
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const auto one = inputs_of(graph_for(batches[i]), batches[i]);
            inputs.emplace_back(one.begin(), one.end());
            rates.push_back(schedule_ ? checked(schedule_(session_.steps() + i)) : session_.learning_rate());
        }
        prune_before(batches.size());
        return session_.steps(inputs, rates);
    }

    /// The rate of all steps to come.
    void set_learning_rate(double rate) {
        const device_turn in_turn(devices_.threads());
        schedule_ = {};
        session_.set_learning_rate(checked(rate));
    }
    /// The rate as a function of the step: constant_rate, step_decay, cosine_decay, polynomial_decay, these after a
    /// warm_up or in_turn, or any callable from std::uint64_t to double.
    template <std::invocable<std::uint64_t> Schedule>
    void set_learning_rate(Schedule schedule) {
        const device_turn in_turn(devices_.threads());
        schedule_ = rate_schedule(std::move(schedule));
    }

    // ---- pruning ----------------------------------------------------------------------------------------------------

    /// Sets to zero, for good, the smallest weights of each layer of L (or instance<layer, n>), so that a share of each
    /// layer's is zero; without L of each trained parameter that has two dimensions or more, so not of biases and
    /// norms. Throws tessera::error where the optimizer is not one of pruning().
    template <class... L>
    void prune(double fraction) {
        const device_turn in_turn(devices_.threads());
        for (const int p : weights_of<L...>()) {
            tessera::prune(session_, p, fraction);
        }
    }
    /// The same before every step, to the share that a schedule has for it; steps(), before all of its steps, to that
    /// of the first.
    template <class... L>
    void set_pruning(const pruning_schedule& schedule) {
        const device_turn in_turn(devices_.threads());
        pruning_ = {schedule, weights_of<L...>()};
    }
    /// The share of these weights that is pruned.
    template <class... L>
    double pruned_share() const {
        const device_turn in_turn(devices_.threads());
        double pruned = 0;
        double all = 0;
        for (const int p : weights_of<L...>()) {
            const auto n = static_cast<double>(graph().parameters[p].extents.volume());
            pruned += n * tessera::pruned_share(session_, p);
            all += n;
        }
        return all > 0 ? pruned / all : 0;
    }

    // ---- evaluation -------------------------------------------------------------------------------------------------

    /// Loss and accuracy with running statistics and without dropout, over all batches of a range, each of them
    /// anything that step() takes but feeds; short ones count as much as they have samples. Throws tessera::error where
    /// there are none, and when the loss is not a finite number.
    template <class Range>
    requires requires(Range& r) {
        std::begin(r);
        std::end(r);
    }
    scores evaluate(Range&& batches) {
        sums total;
        if constexpr (requires { std::span<const input_data>(batches); }) {
            add(total, std::span<const input_data>(batches));
        } else {
            for (auto&& b : batches) {
                add(total, b);
            }
        }
        if (total.all.samples == 0) {
            throw error("tessera: an evaluation of no batches; hand in at least one sample");
        }
        return finish(total);
    }
    /// The same of one batch: anything that step() takes.
    template <Batch T>
    scores evaluate(const T& samples) {
        sums total;
        add(total, samples);
        return finish(total);
    }
    template <class... Names>
    scores evaluate(const named_batch<Names...>& samples) {
        sums total;
        add(total, samples);
        return finish(total);
    }
    template <class First, class... Names>
    scores evaluate(const feed<First>& first, const feed<Names>&... inputs) {
        return evaluate(named_batch<First, Names...>(first, inputs...));
    }

    /// Whether evaluations, predictions, weights() and bias() take the moving averages of the weights that the
    /// optimizer keeps (optimizer::averaging); steps are refused while they do. Throws tessera::error where it keeps
    /// none.
    void use_averages(bool use) { session_.use_averages(use); }

    // ---- losses of a network that has several -----------------------------------------------------------------------

    /// A loss layer's loss in the last step or evaluation, without its weight; step() returns the sum of all, each
    /// times its weight. L is a layer, or instance<layer, n> where it is repeated; one that the network does not have,
    /// or that is no loss, does not compile. Throws tessera::error before the first step or evaluation.
    template <class L>
    double loss() const {
        constexpr int op = detail::operator_of<Net, L>;
        if constexpr (op < 0) {
            static_cast<void>(sizeof(detail::no_such_layer<layer<L>>));
            return 0;
        } else if constexpr (!detail::storage_of<Net, 64>.view().is_loss(op)) {
            static_cast<void>(sizeof(detail::layer_is_no_loss<layer<L>>));
            return 0;
        } else {
            return session_.loss_of(op);
        }
    }
    /// Of all loss layers, in the network's order.
    std::vector<layer_loss> losses() const {
        const device_turn in_turn(devices_.threads());
        std::vector<layer_loss> all;
        const graph_view g = graph();
        for (int op = 0; op < g.op_count; ++op) {
            if (g.is_loss(op)) {
                all.push_back({path_of(g, op), session_.loss_of(op), g.ops[op].attributes.weight});
            }
        }
        return all;
    }

    // ---- prediction -------------------------------------------------------------------------------------------------

    /// What goes into the first loss (logits, as a rule; without a loss what the last operator makes), with running
    /// statistics and without dropout, for any number of samples: more than batch() go through in batches of that many.
    /// Takes what step() takes, of which labels may be left out: anything with `inputs`, feeds, of which those that are
    /// not needed are not looked at, or a list of the network's inputs, all or those that are needed, in the network's
    /// order. Feeds without one that is needed do not compile. Throws tessera::error for inputs that do not fit.
    template <class T>
    prediction predict(const T& samples) {
        return predict_tensor<detail::usual_tensor<Net>>(samples);
    }
    template <class First, class... Names>
    prediction predict(const feed<First>& first, const feed<Names>&... inputs) {
        return predict(named_batch<First, Names...>(first, inputs...));
    }
    /// What a layer makes, or the tensor that a node, a chain or save<> has given a name. L is a layer, instance<layer,
    /// n> where it is repeated, or the name; one that the network does not have does not compile.
    template <class L, class T>
    prediction predict(const T& samples) {
        constexpr int tensor = detail::output_of<Net, L>;
        if constexpr (tensor < 0) {
            static_cast<void>(sizeof(detail::no_such_layer<layer<L>>));
            return {};
        } else {
            return predict_tensor<tensor>(samples);
        }
    }
    template <class L, class First, class... Names>
    prediction predict(const feed<First>& first, const feed<Names>&... inputs) {
        return predict<L>(named_batch<First, Names...>(first, inputs...));
    }

    // ---- parameters by layer ----------------------------------------------------------------------------------------

    /// Weights of a convolution or linear layer, gamma of a batch norm: all elements, in row-major order. L is a layer,
    /// or instance<layer, n> where it is repeated. A layer that the network does not have does not compile.
    template <class L>
    std::vector<float> weights() const {
        return session_.parameter(index_of<L, 0>());
    }
    /// The bias, or beta of a batch norm.
    template <class L>
    std::vector<float> bias() const {
        return session_.parameter(index_of<L, 1>());
    }
    /// Throw tessera::error unless as many numbers are given as there are.
    template <class L>
    void set_weights(std::span<const float> values) {
        session_.set_parameter(index_of<L, 0>(), values);
    }
    template <class L>
    void set_bias(std::span<const float> values) {
        session_.set_parameter(index_of<L, 1>(), values);
    }
    /// Shape of the weights, such as [output channels, input channels, height, width].
    template <class L>
    shape weights_shape() const {
        return graph().parameters[index_of<L, 0>()].extents;
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
    const local_devices& devices() const { return devices_; }

private:
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

    template <class L, int Slot>
    static constexpr int index_of() {
        constexpr int found = detail::parameter_of<Net, L, Slot>;
        if constexpr (found < 0) {
            static_cast<void>(sizeof(detail::no_such_parameter<layer<L>>));
        }
        return found;
    }

    template <class... L>
    std::vector<int> weights_of() const {
        std::vector<int> all{index_of<L, 0>()...};
        for (int p = 0; p < graph().parameter_count && sizeof...(L) == 0; ++p) {
            if (is_prunable(graph().parameters[p])) {
                all.push_back(p);
            }
        }
        return all;
    }
    /// Before the next `count` steps. Of weights that have been pruned so far it does not change any.
    void prune_before(std::size_t count) {
        if (pruning_.parameters.empty()) {
            return;
        }
        const double share = pruning_.schedule(session_.steps());
        if (share > 0 && !pruning_.is_done(share, session_.steps())) {
            for (const int p : pruning_.parameters) {
                tessera::prune(session_, p, share);
            }
        }
        pruning_.share = share;
        pruning_.next = session_.steps() + count;
    }

    /// The network at the length of a batch's sequences.
    template <Batch T>
    graph_view graph_for(const T& samples) const {
        const input_data inputs = detail::inputs_with_length(graph(), samples);
        return session_.graph_of({&inputs, 1});
    }

    struct pruned_parameters {
        pruning_schedule schedule{};
        std::vector<int> parameters{};
        double share = -1; ///< that they have been pruned to
        std::uint64_t next = 0;

        bool is_done(double wanted, std::uint64_t step) const {
            return !(wanted > share || wanted < share) && step == next;
        }
    };

    /// Of all batches of an evaluation.
    struct sums {
        scores all;
        std::vector<evaluated_loss> losses; ///< sums of means times what they are over
    };

    template <int Tensor, class T>
    prediction predict_tensor(const T& samples) {
        const device_turn in_turn(devices_.threads());
        return detail::with_prediction_inputs<Net, Tensor>(
            graph(), samples, [&](auto inputs, int tensor) { return session_.predict(inputs, {tensor})[0]; });
    }

    template <Batch T>
    void add(sums& total, const T& samples) {
        const device_turn in_turn(devices_.threads());
        const auto inputs = inputs_of(graph_for(samples), samples);
        add(total, std::span<const input_data>(inputs));
    }
    template <class... Names>
    void add(sums& total, const named_batch<Names...>& samples) {
        const auto inputs = inputs_of<Net>(graph(), samples);
        add(total, std::span<const input_data>(inputs));
    }
    void add(sums& total, std::span<const input_data> inputs) {
        const device_turn in_turn(devices_.threads());
        const evaluation e = session_.evaluate(inputs);
        const tensor_node& first = session_.graph_of(inputs).tensors[0]; // an input: every network starts with one
        const index_t samples = inputs[0].elements * first.extents[0] / first.extents.volume();
        total.losses.resize(e.losses.size());
        for (std::size_t i = 0; i < e.losses.size(); ++i) {
            total.losses[i].mean += e.losses[i].mean * e.losses[i].over;
            total.losses[i].weight = e.losses[i].weight;
            total.losses[i].over += e.losses[i].over;
        }
        total.all.correct += e.correct;
        total.all.rows += e.rows;
        total.all.samples += samples;
    }
    static scores finish(sums total) {
        for (const evaluated_loss& x : total.losses) {
            total.all.loss += x.over > 0 || x.over < 0 ? x.weight * (x.mean / x.over) : 0;
        }
        scores& s = total.all;
        s.accuracy = s.rows > 0 ? static_cast<double>(s.correct) / static_cast<double>(s.rows) : 0;
        return s;
    }

    tessera::graph described_;
    index_t batch_;
    local_devices devices_;
    B backend_;
    session_type session_;
    rate_schedule schedule_;
    pruned_parameters pruning_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
