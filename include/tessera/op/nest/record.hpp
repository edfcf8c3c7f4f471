// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests: the record and the layer follow from a body.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/layer_name.hpp"
#include "tessera/op/expression/record.hpp"
#include "tessera/op/nest/derive.hpp"

namespace tessera::nests {

namespace detail {

/// Calls the body with its attributes, if it has any.
template <class Body>
constexpr void write(nest_writer& w, const op_attributes& a) {
    if constexpr (requires { typename Body::options; }) {
        Body::body(w, a.as<typename Body::options>());
    } else {
        Body::body(w);
    }
}

template <class Body>
constexpr program make_program(int rank) {
    nest_writer w(nullptr, 0, rank);
    if constexpr (requires { typename Body::options; }) {
        Body::body(w, typename Body::options{});
    } else {
        Body::body(w);
    }
    return derive(w);
}
template <class Body, int Rank>
inline constexpr program program_at = make_program<Body>(Rank);

/// The ranks of a first input: a body that asks for it has `ranks`, the least and the most.
template <class Body>
constexpr int rank_limit(int which) {
    if constexpr (requires { Body::ranks[0]; }) {
        return Body::ranks[which];
    } else {
        return 0;
    }
}
template <class Body>
constexpr bool takes_rank(int rank) {
    return rank_limit<Body>(1) == 0 || (rank >= rank_limit<Body>(0) && rank <= rank_limit<Body>(1));
}
template <class Body, int Rank>
constexpr const program* program_pointer() {
    if constexpr (rank_limit<Body>(1) == 0) {
        return &program_at<Body, 0>;
    } else if constexpr (takes_rank<Body>(Rank)) {
        return &program_at<Body, Rank>;
    } else {
        return nullptr;
    }
}

/// The shapes of an operator's inputs, from its description.
struct input_shapes {
    shape all[max_inputs];
    int count = 0;

    constexpr explicit input_shapes(const description& d) {
        for (int k = d.find_operand(operand_kind::input, 0); k >= 0; k = d.find_operand(operand_kind::input, count)) {
            all[count++] = d.operands[k].extents;
        }
    }
};

template <class Body>
void scalars_of(const op_attributes& a, const description& d, double* to) {
    const input_shapes shapes(d);
    nest_writer w(shapes.all, shapes.count, shapes.all[0].rank);
    write<Body>(w, a);
    const program& p = program_of(a, d);
    for (int i = 0; i < p.scalars.size(); ++i) {
        const scalar& s = p.scalars[i];
        to[i] = s.kind == scalar_kind::extent   ? static_cast<double>(d.loops[s.loop].extent)
                : s.kind == scalar_kind::number ? w.scalars()[i].value
                                                : 0;
    }
}

template <class Body>
inline constexpr generator generator_of = {{program_pointer<Body, 0>(), program_pointer<Body, 1>(),
                                            program_pointer<Body, 2>(), program_pointer<Body, 3>(),
                                            program_pointer<Body, 4>(), program_pointer<Body, 5>()},
                                           {takes_rank<Body>(0), takes_rank<Body>(1), takes_rank<Body>(2),
                                            takes_rank<Body>(3), takes_rank<Body>(4), takes_rank<Body>(5)},
                                           scalars_of<Body>};

template <class Body>
constexpr inferred infer(const op_attributes& a, const shape* inputs, int count) {
    if constexpr (rank_limit<Body>(1) > 0) {
        if (inputs[0].rank < rank_limit<Body>(0) || inputs[0].rank > rank_limit<Body>(1)) {
            return tessera::detail::refuse(rule::input_has_wrong_rank, inputs[0].rank,
                                           rank_limit<Body>(inputs[0].rank < rank_limit<Body>(0) ? 0 : 1));
        }
    }
    nest_writer w(inputs, count, inputs[0].rank);
    write<Body>(w, a);
    return {w.refused(), w.output_shape()};
}
template <class Body>
constexpr description describe_body(const op_attributes& a, const shape* inputs, int count) {
    nest_writer w(inputs, count, inputs[0].rank);
    write<Body>(w, a);
    const program* all[] = {program_pointer<Body, 0>(), program_pointer<Body, 1>(), program_pointer<Body, 2>(),
                            program_pointer<Body, 3>(), program_pointer<Body, 4>(), program_pointer<Body, 5>()};
    return describe(w, *all[inputs[0].rank]);
}

/// What comes second, where a loss of this first input is compared with it.
template <class Body>
constexpr shape labels_of_body(const op_attributes& a, const shape& x) {
    nest_writer w(&x, 1, x.rank);
    write<Body>(w, a);
    const int second = w.described().find_operand(operand_kind::input, 1);
    return second < 0 ? x : w.described().operands[second].extents;
}
template <class Body>
constexpr index_t integers_of_body(const op_attributes& a, const shape* x, int slot) {
    nest_writer w(x, 1, x->rank);
    write<Body>(w, a);
    return w.count_of_integers(slot);
}
template <class Body>
constexpr index_t ignored_of_body(const op_attributes& a) {
    nest_writer w(nullptr, 0, rank_limit<Body>(0));
    write<Body>(w, a);
    return w.ignored_label();
}
/// What the rows of a loss weigh together, where its mean is over that.
template <class Body>
constexpr optional_function<double(const op_attributes&, const loss_rows&)> row_weight_of() {
    if constexpr (requires { &Body::row_weight; }) {
        return function_of(&Body::row_weight);
    } else {
        return nullptr;
    }
}
/// How positions that come piece by piece are computed, where a body says it.
template <class Body>
constexpr optional_function<piecewise_use(const op_attributes&, const shape*, index_t)> piecewise_of() {
    if constexpr (requires { &Body::piecewise; }) {
        return function_of(&Body::piecewise);
    } else {
        return nullptr;
    }
}
template <class Body>
constexpr bool takes_logits() {
    if constexpr (requires { Body::takes_logits; }) {
        return Body::takes_logits;
    } else {
        return false;
    }
}
constexpr bool takes_integers(const program& p) {
    for (const operand& o : p.d.operands) {
        if (o.kind == operand_kind::input && o.type == element::i32) {
            return true;
        }
    }
    return false;
}

/// The list of its options, where they have one.
template <class Body>
constexpr const attribute_list* own_attributes_of() {
    if constexpr (requires { Body::options::fields; }) {
        return list_of<typename Body::options>();
    } else {
        return nullptr;
    }
}

} // namespace detail

/// The record of an operator whose Body::body(w) writes it down; see `operation`.
template <class Body>
constexpr op_record record(const char* name) {
    constexpr const program& p = *detail::program_pointer<Body, detail::rank_limit<Body>(0)>();
    static_assert(!p.asks_rank || detail::rank_limit<Body>(1) > 0,
                  "tessera: a body that asks for the rank of its input, or for its dimensions, says which it takes: "
                  "static constexpr int ranks[] = {2, 4}");
    return {
        .name = name,
        .infer = detail::infer<Body>,
        .describe = detail::describe_body<Body>,
        .inputs = p.inputs,
        .facts = {.loss = p.loss},
        .initial = {p.initial[0], p.initial[1], p.initial[2]},
        .piecewise = detail::piecewise_of<Body>(),
        .index_bound = detail::takes_integers(p) ? function_of(detail::integers_of_body<Body>) : nullptr,
        .labels = p.loss ? function_of(detail::labels_of_body<Body>) : nullptr,
        .ignored = p.ignores ? function_of(detail::ignored_of_body<Body>) : nullptr,
        .row_weight = detail::row_weight_of<Body>(),
        .generated = &detail::generator_of<Body>,
        .own = detail::own_attributes_of<Body>(),
        .takes_logits = detail::takes_logits<Body>(),
    };
}

} // namespace tessera::nests

