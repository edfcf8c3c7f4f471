// SPDX-License-Identifier: Apache-2.0
// Bodies of table.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/table.hpp"

namespace tessera::host {

#ifdef TESSERA_COMPILED
std::span<const operator_row* const> detail::compiled_rows() {
    static constexpr auto rows = rows_among<operator_row, all_operators>(library_rows);
    return rows;
}
#endif

TESSERA_INLINE void operator_rows::add(const row_table& more) {
    for (const row_table& known : tables_) {
        if (known.rows.data() == more.rows.data() && known.plain.data() == more.plain.data()) {
            return;
        }
    }
    tables_.push_back(more);
}

TESSERA_INLINE const operator_row* operator_rows::find(const op_record& r) const {
    for (const row_table& t : tables_) {
        for (const operator_row* const row : t.rows) {
            if (same_operator(*row->of, r)) {
                return row;
            }
        }
    }
    const auto* const own = static_cast<const operator_row*>(r.row_for("host"));
    return own != nullptr || r.formula == nullptr || library_rows.has(r) ? own : &any_expression;
}

TESSERA_INLINE const reference::operator_row<float>& operator_rows::plain(const op_record& r) const {
    for (const row_table& t : tables_) {
        if (const auto* const row = reference::find_row<float>(r, t.plain)) {
            return *row;
        }
    }
    return reference::row_for<float>(r, {});
}

TESSERA_INLINE bool operator_rows::has(const op_record& r) const {
    for (const row_table& t : tables_) {
        if (reference::find_row<float>(r, t.plain) != nullptr) {
            return true;
        }
    }
    return find(r) != nullptr;
}

TESSERA_INLINE std::string refusal_of(const op_record& r, precision p, const std::string& path) {
    if (r.only_planned != nullptr) {
        return "tessera: " + path + " cannot run: " + r.only_planned;
    }
    if (only_planned(p)) {
        return "tessera: " + path + " computes in " + to_text(p) +
               ", which is planned for and which no backend has; run the network in fp32, tf32 or bf16";
    }
    if (p == precision::bf16) {
        return "tessera: " + path +
               " computes in bf16 and the host backend in fp32 alone; run the network without "
               "with_precision<bf16, ...>, or on the CUDA or the reference backend";
    }
    if (supports(r, pass::forward, p)) {
        return "tessera: " + path + ": the backend was made for a network without the operator " + r.name +
               "; make one for this network: without a set of operators a backend has them all";
    }
    return "tessera: " + path + ": the host backend does not know the operator " + r.name +
           ", and the reference has no plain loops for it; its record may bring a row: .rows = {{\"host\", &row}}";
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
