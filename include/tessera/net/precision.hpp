// SPDX-License-Identifier: Apache-2.0
// The precision of a network: fp32 unless it says otherwise. A trait of the network as a type; in the graph, the
// elements of its tensors and an attribute of its operators, which everything else follows: memory, transfers,
// simulated bytes, calls of the vendors.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"

#include <concepts>

namespace tessera {

// What with_precision<> takes.
/// IEEE single precision throughout: the default.
struct fp32 {
    static constexpr precision value = precision::fp32;
};
/// Tensors of fp32; products of matrices and convolutions may round their factors to 10 bits of mantissa (on tensor
/// cores).
struct tf32 {
    static constexpr precision value = precision::tf32;
};
/// Activations and their gradients are stored, moved and multiplied as bf16, 2 bytes each; sums, statistics, losses,
/// parameters, their gradients and the optimizer's state are fp32.
struct bf16 {
    static constexpr precision value = precision::bf16;
};

template <class T>
concept NetworkPrecision = requires {
    { T::value } -> std::convertible_to<precision>;
};

/// Sets the precision of a whole network that is a value. Inputs of numbers are stored as bf16 too (the caller hands in
/// floats); losses are fp32. Numbers of fp16 are tensors of bf16 here, which take as many bytes: nothing runs them. In
/// fp8 products of activations (attention) stay bf16, as all that multiplies no parameters.
constexpr void set_precision(tensor_node* tensors, int tensor_count, op_node* ops, int op_count, precision p) {
    for (int i = 0; i < op_count; ++i) {
        const op_facts& facts = record_of(ops[i].attributes).facts;
        const bool of_activations =
            facts.work == work_kind::matrix_product && (ops[i].parameters.empty() || facts.merges);
        ops[i].attributes.math = p == precision::fp8 && of_activations ? precision::bf16 : p;
    }
    for (int t = 0; t < tensor_count; ++t) {
        const int producer = tensors[t].producer;
        if (tensors[t].type != element::i32) {
            const bool loss = producer >= 0 && record_of(ops[producer].attributes).facts.loss;
            tensors[t].type = halves_activations(p) && !loss ? element::bf16 : element::f32;
        }
    }
}
template <class Graph>
constexpr void set_precision(Graph& g, precision p) {
    set_precision(g.tensors.data(), static_cast<int>(g.tensors.size()), g.ops.data(), static_cast<int>(g.ops.size()),
                  p);
}

/// A network in another precision: `struct fast : ts::with_precision<ts::bf16, resnet50> {};`, or the type as it
/// stands. Layers keep their names, so strategies do too. It goes around the whole network, once.
template <class Precision, class Net>
struct with_precision {
    using precision_type = Precision;
    static constexpr int op_count = detail::ops_of<Net>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_in<I, Net>();
    }
    static constexpr void build(graph_builder& b) {
        if constexpr (!NetworkPrecision<Precision>) {
            b.fail({rule::precision_unknown, 0, -1, 0, 1});
        } else if constexpr (requires { typename Net::precision_type; }) {
            b.fail({rule::precision_said_twice, 0, -1, 2, 1});
        } else {
            Net::build(b);
            set_precision(b.tensors.data(), b.tensor_count, b.ops.data(), b.op_count, Precision::value);
        }
    }
    /// As a part of another network.
    static constexpr int build(graph_builder& b, int) { return b.fail({rule::precision_inside, 0, -1, 1, 0}); }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
