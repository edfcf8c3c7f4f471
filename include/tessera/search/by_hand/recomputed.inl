// SPDX-License-Identifier: Apache-2.0
// Bodies of recomputed.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/recomputed.hpp"

namespace tessera::search {

TESSERA_INLINE void recompute(strategy& s, const graph_view& g, const recompute_rule& how) {
    if (how.every < 1) {
        require(g, problem{rule::recomputed_blocks_are_none, -1, -1, how.every, 1});
    }
    if (static_cast<int>(s.ops.size()) != g.op_count) {
        require(g, problem{rule::strategy_has_wrong_size, -1, -1, static_cast<index_t>(s.ops.size()), g.op_count});
    }
    const bool blocks = how.which == recompute_rule::kind::blocks;
    recompute_by(how, s.ops.data(), g, blocks ? blocks_to_recompute(g) : repeated_blocks{});
}

TESSERA_INLINE std::string to_text(const recompute_rule& how) {
    switch (how.which) {
    case recompute_rule::kind::none:
        break;
    case recompute_rule::kind::selective:
        return "selective";
    case recompute_rule::kind::blocks:
        return how.every == 1 ? "full" : "every:" + std::to_string(how.every);
    }
    return "none";
}

TESSERA_INLINE recompute_rule recompute_rule_of(std::string_view text) {
    using kind = recompute_rule::kind;
    if (text == "none") {
        return {};
    }
    if (text == "selective" || text == "full") {
        return {text == "full" ? kind::blocks : kind::selective};
    }
    constexpr std::string_view every = "every:";
    int blocks = 0;
    bool good = text.substr(0, every.size()) == every && text.size() > every.size() && text.size() <= every.size() + 6;
    for (const char c : text.substr(good ? every.size() : text.size())) {
        good = good && c >= '0' && c <= '9';
        blocks = 10 * blocks + (good ? c - '0' : 0);
    }
    if (!good || blocks < 1) {
        throw error(
            "'" + std::string(text) +
            "' is not what operators recompute by; say none, selective, full, or every:4 for every fourth block");
    }
    return {kind::blocks, blocks};
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
