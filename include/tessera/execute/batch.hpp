// SPDX-License-Identifier: Apache-2.0
// Batches: what a step takes. Anything with `inputs`, `labels` and `size`, or the inputs of a network by name.
#pragma once

#include "tessera/execute/session.hpp"

#include <array>
#include <concepts>
#include <span>

namespace tessera {

/// Samples one after the other, the sample being the slowest dimension of both arrays: `inputs` numbers, `labels` integers,
/// `size` how many samples. For networks with one input of numbers and one of labels.
template <class T>
concept Batch = requires(const T& b) {
    std::span<const float>(b.inputs);
    std::span<const std::int32_t>(b.labels);
    static_cast<index_t>(b.size);
};

/// Data for one named input of a dag: feed<left>(numbers), feed<truth>(integers). Does not own them.
template <class Name>
struct feed {
    input_data data;
    element type = element::f32;

    explicit feed(std::span<const float> numbers) : data(numbers) {}
    explicit feed(std::span<const std::int32_t> integers) : data(integers), type(element::i32) {}
};

/// A batch of a network with several inputs: one feed for each of them, in any order.
template <class... Names>
struct named_batch {
    std::array<input_data, sizeof...(Names)> data;
    std::array<element, sizeof...(Names)> types;

    named_batch(const feed<Names>&... all) : data{all.data...}, types{all.type...} {}
};

namespace detail {

/// The how-manieth input of a network a name stands for, counted from 0; -1 for a name of something else.
template <class Net>
constexpr int find_input(type_key name) {
    graph_storage<Net::op_count, tensors_of<Net>> g;
    graph_builder b;
    b.tensors = g.tensors;
    b.parameters = g.parameters;
    b.ops = g.ops;
    build_whole<Net>(b, 1);
    const int tensor = b.find_tap(name);
    if (tensor < 0 || g.tensors[tensor].producer >= 0) {
        return -1;
    }
    int position = 0;
    for (int t = 0; t < tensor; ++t) {
        position += g.tensors[t].producer < 0 ? 1 : 0;
    }
    return position;
}

template <class Net, class Name>
inline constexpr int input_position = find_input<Net>(key_of<Name>);

template <std::size_t Count>
constexpr bool all_different(const std::array<int, Count>& numbers) {
    for (std::size_t i = 0; i < Count; ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (numbers[i] == numbers[k]) {
                return false;
            }
        }
    }
    return true;
}

/// Inputs of a network, labels included.
constexpr int count_inputs(const graph_view& g) {
    int n = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        n += g.tensors[t].producer < 0 ? 1 : 0;
    }
    return n;
}

} // namespace detail

/// The inputs of a network in its own order, from a batch. Throws tessera::error where the network has other inputs than one of
/// numbers and one of labels, or where the sizes contradict each other.
template <Batch T>
std::array<input_data, 2> inputs_of(const graph_view& g, const T& batch) {
    const std::span<const float> numbers(batch.inputs);
    const std::span<const std::int32_t> labels(batch.labels);
    int integers = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        integers += g.tensors[t].producer < 0 && g.tensors[t].type == element::i32 ? 1 : 0;
    }
    if (detail::count_inputs(g) != 2 || integers != 1) {
        throw error(
            "tessera: the network has " + std::to_string(detail::count_inputs(g)) + " inputs, " +
            std::to_string(integers) +
            " of them labels; a batch with `inputs` and `labels` fits one of each. Hand them in by name with feed<>");
    }
    std::array<input_data, 2> result;
    std::size_t position = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        const tensor_node& n = g.tensors[t];
        if (n.producer >= 0) {
            continue;
        }
        input_data& data = result[position++];
        data = n.type == element::i32 ? input_data(labels) : input_data(numbers);
        const index_t each = n.extents.volume() / n.extents[0];
        if (data.elements != each * static_cast<index_t>(batch.size)) {
            throw error("tessera: a batch of " + std::to_string(batch.size) + " samples has " +
                        std::to_string(data.elements) + " elements for the input " + std::string(n.name) +
                        " and needs " + std::to_string(each) + " for each sample");
        }
    }
    return result;
}

/// The inputs of a network in its own order, from named ones. A name that the network does not have does not compile. Throws
/// tessera::error where integers are handed in for numbers or the other way round.
template <class Net, class... Names>
std::array<input_data, sizeof...(Names)> inputs_of(const graph_view& g, const named_batch<Names...>& batch) {
    static_assert(((detail::input_position<Net, Names> >= 0) && ...),
                  "tessera: a feed names something that is no input of the network");
    constexpr std::array<int, sizeof...(Names)> position{detail::input_position<Net, Names>...};
    static_assert(detail::all_different(position), "tessera: two feeds name one input of the network");
    if (detail::count_inputs(g) != static_cast<int>(sizeof...(Names))) {
        throw error("tessera: the batch has " + std::to_string(sizeof...(Names)) + " inputs and the network " +
                    std::to_string(detail::count_inputs(g)));
    }
    std::array<input_data, sizeof...(Names)> result;
    int number = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].producer >= 0) {
            continue;
        }
        for (std::size_t k = 0; k < position.size(); ++k) {
            if (position[k] == number) {
                if (batch.types[k] != g.tensors[t].type) {
                    throw error("tessera: the input " + std::string(g.tensors[t].name) + " takes " +
                                (g.tensors[t].type == element::i32 ? "integers" : "numbers") +
                                " and is given the other");
                }
                result[static_cast<std::size_t>(number)] = batch.data[k];
            }
        }
        ++number;
    }
    return result;
}

} // namespace tessera
