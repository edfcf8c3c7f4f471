// SPDX-License-Identifier: Apache-2.0
// Which operators there are, and the numbers that tell two uses of one apart.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/type_name.hpp"
#include "tessera/op/initial.hpp"

#include <cstddef>

namespace tessera {

/// All operators of the library, in the order of their numbers. Each has a record of this name, see op/record.hpp;
/// op/records.hpp lists the headers, op/library.hpp the records.
// clang-format off
#define TESSERA_OPERATORS(X) \
    X(conv2d) X(max_pool) X(average_pool) X(global_average_pool) X(linear) X(relu) X(sigmoid) X(tanh) X(gelu) X(silu) \
    X(leaky_relu) X(elu) X(hard_sigmoid) X(hard_swish) X(softplus) X(exp) X(log) X(sqrt) X(power) X(abs) X(clamp) X(negate) \
    X(stochastic_depth) X(scale) X(add_constant) X(stop_gradient) X(straight_through_round) X(subtract) X(divide) X(minimum) X(maximum) \
    X(add) X(multiply) X(concat) X(flatten) X(dropout) X(channel_dropout) X(batch_norm) X(layer_norm) X(group_norm) X(softmax) X(padded_softmax) \
    X(attention) X(padded_attention) X(matmul) X(embedding) X(position_embedding) X(slice) X(transposed_conv2d) X(expert_linear) X(route) \
    X(rms_norm) X(instance_norm) X(image_layer_norm) X(pixel_norm) X(rotary) X(bilinear) \
    X(permute) X(reshape) X(broadcast_to) X(pad) X(crop) X(roll) X(flip) X(upsample_nearest) X(upsample_bilinear) \
    X(gather_rows) X(scatter_rows) \
    X(token_slots) X(keep_top) X(dispatch_tokens) X(routed_linear) X(combine_tokens) \
    X(conv3d) X(max_pool3d) X(average_pool3d) \
    X(cross_entropy) X(fixed_batch_norm) \
    X(silu_gate) X(gelu_gate) X(relu_gate)
// clang-format on

struct op_record;

/// Which operator: a reference to its record (op/record.hpp). Those of the library are members; an operator of one's
/// own is op_kind{&its_record}.
struct op_kind {
    const op_record* record = nullptr;

