// SPDX-License-Identifier: Apache-2.0
// What a local search may propose.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/configurations.hpp"
#include "tessera/search/random_numbers.hpp"
#include "tessera/strategy/change.hpp"

namespace tessera::search {

/// Which proposals are made.
struct proposal_options {
    configuration_options offered;  ///< sample, attribute, parameter and reduction splits
    bool operator_placement = true; ///< false: shards always lie on devices 0, 1, 2, ...
    bool neighbours = true;         ///< now and then an operator takes over a neighbour's degrees and devices
    bool groups = true;        ///< operators of one kind, and whole blocks, change together too, see group_operators()
    bool plain = true;         ///< with groups: plain_changes are proposed between the others
    bool only_blocks = false;  ///< nothing but whole blocks changes, all by their first layer: a space to enumerate
    bool only_regular = false; ///< placements are aligned or strided, not at random
    std::vector<char> pinned;  ///< operators that keep their configuration, by number; empty: none
    bool memory_limit = true;  ///< only what fits in the devices' memory, as far as it is known
    int devices = 0;           ///< only the first so many devices are used; 0: all
};

/// New configurations; none if nothing legal came up.
using proposal = std::vector<change>;

} // namespace tessera::search

#include "tessera/base/end_header.inl"
