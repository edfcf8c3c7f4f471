// SPDX-License-Identifier: Apache-2.0
// Batches: what a step takes. Anything with `inputs`, `labels` and `size`, or the inputs of a network by name.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/input_data.hpp"
#include "tessera/execute/input_names.hpp"
#include "tessera/net/describe.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <span>

namespace tessera {

/// Samples one after the other, the sample being the slowest dimension of both arrays: `inputs` numbers or integers
/// (tokens), `labels` integers, `size` how many samples. For networks with one input and one of labels.
template <class T>
concept Batch = (
                    requires(const T& b) { std::span<const float>(b.inputs); } ||
                    requires(const T& b) { std::span<const std::int32_t>(b.inputs); }) &&
                requires(const T& b) {
    std::span<const std::int32_t>(b.labels);
    static_cast<index_t>(b.size);
};

/// Data for one input by its name: feed<left>(numbers), feed<truth>(integers). Inputs of a dag have names of their own;
/// those of a sequential network are called by what they are: feed<tokens<1024>>(text), feed<labels>(next). Does not
/// own them.
template <class Name>
struct feed {
    input_data data;
    element type = element::f32;

    /// `length`: of each sequence, in a network of any length (tokens<up_to<1024>>); 0 or nothing: the longest.
    explicit feed(std::span<const float> numbers, index_t length = 0) : data(numbers, length) {}
    explicit feed(std::span<const std::int32_t> integers, index_t length = 0)
        : data(integers, length), type(element::i32) {}
};

/// A batch by names: one feed for each input, in any order.
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
    graph_builder b;
    build_whole<Net>(b, 1);
    const int tensor = b.find_tap(name);
    if (tensor < 0 || b.tensors[tensor].producer >= 0) {
        return -1;
    }
    int position = 0;
    for (int t = 0; t < tensor; ++t) {
        position += b.tensors[t].producer < 0 ? 1 : 0;
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

namespace detail {

/// True for what losses compare their logits with.
constexpr bool holds_labels(const graph_view& g, int tensor) {
    for (int op = 0; op < g.op_count; ++op) {
        const auto& in = g.ops[op].inputs;
        if (g.is_loss(op) && in.size() > 1 && in[1] == tensor) {
            return true;
        }
    }
    return false;
}

template <class T>
input_data inputs_in(const T& batch) {
    if constexpr (requires { std::span<const float>(batch.inputs); }) {
        return std::span<const float>(batch.inputs);
    } else {
        return std::span<const std::int32_t>(batch.inputs);
    }
}

} // namespace detail

namespace detail {

/// The inputs of a batch with `size`, and in a network of any length that of its sequences, which the two numbers say.
template <class T>
input_data inputs_with_length(const graph_view& g, const T& batch) {
    input_data x = inputs_in(batch);
    if constexpr (requires { static_cast<index_t>(batch.size); }) {
        const index_t longest = longest_of(g);
        const index_t size = static_cast<index_t>(batch.size);
        if (longest > 0 && size > 0 && x.elements > 0) {
            const shape& all = g.tensors[0].extents;
            const index_t each = all.volume() / (all[0] * longest) * size;
            if (x.elements % each != 0) {
                throw error("tessera: a batch of " + std::to_string(size) + " sequences with " +
                            std::to_string(x.elements) + " elements; that is no whole number of positions for each");
            }
            x.length = x.elements / each;
        }
    }
    return x;
}

} // namespace detail

/// The inputs of a network in its own order, from a batch; of a network of any length at that of the batch. Throws
/// tessera::error where the network has other inputs than one and one of labels, takes integers where the batch has
/// numbers or the other way round, or where the sizes contradict each other.
template <Batch T>
std::array<input_data, 2> inputs_of(const graph_view& g, const T& batch) {
    constexpr bool has_integers = !requires { std::span<const float>(batch.inputs); };
    int labels = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        labels += g.tensors[t].producer < 0 && detail::holds_labels(g, t) ? 1 : 0;
    }
    if (detail::count_inputs(g) != 2 || labels != 1) {
        throw error(
            "tessera: the network has " + std::to_string(detail::count_inputs(g)) + " inputs, " +
            std::to_string(labels) +
            " of them labels; a batch with `inputs` and `labels` fits one of each. Hand them in by name with feed<>");
    }
    std::array<input_data, 2> result;
    std::size_t position = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        const tensor_node& n = g.tensors[t];
        if (n.producer >= 0) {
            continue;
        }
        const bool is_label = detail::holds_labels(g, t);
        if (!is_label && (n.type == element::i32) != has_integers) {
            throw error("tessera: " + detail::shown_input(n) +
                        (has_integers ? " takes numbers and the batch's `inputs` are integers"
                                      : " takes integers and the batch's `inputs` are numbers"));
        }
        input_data& data = result[position++];
        data = is_label ? input_data(std::span<const std::int32_t>(batch.labels)) : detail::inputs_in(batch);
        data.length = n.any_length ? n.extents[1] : 0;
        const index_t each = n.extents.volume() / n.extents[0];
        if (data.elements != each * static_cast<index_t>(batch.size)) {
            throw error("tessera: a batch of " + std::to_string(batch.size) + " samples has " +
                        std::to_string(data.elements) + " elements for " + detail::shown_input(n) + ", " +
                        std::to_string(each * static_cast<index_t>(batch.size)) + " expected (" + std::to_string(each) +
                        " for each sample)");
        }
    }
    return result;
}

