// SPDX-License-Identifier: Apache-2.0
// What moves between the ranks of a program for PyTorch, forward: the copies of its plan, operator by operator.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/places.hpp"

namespace tessera::torch::detail {

/// A program that grows, with the lines of exchanges.
class exchanges : protected places {
public:
    exchanges(const graph_view& g, const strategy_view& s, int devices, const optimizer& update)
        : places(g, s, devices, update) {}

protected:
    static int place(std::vector<located_tile>& list, const located_tile& x);

    bool carries_gradient(int tensor) const { return in_.needs_gradient[to_size(tensor)] != 0; }

    /// What a shard reads of other ranks' shards: the plan's copies before an operator.
    void bring_inputs(int op);

    exchange_table start_exchange(int op, int tensor);

    /// What a shard reads where it lies, although another stage made it or was brought it.
    void hand_over_inputs(int op);

    /// The tiles from which shards read an input, each once.
    std::vector<int> read_tiles(int op, int slot);

    /// Where nothing moves between ranks and every target is in one source, it is a slice of it.
    bool slice_lines(const exchange_table& x);

    /// Lines for an exchange on all ranks that take part, and its table.
    void emit(exchange_table x);
};

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/exchanges.inl"
#endif

#include "tessera/base/end_header.inl"
