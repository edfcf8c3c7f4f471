// SPDX-License-Identifier: Apache-2.0
// What a trainer says and sets layer by layer: losses, weights, pruned weights.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/layer_lookup.hpp"
#include "tessera/execute/local/device_turn.hpp"
#include "tessera/execute/pruning.hpp"

#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The loss of one layer of a network.
struct layer_loss {
    std::string layer; ///< its path
    double value = 0;  ///< without the weight
    double weight = 1; ///< in the sum of all
};

namespace detail {

TESSERA_REFUSAL(layer_is_no_loss, "the layer is no loss");
TESSERA_REFUSAL(no_such_parameter, "the network has no such layer, or the layer has no such parameter");

/// From layers, which are types, to numbers of a session. A base of Self, which has graph(), devices() and values(); it
/// owns nothing.
template <class Self, class Net>
class layer_calls {
public:
    // ---- losses of a network that has several -----------------------------------------------------------------------

    /// A loss layer's loss in the last step or evaluation, without its weight; step() returns the sum of all, each
    /// times its weight. L is a layer, or instance<layer, n> where it is repeated; one that the network does not have,
    /// or that is no loss, does not compile. Throws tessera::error before the first step or evaluation.
    template <class L>
    double loss() const {
        constexpr int op = operator_of<Net, L>;
        if constexpr (op < 0) {
            static_cast<void>(sizeof(no_such_layer<layer<L>>));
            return 0;
        } else if constexpr (!storage_of<Net, 64>.view().is_loss(op)) {
            static_cast<void>(sizeof(layer_is_no_loss<layer<L>>));
            return 0;
        } else {
            return self().values().loss_of(op);
        }
    }
    /// Of all loss layers, in the network's order.
    std::vector<layer_loss> losses() const {
        const device_turn turn(self().devices().threads());
        std::vector<layer_loss> all;
        const graph_view g = self().graph();
        for (int op = 0; op < g.op_count; ++op) {
            if (g.is_loss(op)) {
                all.push_back({path_of(g, op), self().values().loss_of(op), g.ops[op].attributes.weight});
            }
        }
        return all;
    }

    // ---- parameters by layer ----------------------------------------------------------------------------------------

    /// Weights of a convolution or linear layer, gamma of a batch norm: all elements, in row-major order. L is a layer,
    /// or instance<layer, n> where it is repeated. A layer that the network does not have does not compile.
    template <class L>
    std::vector<float> weights() const {
        return self().values().parameter(index_of<L, 0>());
    }
    /// The bias, or beta of a batch norm.
    template <class L>
    std::vector<float> bias() const {
        return self().values().parameter(index_of<L, 1>());
    }
    /// Throw tessera::error unless as many numbers are given as there are.
    template <class L>
    void set_weights(std::span<const float> values) {
        self().values().set_parameter(index_of<L, 0>(), values);
    }
    template <class L>
    void set_bias(std::span<const float> values) {
        self().values().set_parameter(index_of<L, 1>(), values);
    }
    /// Shape of the weights, such as [output channels, input channels, height, width].
    template <class L>
    shape weights_shape() const {
        return self().graph().parameters[index_of<L, 0>()].extents;
    }

    // ---- pruning ----------------------------------------------------------------------------------------------------

    /// Sets to zero, for good, the smallest weights of each layer of L (or instance<layer, n>), so that a share of each
    /// layer's is zero; without L of each trained parameter that has two dimensions or more, so not of biases and
    /// norms. Throws tessera::error where the optimizer is not one of pruning().
    template <class... L>
    void prune(double fraction) {
        const device_turn turn(self().devices().threads());
        for (const int p : weights_of<L...>()) {
            tessera::prune(self().values(), p, fraction);
        }
    }
    /// The share of these weights that is pruned.
    template <class... L>
    double pruned_share() const {
        const device_turn turn(self().devices().threads());
        double pruned = 0;
        double all = 0;
        for (const int p : weights_of<L...>()) {
            const auto n = static_cast<double>(self().graph().parameters[p].extents.volume());
            pruned += n * tessera::pruned_share(self().values(), p);
            all += n;
        }
        return all > 0 ? pruned / all : 0;
    }

protected:
    layer_calls() = default;
    ~layer_calls() = default;

    template <class L, int Slot>
    static constexpr int index_of() {
        constexpr int found = parameter_of<Net, L, Slot>;
        if constexpr (found < 0) {
            static_cast<void>(sizeof(no_such_parameter<layer<L>>));
        }
        return found;
    }

    template <class... L>
    std::vector<int> weights_of() const {
        std::vector<int> all{index_of<L, 0>()...};
        for (int p = 0; p < self().graph().parameter_count && sizeof...(L) == 0; ++p) {
            if (is_prunable(self().graph().parameters[p])) {
                all.push_back(p);
            }
        }
        return all;
    }

private:
    Self& self() { return static_cast<Self&>(*this); }
    const Self& self() const { return static_cast<const Self&>(*this); }
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
