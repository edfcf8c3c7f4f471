// SPDX-License-Identifier: Apache-2.0
// A layer, or a part of a network, by itself: without the network's input and loss. For what measures operators.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/describe.hpp"
#include "tessera/net/operator_set.hpp"

#include <utility>

namespace tessera {

namespace detail {

/// Of what a layer takes as its input `slot`.
constexpr element type_of_input(const op_attributes& a, const shape* inputs, int slot) {
    return index_bound_of(a, inputs, slot) > 0 ? element::i32 : element::f32;
}

/// A layer on `inputs`, or a part on one of them; what a loss compares with is one more input unless it is handed in.
/// The last tensor is no operator's: it holds the output's gradient.
template <class Op>
constexpr void build_alone(graph_builder& b, const shape* inputs, int count) {
    b.batch = inputs[0][0];
    int read[max_inputs]{};
    int end = -1;
    if constexpr (Layer<Op>) {
        const op_record& record = record_of(Op::attributes);
        for (int i = 0; i < count && i < max_inputs; ++i) {
            read[i] = b.add_input(inputs[i], type_of_input(Op::attributes, inputs, i), "input");
        }
        if (record.facts.loss && record.inputs == 2 && count == 1) {
            const label_tensor labels = labels_of(Op::attributes, inputs[0]);
            read[count++] = b.add_input(labels.extents, labels.type, "labels");
        }
        end = b.add_op(Op::attributes, name_of_layer<Op>(), key_of<Op>, false, read, count);
    } else {
        using first = typename decltype(nth_in<0, Op>())::type;
        element type = element::f32;
        if constexpr (Layer<first>) {
            type = type_of_input(first::attributes, inputs, 0);
        }
        const int start = b.add_input(inputs[0], type, "input");
        if (count != 1) {
            b.refused_at = type_name<Op>();
            b.fail({rule::wrong_number_of_inputs, 0, -1, count, 1});
        }
        end = append<Op>(b, start);
        if (b.op_count == 0) {
            b.fail({rule::wrong_number_of_inputs, 0, -1, 0, 1});
        }
    }
    if (!b.refused) {
        b.add_input(b.tensors[end].extents, element::f32, "output gradient");
    }
}

/// Which operators a part has, as far as its layers are known.
template <class Part, class Numbers>
struct layers_of_part;
template <class Part, std::size_t... I>
struct layers_of_part<Part, std::index_sequence<I...>> {
    static constexpr bool known = (Layer<typename decltype(nth_in<static_cast<int>(I), Part>())::type> && ...);
    struct set {
        static constexpr std::array<const op_record*, sizeof...(I)> records{
            &record_of(decltype(nth_in<static_cast<int>(I), Part>())::type::attributes)...};
        static constexpr bool has(const op_record& r) {
            for (const op_record* mine : records) {
                if (same_operator(*mine, r)) {
                    return true;
                }
            }
            return false;
        }
    };
};

template <class Op>
constexpr auto operators_alone() {
    if constexpr (Layer<Op>) {
        return identity<tessera::operator_of<Op>>{};
    } else {
        using layers = layers_of_part<Op, std::make_index_sequence<to_size(ops_of<Op>())>>;
        if constexpr (layers::known) {
            return identity<typename layers::set>{};
        } else {
            return identity<all_operators>{}; // some are the part's own, such as the addition of a residual
        }
    }
}

} // namespace detail

/// Those of a layer, or of a part of a network.
template <class Op>
using operators_of_part = typename decltype(detail::operators_alone<Op>())::type;

} // namespace tessera

#include "tessera/base/end_header.inl"
