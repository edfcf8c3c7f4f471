// SPDX-License-Identifier: Apache-2.0
// Sets of operators as types: for which operators a backend is made, known to the compiler.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/describe.hpp"

#include <array>
#include <concepts>

namespace tessera {

/// S::has(record): whether an operator is among them; a constant expression. A set may also have S::records, pointers
/// to each.
template <class S>
concept OperatorSet = requires(const op_record& r) {
    { S::has(r) } -> std::same_as<bool>;
};

/// All that there are: where networks are values, nobody knows which they will have.
struct all_operators {
    static constexpr bool has(const op_record&) { return true; }
};

namespace detail {

/// The operators of a network, each once: a network of a thousand has some ten.
template <class Net>
struct distinct_operators {
    static constexpr int most = storage_of<Net, 64>.view().op_count;
    const op_record* records[to_size(most + 1)]{};
    int count = 0;

    constexpr distinct_operators() {
        const graph_view g = storage_of<Net, 64>.view();
        for (int op = 0; op < g.op_count; ++op) {
            const op_record& r = record_of(g.ops[op].attributes);
            if (!has(r)) {
                records[count++] = &r;
            }
        }
    }
    constexpr bool has(const op_record& r) const {
        for (int i = 0; i < count; ++i) {
            if (same_operator(*records[i], r)) {
                return true;
            }
        }
        return false;
    }
};
template <class Net>
inline constexpr distinct_operators<Net> operators_in;

/// Of several networks; one that several have stands several times.
template <class... Nets>
constexpr auto all_in() {
    std::array<const op_record*, (to_size(operators_in<Nets>.count) + ... + 0)> all{};
    std::size_t n = 0;
    const auto take = [&](const op_record* const* records, int count) {
        for (int i = 0; i < count; ++i) {
            all[n++] = records[i];
        }
    };
    (take(operators_in<Nets>.records, operators_in<Nets>.count), ...);
    return all;
}

} // namespace detail

/// Those of network types, losses included.
template <class... Nets>
struct operators_of {
    static constexpr bool has(const op_record& r) { return (detail::operators_in<Nets>.has(r) || ...); }
    static constexpr auto records = detail::all_in<Nets...>();
};

/// That of one layer.
template <class Layer>
struct operator_of {
    static constexpr std::array<const op_record*, 1> records{&record_of(Layer::attributes)};
    static constexpr bool has(const op_record& r) { return same_operator(record_of(Layer::attributes), r); }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
