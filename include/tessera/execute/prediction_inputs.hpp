// SPDX-License-Identifier: Apache-2.0
// What a prediction takes: what a step takes, labels or not, or the inputs that it needs alone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/batch.hpp"
#include "tessera/execute/prediction.hpp"

#include <algorithm>

namespace tessera::detail {

TESSERA_REFUSAL(
    prediction_without_input,
    "what is predicted needs an input of the network that has no feed<>; hand in one for each input but labels");

/// For each tensor whether `tensor` is made of it.
template <int Count>
constexpr std::array<bool, Count> made_of(const graph_view& g, int tensor) {
    std::array<bool, Count> needed{};
    needed[to_size(tensor)] = true;
    for (int op = g.op_count; op-- > 0;) {
        for (int k = 0; k < g.ops[op].inputs.size(); ++k) {
            bool& of = needed[to_size(g.ops[op].inputs[k])];
            of = of || needed[to_size(g.ops[op].output)];
        }
    }
    return needed;
}

/// By the number of an input, in the network's order: whether a prediction of a tensor of Net reads it.
template <class Net, int Tensor>
constexpr auto inputs_read() {
    constexpr graph_view g = storage_of<Net, 64>.view();
    constexpr auto needed = made_of<g.tensor_count>(g, Tensor);
    std::array<bool, to_size(count_inputs(g))> read{};
    std::size_t number = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].producer < 0) {
            read[number++] = needed[to_size(t)];
        }
    }
    return read;
}

/// The inputs that a prediction reads and that have no feed among Names.
template <int Tensor, class... Names>
struct read_without {
    template <class Net, class Name>
    static constexpr bool left_out() {
        constexpr int position = input_position<Net, Name>;
        if constexpr (position < 0) {
            return false;
        } else {
            return inputs_read<Net, Tensor>()[to_size(position)] && !(std::is_same_v<Name, Names> || ...);
        }
    }
    template <class Net, class Name>
    struct is_left_out : std::bool_constant<left_out<Net, Name>()> {};
};
template <int Given, int Needed, class... Names, class... LeftOut>
constexpr bool refuse_prediction(feeds<Names...>*, name_list<LeftOut...>) {
    static_cast<void>(
        sizeof(prediction_without_input<feeds<Names...>, missing<LeftOut>..., found<Given>, needed<Needed>>));
    return true;
}

/// Refuses feeds of which one names no input or one that another names, or without one for an input that is read.
template <class Net, int Tensor, class... Names>
constexpr bool check_prediction_feeds() {
    constexpr std::array<int, sizeof...(Names)> position{input_position<Net, Names>...};
    if constexpr (((input_position<Net, Names> < 0) || ...)) {
        return (check_feed<Net, Names>() && ...);
    } else if constexpr (!all_different(position)) {
        static_cast<void>(sizeof(feed_comes_twice<feeds<Names...>>));
    } else {
        constexpr auto read = inputs_read<Net, Tensor>();
        constexpr int needed = static_cast<int>(std::count(read.begin(), read.end(), true));
        constexpr int given = ((read[to_size(input_position<Net, Names>)] ? 1 : 0) + ... + 0);
        if constexpr (given < needed) {
            refuse_prediction<given, needed>(static_cast<feeds<Names...>*>(nullptr),
                                             inputs_that<Net, read_without<Tensor, Names...>::template is_left_out>());
        }
    }
    return true;
}

/// Calls predict(inputs, tensor) with the inputs that a tensor of Net is made of, in the network's order, from
/// `samples`: anything with `inputs`, feeds by name, or a list of the network's inputs, all or those that are needed.
/// Throws tessera::error where integers are handed in for numbers or the other way round.
template <class Net, int Tensor, class T, class Predict>
auto with_prediction_inputs(const graph_view& g, const T& samples, Predict&& predict) {
    constexpr auto read = inputs_read<Net, Tensor>();
    if constexpr (requires { std::span<const input_data>(samples); }) {
        const std::span<const input_data> all(samples);
        std::vector<input_data> needed;
        for (std::size_t i = 0; i < all.size() && all.size() == read.size(); ++i) {
            if (read[i]) {
                needed.push_back(all[i]);
            }
        }
        return predict(all.size() == read.size() ? std::span<const input_data>(needed) : all, Tensor);
    } else {
        const input_data inputs = inputs_with_length(g, samples);
        return predict(std::span<const input_data>(&inputs, 1), Tensor);
    }
}
template <class Net, int Tensor, class Predict, class... Names>
auto with_prediction_inputs(const graph_view& g, const named_batch<Names...>& samples, Predict&& predict) {
    static_assert(check_prediction_feeds<Net, Tensor, Names...>());
    constexpr auto read = inputs_read<Net, Tensor>();
    constexpr std::array<int, sizeof...(Names)> position{input_position<Net, Names>...};
    std::vector<input_data> needed;
    int number = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].producer >= 0) {
            continue;
        }
        for (std::size_t k = 0; k < position.size() && read[to_size(number)]; ++k) {
            if (position[k] == number) {
                require_type(g.tensors[t], samples.types[k]);
                needed.push_back(samples.data[k]);
            }
        }
        ++number;
    }
    return predict(std::span<const input_data>(needed), Tensor);
}

/// The tensor that a prediction of Net is of, unless it says which.
template <class Net>
inline constexpr int usual_tensor = usual_prediction(storage_of<Net, 64>.view());

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
