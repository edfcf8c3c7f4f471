// SPDX-License-Identifier: Apache-2.0
// Bodies of expression.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/expression.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE std::int64_t dimensions_of(const shard_call& s, int o) {
    const shape& y = s.d.operands[s.output()].extents;
    const operand& x = s.d.operands[o];
    std::int64_t all = 0;
    for (int k = 0; k < x.extents.rank; ++k) {
        const int d = op::broadcast_to_dimension(k, x.extents.rank, y.rank);
        all |= x.dim[k].terms.empty() ? 0 : std::int64_t{1} << (y.rank - 1 - d);
    }
    return all;
}

TESSERA_INLINE kernels::broadcast_numbers broadcast_numbers_of(const shard_call& s, const kernel_leaves& leaves,
                                                               int which) {
    const box all = s.region_of(s.output());
    const std::int64_t every = dimensions_of(s, s.output());
    const std::int64_t written = which < 0 ? every : dimensions_of(s, which);
    const index_t count = s.volume(which < 0 ? s.output() : which);
    kernels::broadcast_numbers n{
        .count = count, .written = written, .summed = every & ~written, .points = all.volume() / count};
    for (int d = 0; d < max_rank; ++d) {
        const int k = d - (max_rank - all.rank);
        n.extents[d] = k < 0 ? 1 : all.dim[k].size();
    }
    for (int k = 0; k < leaves.count; ++k) {
        n.leaves[k] = leaves.at[k] < s.output() ? dimensions_of(s, leaves.at[k]) : every;
    }
    return n;
}

TESSERA_INLINE void launch_expression(const shard_call& s, const kernel& k, int which) {
    const expression::formula& f = *record_of(s.attributes()).formula;
    index_t count = s.volume(s.output());
    const kernel_leaves leaves = leaves_of(f, which);
    std::vector<memory_use> memory;
    for (int p = 0; p < leaves.count; ++p) {
        memory.push_back(leaves.at[p] > f.inputs ? s.gradient(s.output()) : s.value(leaves.at[p]));
    }
    memory.push_back(which < 0 ? s.value_to(s.output()) : s.gradient_to(which));
    kernel_numbers numbers = count_of(count);
    if (op::is_broadcast(s.d)) {
        const kernels::broadcast_numbers n = broadcast_numbers_of(s, leaves, which);
        numbers.set(n);
        count = n.count;
    }
    const auto attributes = s.attributes().as<op::expression_attributes>();
    for (int a = 0; a < f.attributes; ++a) {
        numbers.f[a] = attributes.number[a];
    }
    numbers.f[expression::most_attributes] = f.loss ? s.call.loss_scale : 0;
    s.to.launch(k, std::move(memory), numbers, count);
}

TESSERA_INLINE std::string identifier_of(std::string_view name) {
    std::string plain = "own_";
    for (const char c : name) {
        const bool fits = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        plain += fits ? c : '_';
    }
    char hash[20];
    std::snprintf(hash, sizeof hash, "_%08x", static_cast<unsigned>(tessera::detail::hash_text(name)));
    return plain + hash;
}

TESSERA_INLINE void own_expression_forward(const shard_call& s) {
    const own_expression& own = own_expression_of(record_of(s.attributes()));
    launch_expression(s, (op::is_broadcast(s.d) ? own.broadcast : own.kernels)[0], expression::the_result);
}

TESSERA_INLINE void own_expression_backward(const shard_call& s) {
    const own_expression& own = own_expression_of(record_of(s.attributes()));
    for (int k = 0; k < record_of(s.attributes()).formula->inputs; ++k) {
        if (s.emits(k)) {
            launch_expression(s, (op::is_broadcast(s.d) ? own.broadcast : own.kernels)[1 + k], k);
        }
    }
}

/// Made once for a process; the record must have a formula, and lives as long.
TESSERA_INLINE const own_expression& own_expression_of(const op_record& r) {
    static mutex one_at_a_time;
    static std::map<std::string, std::unique_ptr<own_expression>> known;
    const locked lock(one_at_a_time);
    std::unique_ptr<own_expression>& found = known[r.name];
    if (found == nullptr) {
        found = std::make_unique<own_expression>();
        own_expression& own = *found;
        const std::string name = identifier_of(r.name);
        own.text = kernels_text(name, *r.formula);
        for (int k = 0; k <= r.formula->inputs; ++k) {
            own.names[k] = kernel_name(name, *r.formula, k - 1);
            own.kernels[k] = {own.names[k].c_str(), true, own.text.c_str()};
            own.broadcast_names[k] = kernel_name(name, *r.formula, k - 1, true);
            own.broadcast[k] = {own.broadcast_names[k].c_str(), true, own.text.c_str()};
            (k == 0 ? own.calls_forward : own.calls_backward) += (k > 1 ? " kernel:" : "kernel:") + own.names[k];
        }
        own.calls_forward += r.facts.loss ? " kernel:count_not_finite" : "";
        own.row.of = &r;
        own.row.forward = own_expression_forward;
        own.row.backward = own_expression_backward;
        own.row.calls_forward = own.calls_forward.c_str();
        own.row.calls_backward = own.calls_backward.c_str();
        own.row.why = "an expression of one's own";
    }
    return *found;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
