// SPDX-License-Identifier: Apache-2.0
// The inputs of a batch, and what a network asks of them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/lengths.hpp"
#include "tessera/net/paths.hpp"

#include <span>
#include <string>

namespace tessera {

/// One element of a list of a batch's inputs, in the order of the network's inputs: floats, or integers for tokens and
/// labels.
struct input_data {
    const void* data = nullptr;
    index_t elements = 0;
    index_t length = 0; ///< of its sequences, in a network of any length; 0: the longest

    input_data() = default;
    input_data(std::span<const float> x, index_t length_of_each = 0)
        : data(x.data()), elements(static_cast<index_t>(x.size())), length(length_of_each) {}
    input_data(std::span<const std::int32_t> x, index_t length_of_each = 0)
        : data(x.data()), elements(static_cast<index_t>(x.size())), length(length_of_each) {}
};

namespace detail {

/// What messages call an input: "the input left"; one without a name of its own, which is called "input", "the input".
std::string shown_input(const tensor_node& t);

/// Place of a tensor among the network's inputs.
std::size_t input_number(const graph_view& g, int tensor);

/// "sample 3", "sample 3, position 7", "sample 3, pixel (2, 5)" (row, column) or "sample 3, voxel (1, 2, 5)" (depth
/// first): where the element of a number lies in a batch.
std::string place_of(const shape& s, index_t number);

void check_integers(const input_data& x, index_t count, const graph_view& g, int op, int slot);

/// What is wrong with the size of an input of a batch of `batch` samples (-1: not yet known).
[[noreturn]] void refuse_batch(const tensor_node& t, const input_data& x, index_t batch);

/// The length of a batch's sequences; 0 where the network's have one length. Throws tessera::error where inputs say
/// different ones.
index_t length_of(const graph_view& g, std::span<const input_data> inputs);

/// Number of samples of a batch, which may be larger than the network was planned for; throws unless every input has as
/// many.
index_t count_samples(const graph_view& g, std::span<const input_data> inputs);

/// Samples [begin, begin + count) of all inputs of `samples` samples.
std::vector<input_data> samples_of(std::span<const input_data> inputs, index_t samples, index_t begin, index_t count);

/// Number of samples of a batch; throws unless every input of the network has as many, and labels and tokens are among
/// what it knows.
index_t check_inputs(const graph_view& g, std::span<const input_data> inputs);

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/input_data.inl"
#endif

#include "tessera/base/end_header.inl"
