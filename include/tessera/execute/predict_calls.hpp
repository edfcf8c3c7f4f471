// SPDX-License-Identifier: Apache-2.0
// predict() of a network that is a type, as trainers and predictors have it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/layer_lookup.hpp"
#include "tessera/execute/prediction_inputs.hpp"

namespace tessera::detail {

/// What a network says of samples that are handed in as a step takes them, by layer. A base of Self, which has graph()
/// and predict_inputs(inputs, tensor); it owns nothing.
template <class Self, class Net>
class predict_calls {
public:
    /// What goes into the first loss (logits, as a rule; without a loss what the last operator makes), with running
    /// statistics and without dropout, for any number of samples: more than batch() go through in batches of that many.
    /// Takes what step() takes, of which labels may be left out: anything with `inputs`, feeds, of which those that are
    /// not needed are not looked at, or a list of the network's inputs, all or those that are needed, in the network's
    /// order. Feeds without one that is needed do not compile. Throws tessera::error for inputs that do not fit.
    template <class T>
    prediction predict(const T& samples) {
        return predict_tensor<usual_tensor<Net>>(samples);
    }
    template <class First, class... Names>
    prediction predict(const feed<First>& first, const feed<Names>&... inputs) {
        return predict(named_batch<First, Names...>(first, inputs...));
    }
    /// What a layer makes, or the tensor that a node, a chain or save<> has given a name. L is a layer, instance<layer,
    /// n> where it is repeated, or the name; one that the network does not have does not compile.
    template <class L, class T>
    prediction predict(const T& samples) {
        constexpr int tensor = output_of<Net, L>;
        if constexpr (tensor < 0) {
            static_cast<void>(sizeof(no_such_layer<layer<L>>));
            return {};
        } else {
            return predict_tensor<tensor>(samples);
        }
    }
    template <class L, class First, class... Names>
    prediction predict(const feed<First>& first, const feed<Names>&... inputs) {
        return predict<L>(named_batch<First, Names...>(first, inputs...));
    }

protected:
    predict_calls() = default;
    ~predict_calls() = default;

private:
    template <int Tensor, class T>
    prediction predict_tensor(const T& samples) {
        Self& self = static_cast<Self&>(*this);
        return with_prediction_inputs<Net, Tensor>(
            self.graph(), samples, [&](auto inputs, int tensor) { return self.predict_inputs(inputs, tensor); });
    }
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
