// SPDX-License-Identifier: Apache-2.0
// Bodies of table.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/table.hpp"

namespace tessera::cuda {

TESSERA_INLINE const operator_row* row_of(const op_attributes& a) {
    const op_record& r = record_of(a);
    if (const operator_row* const found = row_of(r)) {
        return found;
    }
    if (const void* const own = r.row_for("cuda")) {
        return static_cast<const operator_row*>(own);
    }
    return r.formula != nullptr     ? &detail::own_expression_of(r).row
           : r.generated != nullptr ? &detail::own_nests_of(r).row
                                    : nullptr;
}

TESSERA_INLINE std::string precisions_of(const operator_row& r) {
    std::string text;
    for (const precision p : {precision::fp32, precision::tf32, precision::bf16}) {
        text += p <= r.most ? (text.empty() ? "" : ", ") + std::string(to_text(p)) : "";
    }
    return text;
}

TESSERA_INLINE error refusal_of(const op_record& of, pass what, const std::string& layer) {
    const operator_row* const r = row_of(op_attributes{.kind = {&of}});
    const std::string name(of.name);
    if (of.only_planned != nullptr) {
        return error("tessera: " + layer + " cannot run: " + of.only_planned);
    }
    if (r == nullptr) {
        return error(
            "tessera: " + layer + " is a " + name +
            ", and the CUDA backend has no such operator; run the network on another backend, or have its record "
            "bring a row: .rows = {{\"cuda\", &row}}");
    }
    if (r->composes(what) == nullptr) {
        return error("tessera: " + layer + " is a " + name + ", of which the CUDA backend has no pass " +
                     to_text(what) + "; the plan must not ask for it");
    }
    return error("tessera: " + layer + " is a " + name +
                 ", which the CUDA backend does not compute in the network's "
                 "precision; take one that it has: " +
                 precisions_of(*r));
}

TESSERA_INLINE const operator_row& offered_row(const graph_view& g, int op, pass what) {
    const op_attributes& a = g.ops[op].attributes;
    const operator_row* const r = row_of(a);
    if (r == nullptr || !r->offers(what, a.math)) {
        throw refusal_of(record_of(a), what, path_of(g, op));
    }
    return *r;
}

TESSERA_INLINE void require_kernels_of(row_table rows, const graph_view& g) {
    require_own_names(g);
    for (int op = 0; op < g.op_count; ++op) {
        const operator_row* const needed = row_of(record_of(g.ops[op].attributes));
        if (needed != nullptr && std::find(rows.begin(), rows.end(), needed) == rows.end()) {
            throw error("tessera: " + path_of(g, op) + ": the backend was made for a network without the operator " +
                        needed->of->name +
                        "; make one for this network: without a set of operators a backend has them all");
        }
    }
}

TESSERA_INLINE std::string operator_table() {
    std::string text;
    for (const operator_row* r : operator_rows) {
        text += std::string(r->of->name) + ": forward " + r->calls_forward + "; backward " + r->calls_backward +
                (*r->why == 0 ? "" : std::string("; ") + r->why) + "\n";
    }
    return text;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
