// SPDX-License-Identifier: Apache-2.0
// In what two strategies of one network differ.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

#include <algorithm>
#include <string>

namespace tessera::search {

/// The words for fields that differ, each once.
struct differing_fields {
    std::vector<std::string> words;

    bool any() const { return !words.empty(); }
    bool has(const std::string& what) const { return std::find(words.begin(), words.end(), what) != words.end(); }
    void add(bool differs, const char* what);
};

/// What two configurations of one operator differ in: "splits" (degrees or cut points), "parts" of a partial input,
/// "copies" of every shard, "devices" where some shard runs (other numbers of shards always run elsewhere), "stage",
/// "recompute".
struct operator_difference : differing_fields {
    int op = -1;
};

/// What two strategies differ in besides their operators' configurations, by the words of strategy::each_field; and
/// those of operators that differ, in the network's order. Leave to be uneven, or to split coupled loops, is no
/// difference: it changes nothing that runs.
struct strategy_difference : differing_fields {
    std::vector<operator_difference> ops;

    bool any() const { return differing_fields::any() || !ops.empty(); }
};

namespace detail {

operator_difference compare(const description& d, const strategy& a, const strategy& b, int op);

} // namespace detail

/// Compares two strategies of a network. Throws tessera::error where one of them has another number of operators.
strategy_difference difference(const graph_view& g, const strategy& a, const strategy& b);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/explain/difference.inl"
#endif

#include "tessera/base/end_header.inl"
