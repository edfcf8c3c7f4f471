// SPDX-License-Identifier: Apache-2.0
// Which positions of padded sequences are within their lengths, as numbers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera {

namespace op {

struct length_mask_attributes {
    index_t positions = 1;
    static constexpr attribute_field fields[] = {{"positions", 1, 1}};
};

struct length_mask_body : expression::functions {
    static constexpr const char* name = "length_mask";
    using options = length_mask_attributes;

    static constexpr void body(auto& w, const options& a) {
        const auto n = w.loops(loop_name::sample)[0];
        const auto t = w.loop(loop_name::position, a.positions);
        const auto length = w.counts(t, n);
        w.output(n, t, nests::loop_handle()) = expression::select(w.index(t) < length, 1, 0);
    }
};

} // namespace op

/// length_mask<T>: lengths[N] (int32, from 0 to T) -> [N,T,1]: 1 within a sample's length, 0 behind it. Multiplied with
/// x[N,T,C] it leaves zeros behind the lengths.
template <index_t Positions>
struct length_mask {
    static_assert(Positions >= 1, "tessera: a mask has at least one position");
    static constexpr op_attributes attributes =
        detail::generated_attributes<op::length_mask_body>(op::length_mask_attributes{Positions});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
