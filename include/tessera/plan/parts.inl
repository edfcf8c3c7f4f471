// SPDX-License-Identifier: Apache-2.0
// Bodies of parts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/parts.hpp"

namespace tessera {

TESSERA_INLINE std::size_t first_write_of(const task& t, std::size_t which) {
    return which == 0 ? 0 : to_size(t.params().parts[which - 1].writes);
}

namespace detail {

/// Takes what a task has for all of its parameters.
template <PlanFields Fields>
void take_shared(Fields& one, const Fields& all) {
    Fields::each_field([&](const char*, auto member, const plan_field& facts) {
        if (!facts.by_parameter) {
            one.*member = all.*member;
        }
    });
}

} // namespace detail

TESSERA_INLINE task part_of(const task& t, std::size_t which) {
    const task_parameter& x = t.params().parts[which];
    const int first_read = which == 0 ? 0 : t.params().parts[which - 1].reads;
    task one(t.kind());
    detail::take_shared<common_fields>(one, t);
    parameter_fields& params = one.mutable_params();
    detail::take_shared(params, t.params());
    one.reads.assign(t.reads.begin() + first_read, t.reads.begin() + x.reads);
    one.reads.insert(one.reads.end(), t.reads.begin() + t.params().parts.back().reads, t.reads.end());
    one.writes.assign(t.writes.begin() + static_cast<std::ptrdiff_t>(first_write_of(t, which)),
                      t.writes.begin() + x.writes);
    params.parameter = x.parameter;
    params.state = x.state;
    for (const int n : t.params().norms) { // a reduction's own, or those that all updates read
        const bool own = std::find(one.writes.begin(), one.writes.end(), n) != one.writes.end();
        if (own || std::find(one.reads.begin(), one.reads.end(), n) != one.reads.end()) {
            params.norms.push_back(n);
        }
    }
    for (const int n : t.params().layer_norms) {
        const std::vector<int>& own = t.kind() == task_kind::norm ? one.writes : one.reads;
        if (std::find(own.begin(), own.end(), n) != own.end()) {
            params.layer_norms.push_back(n);
        }
    }
    return one;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
