// SPDX-License-Identifier: Apache-2.0
// The oracle: one device that runs a network in double, operator by operator, without strategy or plan.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/kernels.hpp"
#include "tessera/backend/reference/rounded.hpp"
#include "tessera/backend/reference/update.hpp"
#include "tessera/execute/local/initialize.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/net/parameter_groups.hpp"
#include "tessera/net/paths.hpp"

namespace tessera::reference {

/// A network with its parameters, gradients and optimizer state. Parameters and tensors are numbered as in the graph,
/// which must outlive it. Give every input with set(), then step or evaluate.
struct network {
    explicit network(const graph_view& g);

    /// Initial parameters from a seed; forgets the optimizer's state.
    void initialize(std::uint64_t seed);

    /// The elements of an input, row-major. Throws tessera::error for a wrong size, a tensor that is no input or a
    /// label that is no class.
    void set(int tensor, std::span<const float> from) { assign(tensor, from); }
    void set(int tensor, std::span<const double> from) { assign(tensor, from); }
    void set(int tensor, std::span<const std::int32_t> labels);

    /// Takes the parameters and the optimizer's state of the same network, also of one for another number of samples.
    void continue_from(const network& other);

    /// Forward, backward, update of running statistics and of the trained parameters on which a loss depends. Returns
    /// the loss before the update: the sum over the network's losses of weight * mean.
    double train_step(const run_state& run, const optimizer& update);
    /// Forward and backward alone: leaves gradients (and running statistics as they were).
    double differentiate(const run_state& run);
    /// Forward with running statistics and without dropout; returns the loss as above.
    double evaluate(const run_state& run = {});

    /// Into which a training step cuts the batch: batch norm takes its statistics over each, and the running ones
    /// follow their sum.
    int micro_batches = 1;
    /// Samples of one micro-batch that statistics are taken over by themselves.
    struct replica {
        interval samples;
        bool followed = false; ///< by the running statistics
    };
    /// By operator: replicas of a training step, in order and without overlap. Empty: statistics are taken over the
    /// micro-batch, and all are followed.
    std::vector<std::vector<replica>> replicas;
    std::vector<std::vector<double>> parameters;
    std::vector<std::vector<double>> gradients; ///< of parameters, sums over their users; empty for running statistics
    std::vector<std::vector<double>> values;    ///< of tensors, after the latest pass; empty for labels
    std::vector<std::vector<std::int32_t>> labels; ///< of tensors

private:
    template <class T>
    void assign(int tensor, std::span<const T> from);
    void check_input(int tensor, std::size_t count, bool integers) const;
    compute_call make_call(int op, pass what, const run_state& run);
    void forward(pass what, const run_state& run);
    double loss() const;
    void round_parameters();
    void round_stored(int tensor, std::vector<double>& numbers) const;
    void prepare_gradients();
    void add_statistics();
    std::vector<replica> groups_of(int op) const;
    std::vector<double>& statistics_of(int op, bool gradient, std::size_t group);
    void restrict_to(compute_call& call, const interval& samples, std::size_t group);
    void add_gradients(int op, const run_state& run);
    void add_gradients(int op, compute_call call);

    graph_view graph_;
    std::vector<std::vector<double>> rounded_;    ///< parameters as bf16 has them, where the network computes in it
    int micro_batch_ = -1;                        ///< at hand; -1: the whole batch
    std::vector<std::vector<double>> statistics_; ///< that the running ones follow, by operator
    std::vector<index_t> counted_;                ///< samples that these are over
    std::vector<std::vector<std::vector<double>>> apart_[2]; ///< statistics and their gradients, by operator and group
    std::vector<description> descriptions_;
    std::vector<std::vector<std::vector<double>>> intermediates_;          ///< by operator and operand
    std::vector<std::vector<std::vector<double>>> intermediate_gradients_; ///< by operator and operand
    std::vector<std::vector<double>> tensor_gradients_;                    ///< empty where none flows
    std::vector<std::vector<double>> states_;                              ///< of the optimizer, by parameter
    std::vector<char> reached_; ///< parameters on which a loss depends: others are not updated, decay included
};

template <class T>
void network::assign(int tensor, std::span<const T> from) {
    check_input(tensor, from.size(), false);
    values[to_size(tensor)].assign(from.begin(), from.end());
    round_stored(tensor, values[to_size(tensor)]);
}

} // namespace tessera::reference

#include "tessera/backend/reference/network_statistics.inl"

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/network.inl"
#endif

#include "tessera/base/end_header.inl"
