// SPDX-License-Identifier: Apache-2.0
// Bodies of additive_problem.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/additive_problem.hpp"

namespace tessera::search::detail {

TESSERA_INLINE void refuse_problem(const std::string& where, const std::string& what) {
    throw error("tessera::search: " + where + ": " + what);
}

TESSERA_INLINE void refuse_node(int node, const char* what) { refuse_problem("node " + std::to_string(node), what); }

TESSERA_INLINE void refuse_edge(int from, int to, const std::string& what) {
    refuse_problem("edge from node " + std::to_string(from) + " to node " + std::to_string(to), what);
}

TESSERA_INLINE void refuse_table(int from, int to, std::size_t found, std::size_t needed) {
    refuse_edge(from, to,
                "the cost table has " + std::to_string(found) + " entries but needs " + std::to_string(needed) +
                    ", one row per configuration of the first node");
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
