// SPDX-License-Identifier: Apache-2.0
// From a strategy's plan to a program for PyTorch. The forward tasks of the plan say which shard computes what and
// which boxes move between devices; a rank is a device. Backward is left to autograd, which runs each exchange's
// reverse.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/exchanges.hpp"

namespace tessera::torch {

namespace detail {

class builder : exchanges {
public:
    using exchanges::exchanges;

    program make();

private:
    shard_text text_of_shard(int op, const task& t, int number);

    void refuse(int op, const std::string& why);

    /// Where the network computes in bf16, products take their parameters rounded.
    std::string taken_parameter(int op, const std::string& text) const;

    void add_operator(int op, shard_text& s, int rank, int output);

    void view_lines(int op);

    void compute_lines(int op);

    void take_state(int op, const task& t, shard_text& s);
    bool is_first_replica(int op, const task& t) const {
        return t.compute().ranges[statistics_loop(in_.desc(op))].begin == 0;
    }

    void add_dropout(int op, const task& t, const shard_text& s);

    /// One nest of every shard, and the exchange of what it makes for the nests behind it.
    void nest_lines(int op, int k);

    void exchange_intermediates(int op, int k, const std::vector<piece>& pieces);

    /// Of every part of every row one copy adds to the loss.
    void loss_lines(int op);

    /// The norm of all gradients takes each element once, of a copy that is the same on all its ranks.
    void refuse_clipping();

    // the step --------------------------------------------------------------------------------------------------------

    void add_buckets();

    int first_user_of(const message& m) const;

    void add_gathers();

    void add_actions();
};

} // namespace detail

/// The program of a plan. Throws tessera::error for a strategy that breaks a rule, and one that lists all that has no
/// counterpart in PyTorch.
program make_program(const graph_view& g, const strategy_view& s, int devices, const optimizer& update);

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/build.inl"
#endif

#include "tessera/base/end_header.inl"