namespace tessera {

namespace detail {

template <class Own>
constexpr op_record own_operation_record() {
    op_record r = nests::record<Own>(name_of_operator<Own>.text);
    return with_members_of<Own>(r);
}
template <class Own>
inline constexpr op_record operation_record_of = own_operation_record<Own>();

/// Attributes of an operator of the library that a body defines, with a layer's options. They depend on these, so that
/// a program which does not use the layer does not evaluate the body either: the record is named nowhere else but in
/// op/library.hpp.
template <class Body, class... Options>
constexpr op_attributes generated_attributes(typename Body::options own) {
    return make_attributes<op_kind{&operation_record_of<Body>}, Options...>(own);
}
template <class Body, class... Options>
struct generated_layer {
    static constexpr op_attributes attributes = generated_attributes<Body, Options...>({});
};

} // namespace detail

namespace nests {

/// What a body may name without a scope: loops and initial values.
struct names {
    static constexpr loop_name sample = loop_name::sample;
    static constexpr loop_name channel = loop_name::channel;
    static constexpr loop_name depth = loop_name::depth;
    static constexpr loop_name height = loop_name::height;
    static constexpr loop_name width = loop_name::width;
    static constexpr loop_name reduction = loop_name::reduction;
    static constexpr loop_name group_channel = loop_name::group_channel;
    static constexpr loop_name window_depth = loop_name::window_depth;
    static constexpr loop_name window_height = loop_name::window_height;
    static constexpr loop_name window_width = loop_name::window_width;
    static constexpr loop_name position = loop_name::position;
    static constexpr loop_name expert = loop_name::expert;
    static constexpr loop_name tap_height = loop_name::tap_height;
    static constexpr loop_name tap_width = loop_name::tap_width;
    static constexpr initial_values ones = initial_values::ones;
    static constexpr initial_values zeros = initial_values::zeros;
    static constexpr initial_values uniform = initial_values::uniform;
};

} // namespace nests

/// An operator of one's own that is written as loop nests:
///
///     struct rms_norm : ts::operation<rms_norm> {
///         static constexpr void body(auto& w) {
///             const auto [n, c] = w.loops(sample, channel);
///             const auto x = w.input(n, c);
///             const auto gamma = w.parameter(ones, c);
///             w.output(n, c) = x * rsqrt(w.mean(c, x * x) + 1e-5) * gamma;
///         }
///     };
///
/// `w` is a nests::nest_writer. Inputs and parameters are numbers at one point of the loops that index them; sums,
/// means and maxima over loops are numbers at the points of the others. Shapes, splits, partial sums, gradients, costs
/// and what every backend runs follow. Members that an operator may have besides: `ranks`, `name`, and `rows`, as
/// `elementwise` has it.
template <class Own>
struct operation : protected expression::functions, protected nests::names {
    static constexpr op_attributes attributes{.kind = {&detail::operation_record_of<Own>}};
};

} // namespace tessera

#include "tessera/base/end_header.inl"
