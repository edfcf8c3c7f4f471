// SPDX-License-Identifier: Apache-2.0
// Operators that are expressions: kernels whose text follows from them. Rows of those of the library that are no
// vendor's calls are made by expression_row(); one of one's own has its row here when it is first asked for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/expression.hpp"
#include "tessera/base/mutex.hpp"
#include "tessera/base/type_name.hpp"
#include "tessera/op/expression/record.hpp"

#include <map>
#include <memory>

namespace tessera::cuda {

namespace detail {

/// The dimensions that a tile of an operand has of those of the output, as bits, that of the last one first.
std::int64_t dimensions_of(const shard_call& s, int o);

/// What the kernels of inputs that are broadcast are given.
kernels::broadcast_numbers broadcast_numbers_of(const shard_call& s, const kernel_leaves& leaves, int which);

/// One pass of an operator as the launch of a kernel of its formula; `which` is expression::the_result or an input.
void launch_expression(const shard_call& s, const kernel& k, int which);

/// A text that is put together while the program is compiled.
template <int Most>
struct short_text {
    char text[Most + 1] = {};
    int size = 0;

    constexpr short_text& operator<<(const char* more) {
        for (; *more != 0; ++more) {
            text[size++] = *more;
        }
        return *this;
    }
};
using short_name = short_text<80>;
using table_words = short_text<400>;

/// The kernels of an operator of the library: their names, and how the operator table calls them.
template <const op_record& Of>
struct expression_kernels {
    template <int Which, bool Broadcast>
    static constexpr short_name name = short_name() << Of.name << kernel_suffix(*Of.formula, Which, Broadcast);
    template <int Which, bool Broadcast>
    static constexpr kernel of{name<Which, Broadcast>.text, true};
    template <int Which>
    static const kernel& choose(bool broadcast) {
        if (broadcast) {
            return of<Which, true>;
        }
        return of<Which, false>;
    }

    static constexpr bool has_broadcast = Of.formula->inputs > 1 && !Of.formula->loss;
    /// Those of some passes, as the table has them, behind others.
    static constexpr table_words words(const char* others, int from, int to, bool plain) {
        table_words all;
        all << others;
        for (const bool broadcast : {false, true}) {
            for (int which = from; which < to && (broadcast ? has_broadcast : plain); ++which) {
                all << (all.size > 0 ? " kernel:" : "kernel:") << Of.name
                    << kernel_suffix(*Of.formula, which, broadcast);
            }
        }
        return all.size > 0 ? all : all << "-"; // plans rename the gradient instead
    }
    static constexpr table_words forward = words("", expression::the_result, 0, true);
    static constexpr table_words backward = words("", 0, Of.formula->inputs, !Of.facts.passes_gradient);
};

template <const op_record& Of>
void expression_forward(const shard_call& s) {
    using all = expression_kernels<Of>;
    const bool broadcast = all::has_broadcast && op::is_broadcast(s.d);
    launch_expression(s, all::template choose<expression::the_result>(broadcast), expression::the_result);
}
template <const op_record& Of, int Which = 0>
void expression_backward(const shard_call& s) {
    using all = expression_kernels<Of>;
    if (s.emits(Which)) {
        const bool broadcast = all::has_broadcast && op::is_broadcast(s.d);
        launch_expression(s, all::template choose<Which>(broadcast), Which);
    }
    if constexpr (Which + 1 < Of.formula->inputs) {
        expression_backward<Of, Which + 1>(s);
    }
}

/// The row of an operator of the library that is an expression.
template <const op_record& Of>
constexpr operator_row expression_row(const char* why = "one kernel, whose text is made of its expression") {
    return {.of = &Of,
            .forward = expression_forward<Of>,
            .backward = expression_backward<Of>,
            .calls_forward = expression_kernels<Of>::forward.text,
            .calls_backward = expression_kernels<Of>::backward.text,
            .why = why,
            .text = [] { return kernels_text(Of.name, *Of.formula); }};
}

/// An operator of one's own: its kernels, and the text that they are in.
struct own_expression {
    std::string names[1 + expression::most_inputs];
    std::string broadcast_names[1 + expression::most_inputs];
    std::string text;
    kernel kernels[1 + expression::most_inputs]{};
    kernel broadcast[1 + expression::most_inputs]{}; ///< of inputs that are broadcast
    operator_row row{};
    std::string calls_backward;
    std::string calls_forward;
};

/// Letters and digits of a name, and a hash where it has others: what a kernel may be called.
std::string identifier_of(std::string_view name);

const own_expression& own_expression_of(const op_record& r);

void own_expression_forward(const shard_call& s);
void own_expression_backward(const shard_call& s);

} // namespace detail

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/expression.inl"
#endif

#include "tessera/base/end_header.inl"
