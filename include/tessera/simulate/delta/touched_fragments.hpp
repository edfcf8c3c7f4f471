// SPDX-License-Identifier: Apache-2.0
// Which fragments of a lowering a change of some operators' configurations touches.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/lowered_fragments.hpp"

namespace tessera::simulation {

/// What a change of operator i touches (of several, each of them): i itself; forward and backward, the operators that
/// read its output or one of its inputs (they share gathered tiles); backward, the operators that made its inputs and
/// those that share its parameters. Where such an operator renames memory (flatten; backward, add), those after
/// (before) it too. All but i keep their configurations, so that whatever they hand to fragments that stay keeps its
/// tile.
struct touched_fragments {
    std::vector<char> ops;        ///< that change
    std::vector<char> inputs;     ///< tensors that these read
    std::vector<char> parameters; ///< that these use
    std::vector<int> list;        ///< fragments to be made again, in order
    std::vector<char> has;        ///< by fragment: true if it is in the list

    bool contains(int f) const { return has[to_size(f)] != 0; }
};

/// Also marks what reads the output of a flattening, whose memory may now be another's.
void touch_forward(const lowered_fragments& x, int op, std::vector<char>& marks);

void touch_backward(const lowered_fragments& x, int op, std::vector<char>& marks);

touched_fragments touched_by(const lowered_fragments& x, const std::vector<change>& changes);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/touched_fragments.inl"
#endif

#include "tessera/base/end_header.inl"
