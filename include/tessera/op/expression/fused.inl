// SPDX-License-Identifier: Apache-2.0
// Bodies of fused.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/fused.hpp"

#include <utility>

namespace tessera::detail {

TESSERA_INLINE fused_operator::fused_operator(std::string its_name, const expression::formula& f)
    : name(std::move(its_name)), formula(f), record(op::expression_record(name.c_str(), formula)) {}

TESSERA_INLINE bool same_formula(const expression::formula& a, const expression::formula& b) {
    bool same = a.nodes.count == b.nodes.count && a.inputs == b.inputs && a.result == b.result;
    for (int i = 0; same && i < a.nodes.count; ++i) {
        same = a.nodes.nodes[i] == b.nodes.nodes[i];
    }
    for (int k = 0; same && k < a.inputs; ++k) {
        same = a.gradient[k] == b.gradient[k] && a.reads[k] == b.reads[k];
    }
    return same;
}

} // namespace tessera::detail

namespace tessera::op {

TESSERA_INLINE const op_record& fused_record(std::string name, const expression::formula& f) {
    static mutex one_at_a_time;
    static std::vector<owned<detail::fused_operator>> all;
    const locked lock(one_at_a_time);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i]->name == name) {
            if (detail::same_formula(all[i]->formula, f)) {
                return all[i]->record;
            }
            name += '\'';
            i = to_size(-1); // from the first again
        }
    }
    all.push_back(owned<detail::fused_operator>(new detail::fused_operator(std::move(name), f)));
    return all.back()->record;
}

} // namespace tessera::op

#include "tessera/base/end_header.inl"
