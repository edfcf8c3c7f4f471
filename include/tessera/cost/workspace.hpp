// SPDX-License-Identifier: Apache-2.0
// Working memory that a task takes beside its operands, for a machine that nobody has: as where a convolution is a
// product of matrices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/analysis.hpp"

namespace tessera::cost {

/// Bytes. A convolution gathers the patches that it multiplies its weights by, for one sample after the other (Caffe's
/// lowering; Chellapilla et al., IWFHR 2006), forward and for either gradient. Where every element is in one patch
/// alone (a window of 1 x 1), its operand is the matrix already. Everything else works in its operands. An assumption
/// that no measurement has set: libraries take less (implicit and direct convolutions), and more (Winograd, FFT);
/// benchmarks/simulate/workspaces prints what oneDNN asks for beside it.
constexpr index_t workspace_bytes(const description& d, const interval* ranges) {
    if (d.facts.work != work_kind::convolution) {
        return 0;
    }
    index_t most = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        const operand& x = d.operands[o];
        if (x.kind != operand_kind::input) {
            continue;
        }
        index_t patches = 1;
        index_t samples = 1;
        for (int l = 0; l < d.loops.size(); ++l) {
            patches *= depends(x, l) ? ranges[l].size() : 1;
            samples = d.loops[l].name == loop_name::sample ? ranges[l].size() : samples;
        }
        if (samples > 0 && patches > region(d, o, ranges).volume()) {
            const index_t bytes = patches / samples * bytes_of(x.type);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
