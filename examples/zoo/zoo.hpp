// SPDX-License-Identifier: Apache-2.0
// The networks of the zoo by name, described at run time: whoever links tessera_zoo compiles none of their types.
#pragma once

#include "tessera/net/graph.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace networks {

struct zoo_entry {
    const char* name;
    const char* what; ///< what it is, and whose
    tessera::graph (*describe)(tessera::index_t batch);
};

/// Every network as published.
std::span<const zoo_entry> zoo_images();
std::span<const zoo_entry> zoo_cells();
std::span<const zoo_entry> zoo_sequences();
std::span<const zoo_entry> zoo_language_models();
inline std::vector<zoo_entry> zoo() {
    std::vector<zoo_entry> all;
    for (const auto& part : {zoo_images(), zoo_cells(), zoo_sequences(), zoo_language_models()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}
/// Where a network has many layers or steps: the same with few of them, for tests.
std::span<const zoo_entry> zoo_shallow();

/// Operators that networks of the zoo bring along, for those who read the zoo from files.
std::vector<const tessera::op_record*> zoo_operators();

/// Throws tessera::error with all names where there is none of this name.
tessera::graph describe(std::string_view name, tessera::index_t batch);

} // namespace networks