namespace detail {

TESSERA_REFUSAL(feed_of_nothing, "a feed names something that is no input of the network");
TESSERA_REFUSAL(feed_comes_twice, "two feeds name one input of the network");
TESSERA_REFUSAL(feed_is_missing, "an input of the network has no feed<>; hand in one for each input");
template <class... Names>
struct feeds; ///< in messages
template <class... Names>
struct inputs_are; ///< in messages: the network's inputs by name

template <class Net>
constexpr int count_inputs() {
    graph_builder b;
    build_whole<Net>(b, 1);
    int inputs = 0;
    for (int t = 0; t < b.tensor_count; ++t) {
        inputs += b.tensors[t].producer < 0 ? 1 : 0;
    }
    return inputs;
}

template <class Net, class Name>
struct is_input : std::bool_constant<input_position<Net, Name> >= 0> {};
template <class Name, class... All>
constexpr bool refuse_feed(name_list<All...>) {
    static_cast<void>(sizeof(feed_of_nothing<feeds<Name>, inputs_are<All...>>));
    return true;
}
template <class Net, class Name>
constexpr bool check_feed() {
    if constexpr (input_position<Net, Name> < 0) {
        refuse_feed<Name>(inputs_that<Net, is_input>());
    }
    return true;
}

/// The inputs without a feed among Names.
template <class... Names>
struct inputs_without {
    template <class Net, class Name>
    struct is_left_out : std::bool_constant<(input_position<Net, Name> >= 0) && !(std::is_same_v<Name, Names> || ...)> {
    };
};
template <int Given, int Needed, class... Names, class... LeftOut>
constexpr bool refuse_feeds(feeds<Names...>*, name_list<LeftOut...>) {
    static_cast<void>(sizeof(feed_is_missing<feeds<Names...>, missing<LeftOut>..., found<Given>, needed<Needed>>));
    return true;
}

/// Refuses integers for numbers, and the other way round.
void require_type(const tensor_node& t, element given);

/// Refuses feeds that are not one for each input.
template <class Net, class... Names>
constexpr bool check_feeds() {
    constexpr std::array<int, sizeof...(Names)> position{input_position<Net, Names>...};
    constexpr auto count = static_cast<int>(sizeof...(Names));
    if constexpr (((input_position<Net, Names> < 0) || ...)) {
        return (check_feed<Net, Names>() && ...);
    } else if constexpr (!all_different(position)) {
        static_cast<void>(sizeof(feed_comes_twice<feeds<Names...>>));
    } else if constexpr (constexpr int inputs = count_inputs<Net>(); count < inputs) {
        refuse_feeds<count, inputs>(static_cast<feeds<Names...>*>(nullptr),
                                    inputs_that<Net, inputs_without<Names...>::template is_left_out>());
    }
    return true;
}

} // namespace detail

/// The inputs of a network in its own order, from named ones. Names that are not those of its inputs, each once, do not
/// compile. Throws tessera::error where integers are handed in for numbers or the other way round.
template <class Net, class... Names>
std::array<input_data, sizeof...(Names)> inputs_of(const graph_view& g, const named_batch<Names...>& batch) {
    constexpr std::array<int, sizeof...(Names)> position{detail::input_position<Net, Names>...};
    static_assert(detail::check_feeds<Net, Names...>());
    std::array<input_data, sizeof...(Names)> result;
    int number = 0;
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].producer >= 0) {
            continue;
        }
        for (std::size_t k = 0; k < position.size(); ++k) {
            if (position[k] == number) {
                detail::require_type(g.tensors[t], batch.types[k]);
                result[to_size(number)] = batch.data[k];
            }
        }
        ++number;
    }
    return result;
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/batch.inl"
#endif

#include "tessera/base/end_header.inl"
