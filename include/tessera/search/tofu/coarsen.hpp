// SPDX-License-Identifier: Apache-2.0
// Tofu's coarsening (EuroSys 2019, section 5): operators that are split alike are one node of the search. Forward and
// backward of an operator are one anyway, since a configuration holds for both.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/groups.hpp"

namespace tessera::search {

struct coarsening {
    bool steps = true;       ///< the same operator of all steps of an unrolled network
    bool elementwise = true; ///< operators that work element by element, with those whose outputs they read
};

/// Operators that are split alike. A choice of a group is a dimension of the output where it works element by element,
/// else a loop of its operators.
struct coarse_groups {
    std::vector<int> group_of;         ///< by operator
    std::vector<std::vector<int>> ops; ///< operators of each, in order
    std::vector<char> elementwise;     ///< of each
};

/// True where each number of the output is made of those in its place of the inputs, all as large, and of no parameter.
constexpr bool works_by_element(const description& d) {
    const operand& out = d.operands[d.output()];
    bool is = d.nests.size() == 1 && d.nests[0].reduce == reducer::none && count_of(d, operand_kind::parameter) == 0 &&
              d.loops.size() == out.extents.rank;
    for (const operand& o : d.operands) {
        is = is && o.kind != operand_kind::state && o.extents == out.extents;
        for (int k = 0; is && k < out.extents.rank; ++k) {
            is = o.dim[k].terms.size() == 1 && same_index(o.dim[k], out.dim[k]);
        }
    }
    return is;
}

/// The loop of an operator that a choice of its group means.
constexpr int loop_of_choice(const description& d, bool elementwise, int choice) {
    return elementwise && choice >= 0 ? d.operands[d.output()].dim[choice].terms[0].loop : choice;
}

/// Operators of one kind (see group_operators()) are together, and chains of element-wise ones.
coarse_groups coarsen(const graph_view& g, const std::vector<description>& descriptions, const coarsening& how = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/tofu/coarsen.inl"
#endif

#include "tessera/base/end_header.inl"
