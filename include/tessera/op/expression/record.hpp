// SPDX-License-Identifier: Apache-2.0
// Operators that are expressions, element by element: the record and the layer follow from a function of numbers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/layer_name.hpp"
#include "tessera/op/elementwise.hpp"
#include "tessera/op/expression/formula.hpp"
#include "tessera/op/number.hpp"

namespace tessera::op {

constexpr description describe_formula(const shape* x, const expression::formula& f) {
    description d = describe_broadcast(x, f.inputs, f.flops);
    for (int k = 0; k < f.inputs; ++k) {
        d.operands[k].gradient_reads = f.reads[k]; // the output's bit comes after those of the inputs in both
    }
    d.linear = f.linear;
    return d;
}

/// The numbers of an operator whose expression has attributes, in the order of its arguments.
struct expression_attributes {
    double number[expression::most_attributes] = {};
    static constexpr attribute_field fields[] = {number_field("number", expression::most_attributes)};
};

/// The record of an operator that is an expression.
constexpr op_record expression_record(const char* name, const expression::formula& f) {
    return {
        .name = name,
        .infer = [](const op_attributes&, const shape* x, int count) { return infer_broadcast(x, count); },
        .describe = [](const op_attributes& a, const shape* x,
                       int) { return describe_formula(x, *a.kind.record->formula); },
        .inputs = f.inputs,
        .facts = {.passes_gradient = f.passes_gradient},
        .formula = &f,
        .own = list_of<expression_attributes>(),
    };
}

} // namespace tessera::op

namespace tessera {

namespace detail {

/// A layer of an operator whose expression has these attributes.
template <op_kind Kind, number... Numbers>
struct expression_layer {
    static constexpr op_attributes attributes =
        attributes_of(Kind, op::expression_attributes{.number = {Numbers.value()...}});
};

/// The name of a type without its first scopes, as a C string.
template <class Own>
struct operator_name {
    char text[full_type_name<Own>().size() + 1] = {};

    constexpr operator_name() {
        int at = 0;
        for (const char c : full_type_name<Own>()) {
            text[at++] = c;
        }
    }
};
template <class Own>
inline constexpr operator_name<Own> name_of_operator;

template <class Own>
inline constexpr expression::formula formula_of = expression::trace<Own>();

/// A record with what an operator of one's own says besides: its name, and rows for backends.
template <class Own>
constexpr op_record with_members_of(op_record r) {
    if constexpr (requires { Own::name; }) {
        r.name = Own::name;
    }
    if constexpr (requires { Own::rows; }) {
        int at = 0;
        for (const own_row& row : Own::rows) {
            r.rows[at++] = row;
        }
    }
    return r;
}

template <class Own>
constexpr op_record own_expression_record() {
    return with_members_of<Own>(op::expression_record(name_of_operator<Own>.text, formula_of<Own>));
}
template <class Own>
inline constexpr op_record expression_record_of = own_expression_record<Own>();

} // namespace detail

/// An operator of one's own that works element by element:
///
///     struct swish : ts::elementwise<swish> { static constexpr auto of(auto x) { return x * sigmoid(x); } };
///
/// `of` takes one to four numbers, one from each input (inputs of fewer elements are broadcast), and returns one, by +,
/// -, *, /, comparisons and the functions of op/expression/value.hpp. Gradients, costs and what every backend runs
/// follow. `swish` is then a layer as those of the library. Constants are literals, or template arguments of the
/// operator. Members that an operator may have: `name`, by which files and messages know it in place of its type's
/// name, and `rows`, an array of own_row, for backends that are to run something else than what follows from the
/// expression.
template <class Own>
struct elementwise : protected expression::functions {
    static constexpr op_attributes attributes{.kind = {&detail::expression_record_of<Own>}};
};

} // namespace tessera

#include "tessera/base/end_header.inl"
