// SPDX-License-Identifier: Apache-2.0
// Bodies of input_data.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/input_data.hpp"

namespace tessera::detail {

TESSERA_INLINE std::string shown_input(const tensor_node& t) {
    const std::string name(t.name);
    return name.empty() || name == "input" ? "the input" : "the input " + name;
}

TESSERA_INLINE std::size_t input_number(const graph_view& g, int tensor) {
    std::size_t k = 0;
    for (int t = 0; t < tensor; ++t) {
        k += g.tensors[t].producer < 0 ? 1 : 0;
    }
    return k;
}

TESSERA_INLINE std::string place_of(const shape& s, index_t number) {
    index_t each = 1;
    for (int d = 1; d < s.rank; ++d) {
        each *= s[d];
    }
    const index_t rest = number % each;
    std::string sample = "sample " + std::to_string(number / each);
    if (s.rank < 2 || each == 1) {
        return sample;
    }
    if (s.rank < 3) {
        return sample + ", position " + std::to_string(rest);
    }
    std::string place;
    index_t behind = each; // elements of one index of the dimension
    for (int d = 1; d < s.rank; ++d) {
        behind /= s[d];
        place += (d == 1 ? "" : ", ") + std::to_string(rest / behind % s[d]);
    }
    return sample + (s.rank == 3 ? ", pixel (" : ", voxel (") + place + ")";
}

TESSERA_INLINE void check_integers(const input_data& x, index_t count, const graph_view& g, int op, int slot) {
    const bool is_loss = g.is_loss(op);
    const op_attributes& a = g.ops[op].attributes;
    const auto& ignored = record_of(a).ignored;
    const bool ignores = ignored != nullptr && slot == 1;
    const index_t other = ignores ? ignored(a) : 0;
    const auto* numbers = static_cast<const std::int32_t*>(x.data);
    for (index_t i = 0; i < x.elements; ++i) {
        if ((numbers[i] < 0 || numbers[i] >= count) && !(ignores && numbers[i] == other)) {
            if (!is_loss && slot > 0) {
                const tensor_node& t = g.tensors[g.ops[op].inputs[slot]];
                throw error("tessera: " + shown_input(t) + " has " + std::to_string(numbers[i]) + " for " +
                            place_of(t.extents, i) + ", and " + path_of(g, op) + " takes integers from 0 to " +
                            std::to_string(count - 1));
            }
            throw error("tessera: " + std::string(is_loss ? "label " : "token ") + std::to_string(numbers[i]) + " of " +
                        place_of(g.tensors[g.ops[op].inputs[is_loss ? 1 : 0]].extents, i) + " is not one of the " +
                        std::to_string(count) + (is_loss ? " classes of " : " rows of ") + path_of(g, op) +
                        (ignores ? ", nor " + std::to_string(other) + ", which it ignores" : std::string()));
        }
    }
}

TESSERA_INLINE void refuse_batch(const tensor_node& t, const input_data& x, index_t batch) {
    const index_t each = t.extents.volume() / t.extents[0];
    const std::string name = shown_input(t);
    if (x.data == nullptr || x.elements < 1) {
        throw error("tessera: the batch has no elements for " + name + "; it needs " + std::to_string(each) +
                    " for each sample");
    }
    if (x.elements % each != 0) {
        const index_t whole = batch >= 0 ? batch : (x.elements + each - 1) / each;
        throw error("tessera: the batch has " + std::to_string(x.elements) + " elements for " + name + ", " +
                    std::to_string(whole * each) + " expected for " + std::to_string(whole) +
                    (whole == 1 ? " sample (" : " samples (") + std::to_string(each) +
                    " for each); that is no whole number of samples");
    }
    const index_t samples = x.elements / each;
    if (batch >= 0 && samples != batch) {
        throw error("tessera: the batch has " + std::to_string(samples) + " samples for " + name + " (" +
                    std::to_string(x.elements) + " elements, " + std::to_string(batch * each) + " expected) and " +
                    std::to_string(batch) + " for the inputs before it; hand in as many for all");
    }
    throw error("tessera: a batch of " + std::to_string(samples) + " samples (" + name +
                "), and the network was planned for at most " + std::to_string(t.extents[0]) +
                "; hand in smaller batches, or plan for batches of " + std::to_string(samples));
}

TESSERA_INLINE index_t length_of(const graph_view& g, std::span<const input_data> inputs) {
    const index_t longest = longest_of(g);
    index_t length = 0;
    for (const input_data& x : inputs) {
        if (x.length != 0 && length != 0 && x.length != length) {
            throw error("tessera: the batch has sequences of " + std::to_string(length) +
                        " positions in one input and of " + std::to_string(x.length) +
                        " in another; pad them to one length");
        }
        length = x.length != 0 ? x.length : length;
    }
    if (length < 0 || length > longest) {
        throw error("tessera: a batch of sequences of " + std::to_string(length) + " positions; the network takes " +
                    (longest > 0 ? "from 1 to " + std::to_string(longest) : std::string("those of one length")));
    }
    return longest > 0 && length == 0 ? longest : length;
}

TESSERA_INLINE index_t count_samples(const graph_view& g, std::span<const input_data> inputs) {
    index_t batch = -1;
    std::size_t k = 0;
    for (int i = 0; i < g.tensor_count; ++i) {
        const tensor_node& t = g.tensors[i];
        if (t.producer >= 0) {
            continue;
        }
        if (k >= inputs.size()) {
            throw error("tessera: the batch lacks " + shown_input(t));
        }
        const index_t each = t.extents.volume() / t.extents[0];
        const index_t samples = inputs[k].elements / each;
        if (inputs[k].data == nullptr || samples < 1 || samples * each != inputs[k].elements ||
            (batch >= 0 && samples != batch)) {
            refuse_batch(t, inputs[k], batch);
        }
        batch = samples;
        ++k;
    }
    if (k != inputs.size()) {
        throw error("tessera: the batch has " + std::to_string(inputs.size()) + " inputs and the network " +
                    std::to_string(k));
    }
    return batch;
}

TESSERA_INLINE std::vector<input_data> samples_of(std::span<const input_data> inputs, index_t samples, index_t begin,
                                                  index_t count) {
    std::vector<input_data> part;
    for (const input_data& all : inputs) {
        const index_t each = all.elements / samples;
        input_data& x = part.emplace_back();
        x.data =
            static_cast<const std::byte*>(all.data) + begin * each * static_cast<index_t>(sizeof(float)); // or integers
        x.elements = count * each;
        x.length = all.length;
    }
    return part;
}

TESSERA_INLINE index_t check_inputs(const graph_view& g, std::span<const input_data> inputs) {
    const index_t batch = count_samples(g, inputs);
    for (int i = 0; i < g.tensor_count; ++i) {
        if (g.tensors[i].producer < 0 && batch > g.tensors[i].extents[0]) {
            refuse_batch(g.tensors[i], inputs[input_number(g, i)], batch);
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        const op_node& o = g.ops[op];
        for (int j = 0; j < o.inputs.size(); ++j) {
            const index_t count = g.tensors[o.inputs[j]].producer < 0 ? g.integers_of(op, j) : 0;
            if (count > 0) {
                check_integers(inputs[input_number(g, o.inputs[j])], count, g, op, j);
            }
        }
    }
    return batch;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
