// SPDX-License-Identifier: Apache-2.0
// Bodies of configurations.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/configurations.hpp"

namespace tessera::search {

TESSERA_INLINE std::vector<configuration> enumerate(const description& d, int devices,
                                                    const configuration_options& options) {
    std::vector<configuration> all;
    for_each_configuration(d, devices, options, [&all](const configuration& c) { all.push_back(c); });
    return all;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
