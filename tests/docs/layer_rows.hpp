// SPDX-License-Identifier: Apache-2.0
// Rows of docs/layers.md: a layer or part, what it takes and makes, and an example that is compiled and whose shapes
// are inferred.
#pragma once

#include "tessera/net/describe.hpp"
#include "tessera/op/known_operators.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace docs_support {

namespace ts = tessera;

/// "[8,3,32,32]"
inline std::string in_brackets(const ts::shape& s) {
    std::string text = "[";
    for (int d = 0; d < s.rank; ++d) {
        text += (d == 0 ? "" : ",") + std::to_string(s[d]);
    }
    return text + "]";
}

struct layer_row {
    std::string written;               ///< with its template arguments, behind `ts::`
    std::string computes;              ///< in words
    std::string shapes;                ///< by letters
    std::string example;               ///< of a use, as it stands in the source
    std::string made;                  ///< the example's shapes
    std::string parameters;            ///< and those of its parameters
    const ts::op_record* op = nullptr; ///< of a layer
};

/// What an operator makes of these, and its parameters. A loss is given its labels by itself where `inputs` has none.
inline layer_row row_of_layer(const ts::op_attributes& a, std::vector<ts::shape> inputs) {
    layer_row row;
    row.op = a.kind.record;
    if (row.op->facts.loss && row.op->inputs == 2 && inputs.size() == 1) {
        inputs.push_back(ts::labels_of(a, inputs[0]).extents);
    }
    const int count = static_cast<int>(inputs.size());
    const ts::inferred out = ts::infer(a, inputs.data(), count);
    CHECK_MESSAGE(!out.refused, to_text(out.refused, row.op->name));
    if (out.refused) {
        return row;
    }
    for (const ts::shape& s : inputs) {
        row.made += (row.made.empty() ? "" : ", ") + in_brackets(s);
    }
    row.made += " -> " + in_brackets(out.output);
    for (const ts::operand& o : ts::describe(a, inputs.data(), count).operands) {
        if (o.kind == ts::operand_kind::parameter || o.kind == ts::operand_kind::state) {
            row.parameters += (row.parameters.empty() ? "" : ", ") + in_brackets(o.extents);
        }
    }
    return row;
}

/// What parts make of an input, in a batch of 8. What stands in front of the example makes what it reads, and is not
/// shown.
template <class Input, class Part, class... Before>
layer_row row_of_part() {
    ts::graph_builder b;
    b.batch = 8;
    ts::sequential<Input, Before...>::build(b);
    const int from = b.op_count == 0 ? 0 : b.ops[b.op_count - 1].output;
    const int parameters = b.parameter_count;
    const int to = ts::detail::append<Part>(b, from);
    layer_row row;
    if constexpr (ts::Layer<Part>) {
        row.op = Part::attributes.kind.record;
    }
    CHECK_MESSAGE(!b.refused, to_text(b.refused, b.refused_at));
    if (b.refused) {
        return row;
    }
    row.made = in_brackets(b.tensors[from].extents) + " -> " + in_brackets(b.tensors[to].extents);
    for (int p = parameters; p < b.parameter_count; ++p) {
        row.parameters += (row.parameters.empty() ? "" : ", ") + in_brackets(b.parameters[p].extents);
    }
    return row;
}

inline layer_row described(layer_row row, const char* written, const char* computes, const char* shapes,
                           const char* example) {
    row.written = written;
    row.computes = computes;
    row.shapes = shapes;
    row.example = example;
    return row;
}

} // namespace docs_support

/// A layer: as it is written, what it computes, its shapes; the shapes of the example's inputs in parentheses; the
/// example.
#define LAYER(written, computes, shapes, inputs, ...)                                                                  \
    docs_support::described(docs_support::row_of_layer(__VA_ARGS__::attributes, std::vector<ts::shape> inputs),        \
                            written, computes, shapes, #__VA_ARGS__)
/// A part: the network's input and what makes what the example reads, in parentheses.
#define PART(written, computes, shapes, input, ...)                                                                    \
    docs_support::described(docs_support::part_after<TESSERA_LIST input>::row<__VA_ARGS__>(), written, computes,       \
                            shapes, #__VA_ARGS__)
#define TESSERA_LIST(...) __VA_ARGS__

namespace docs_support {

template <class Input, class... Before>
struct part_after {
    template <class Part>
    static layer_row row() {
        return row_of_part<Input, Part, Before...>();
    }
};

} // namespace docs_support
