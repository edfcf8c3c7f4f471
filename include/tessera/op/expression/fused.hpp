// SPDX-License-Identifier: Apache-2.0
// Records of operators that are made of several while the program runs. They live as long as the program: plans, sessions and backends refer to
// them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/mutex.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/op/expression/record.hpp"

#include <string>
#include <vector>

namespace tessera {

namespace detail {

struct fused_operator {
    std::string name;
    expression::formula formula;
    op_record record;

    fused_operator(std::string its_name, const expression::formula& f)
        : name(static_cast<std::string&&>(its_name)), formula(f), record(op::expression_record(name.c_str(), formula)) {
    }
    fused_operator(const fused_operator&) = delete;
    fused_operator& operator=(const fused_operator&) = delete;
};

inline bool same_formula(const expression::formula& a, const expression::formula& b) {
    bool same = a.nodes.count == b.nodes.count && a.inputs == b.inputs && a.result == b.result;
    for (int i = 0; same && i < a.nodes.count; ++i) {
        same = a.nodes.nodes[i] == b.nodes.nodes[i];
    }
    for (int k = 0; same && k < a.inputs; ++k) {
        same = a.gradient[k] == b.gradient[k] && a.reads[k] == b.reads[k];
    }
    return same;
}

} // namespace detail

namespace op {

/// The record of a formula, one for each name. A name says what the formula is composed of; where operators of different programs' parts have one
/// name, the formulas differ, and what comes later has an apostrophe behind its name.
inline const op_record& fused_record(std::string name, const expression::formula& f) {
    static mutex one_at_a_time;
    static std::vector<owned<detail::fused_operator>> all;
    const locked lock(one_at_a_time);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i]->name == name) {
            if (detail::same_formula(all[i]->formula, f)) {
                return all[i]->record;
            }
            name += '\'';
            i = static_cast<std::size_t>(-1); // from the first again
        }
    }
    all.push_back(owned<detail::fused_operator>(new detail::fused_operator(static_cast<std::string&&>(name), f)));
    return all.back()->record;
}

} // namespace op

} // namespace tessera

#include "tessera/base/end_header.inl"
