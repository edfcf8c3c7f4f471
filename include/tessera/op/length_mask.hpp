// SPDX-License-Identifier: Apache-2.0
// Which positions of padded sequences are within their lengths, as numbers.
#pragma once

#include "tessera/op/nest/record.hpp"

namespace tessera {

/// length_mask<T>: lengths[N] (int32, from 0 to T) -> [N,T,1]: 1 within a sample's length, 0 behind it. Multiplied with x[N,T,C] it leaves zeros behind the
/// lengths.
template <index_t Positions>
struct length_mask : operation<length_mask<Positions>> {
    static_assert(Positions >= 1, "tessera: a mask has at least one position");
    static constexpr const char* name = "length_mask";

    static constexpr void body(auto& w) {
        const auto n = w.loops(loop_name::sample)[0];
        const auto t = w.loop(loop_name::position, Positions);
        const auto length = w.counts(t, n);
        w.output(n, t, nests::loop_handle()) = expression::select(w.index(t) < length, 1, 0);
    }
};

} // namespace tessera
