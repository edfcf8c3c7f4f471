// SPDX-License-Identifier: Apache-2.0
// Checks that what moves stays what it is: copies, reorders and other names keep the tensor, the part, the micro-batch
// and the step.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Loop ranges for which operand `o` is read in a region, if there are any: a part of a dimension is one of its major
/// loop.
constexpr loop_ranges ranges_behind(const description& d, int o, const box& of) {
    loop_ranges found(d);
    for (int k = 0; k < of.rank; ++k) {
        const affine& a = d.operands[o].dim[k];
        affine::term major{-1, 0};
        for (const affine::term& t : a.terms) {
            major = t.coefficient > major.coefficient ? t : major;
        }
        if (major.loop >= 0) {
            const interval& r = of.dim[k];
            found.range[major.loop] = {(r.begin - a.offset) / major.coefficient,
                                       (r.end - a.offset + major.coefficient - 1) / major.coefficient};
        }
    }
    return found;
}

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/moves.inl"
#endif

#include "tessera/base/end_header.inl"
