// SPDX-License-Identifier: Apache-2.0
// Bodies of compared.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/compared.hpp"

namespace tessera::search::detail {

TESSERA_INLINE search_found best_compared(const graph_view& g, const cluster& on, const std::string& name,
                                          const strategy& found, const search_options& o, const std::string& text) {
    compare_options how;
    how.faithful = o.values[faithful_option] != 0;
    how.lowering = o.lowering;
    const compared_search all = compare_with_baselines(g, on, name, found, how);
    return {all.best(), text + to_text(all)};
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