    /// By name, which is an operator's identity: g++ does not compare addresses while it compiles for sanitizers.
    friend constexpr bool operator==(op_kind, op_kind);

#define TESSERA_OPERATOR(name) static const op_kind name;
    TESSERA_OPERATORS(TESSERA_OPERATOR)
#undef TESSERA_OPERATOR
};

/// In what an operator computes. tf32: products of matrices and convolutions may round their factors to 10 bits of
/// mantissa. bf16: activations and their gradients are bf16 numbers; products take their parameters rounded to bf16;
/// sums, statistics, losses, parameters and their gradients stay fp32. fp16 and fp8 are planned for, and no backend
/// computes in them: fp16 is as bf16, with numbers of IEEE half precision; fp8 is as bf16, but that products with
/// parameters take their factors rounded to 8 bits.
enum class precision : std::uint8_t { fp32, tf32, bf16, fp16, fp8 };
inline constexpr int precisions = 5;

constexpr const char* to_text(precision p) {
    constexpr const char* names[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
    return names[static_cast<int>(p)];
}
/// Activations and their gradients take 2 bytes a number.
constexpr bool halves_activations(precision p) {
    return p == precision::bf16 || p == precision::fp16 || p == precision::fp8;
}
/// No backend computes in it.
constexpr bool only_planned(precision p) { return p == precision::fp16 || p == precision::fp8; }

/// What the numbers of an attribute are.
enum class attribute_type : std::uint8_t { integer, number, flag };

/// One of an operator's own attributes, by the name that files know it by: one number, or an array of them.
struct attribute_field {
    const char* name = "";
    int count = 1;
    std::int64_t least = 0; ///< of integers
    std::int64_t most = INT32_MAX;
    attribute_type type = attribute_type::integer;
};
constexpr attribute_field number_field(const char* name, int count = 1) {
    return {name, count, 0, 0, attribute_type::number};
}
constexpr attribute_field flag_field(const char* name, int count = 1) {
    return {name, count, 0, 1, attribute_type::flag};
}

/// Yes or no, in an operator's own attributes.
struct flag {
    std::int64_t set = 0;

    constexpr flag() = default;
    constexpr flag(bool yes) : set(yes ? 1 : 0) {}
    constexpr operator bool() const { return set != 0; }
};

inline constexpr int max_attributes = 16;

/// Attributes as numbers, however they are typed: equal ones are equal numbers.
template <std::size_t Count>
struct attribute_numbers {
    static_assert(Count <= max_attributes,
                  "tessera: an operator has at most 16 attributes of its own, of type index_t, double or flag");
    std::int64_t n[Count];
};

template <class Own>
constexpr auto numbers_of(const Own& own) {
    return __builtin_bit_cast(attribute_numbers<sizeof(Own) / 8>, own);
}

/// What tells two uses of one operator apart: what all operators may have, and the operator's own (such as
/// op::conv2d_attributes).
struct op_attributes {
    op_kind kind;
    bool frozen = false;              ///< its parameters are not trained
    precision math = precision::fp32; ///< of the network; see net/precision.hpp
    double weight = 1.0;              ///< of a loss: its factor in the total loss
    /// Of weights and bias, where the layer says it. (With {} alone g++ 12 converts no nested list to attributes.)
    initial_rule initial[2]{initial_rule{}, initial_rule{}};
    std::int64_t
        own[max_attributes]{}; ///< as numbers, each xor what it is by itself, so that zeros are an operator's defaults

    /// The operator's own attributes, or the first of them. What was never set is as Own has it by itself.
    template <class Own>
    constexpr Own as() const {
        auto numbers = numbers_of(Own{});
        for (std::size_t i = 0; i < sizeof(Own) / 8; ++i) {
            numbers.n[i] ^= own[i];
        }
        return __builtin_bit_cast(Own, numbers);
    }
    template <class Own>
    constexpr void set(const Own& to) {
        const auto numbers = numbers_of(to);
        const auto before = numbers_of(Own{});
        for (std::size_t i = 0; i < sizeof(Own) / 8; ++i) {
            own[i] = numbers.n[i] ^ before.n[i];
        }
    }

    friend constexpr bool operator==(const op_attributes&, const op_attributes&) = default;
};

/// A use of an operator with attributes of its own.
template <class Own>
constexpr op_attributes attributes_of(op_kind kind, const Own& own) {
    op_attributes a{.kind = kind};
    a.set(own);
    return a;
}

/// The list of an operator's own attributes, in their order, and what they are where nobody says.
struct attribute_list {
    const attribute_field* fields = nullptr;
    int count = 0;
    std::int64_t usual[max_attributes]{};
    std::string_view type{}; ///< as C++ names it
};

namespace detail {

template <class Own>
constexpr attribute_list make_attribute_list() {
    attribute_list list{Own::fields, static_cast<int>(sizeof(Own::fields) / sizeof(attribute_field))};
    list.type = full_type_name<Own>();
    const auto usual = tessera::numbers_of(Own{});
    for (std::size_t i = 0; i < sizeof(Own) / 8; ++i) {
        list.usual[i] = usual.n[i];
    }
    return list;
}
template <class Own>
constexpr bool lists_all_numbers() {
    std::size_t bytes = 0;
    for (const attribute_field& f : Own::fields) {
        bytes += 8 * to_size(f.count);
    }
    return bytes == sizeof(Own);
}

} // namespace detail

/// Of attributes with a list `fields` of all that they hold.
template <class Own>
inline constexpr attribute_list attribute_list_of = detail::make_attribute_list<Own>();

/// What a record says of its operator's own attributes.
template <class Own>
constexpr const attribute_list* list_of() {
    static_assert(detail::lists_all_numbers<Own>(),
                  "tessera: the fields of an operator's attributes are not all of its numbers");
    return &attribute_list_of<Own>;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
