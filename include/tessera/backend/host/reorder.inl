// SPDX-License-Identifier: Apache-2.0
// Bodies of reorder.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/reorder.hpp"

namespace tessera::host {

TESSERA_INLINE reorder_job::reorder_job(const tensor_desc& from, const tensor_desc& to, void* source, void* target,
                                        void* scratch, dnnl_stream_t stream) {
    const unique_primitive_desc pd = make(from, to);
    primitive_.make(pd);
    primitive_.stream = stream;
    primitive_.bind(DNNL_ARG_FROM, from, source);
    primitive_.bind(DNNL_ARG_TO, to, target);
    primitive_.bind(DNNL_ARG_SCRATCHPAD, query(pd, dnnl_query_scratchpad_md), scratch);
}

TESSERA_INLINE index_t reorder_job::scratch_bytes(const tensor_desc& from, const tensor_desc& to) {
    return detail::scratch_bytes(make(from, to));
}

TESSERA_INLINE unique_primitive_desc reorder_job::make(const tensor_desc& from, const tensor_desc& to) {
    const single_thread alone;
    dnnl_primitive_desc_t pd = nullptr;
    check(dnnl_reorder_primitive_desc_create(&pd, from.get(), engine(), to.get(), engine(), user_scratchpad()),
          "dnnl_reorder_primitive_desc_create");
    return unique_primitive_desc(pd);
}

} // namespace tessera::host

namespace tessera::host::detail {

TESSERA_INLINE tensor_desc desc_as(const format_table& table, int f, int other, const shape& s) {
    if (f == format::plain && other >= format::opaque) {
        return plain_like(table.desc(other, s));
    }
    return table.desc(f, s);
}

TESSERA_INLINE index_t reorder_scratch(const format_table& table, const reorder_call& r) {
    if (in_sample_blocks(r)) {
        // Through plain, unless that is the other one.
        const int other = r.from == format::samples16 ? r.to : r.from;
        return other == format::plain ? 0 : r.extents.volume() * 4;
    }
    return reorder_job::scratch_bytes(desc_as(table, r.from, r.to, r.extents), desc_as(table, r.to, r.from, r.extents));
}

TESSERA_INLINE block_reorder_job::block_reorder_job(const reorder_call& r, std::byte* from, std::byte* to,
                                                    std::byte* scratch, const format_table& table, dnnl_stream_t stream)
    : into_blocks_(r.to == format::samples16), from_(from), to_(to) {
    const shape& s = r.extents;
    samples_ = static_cast<std::ptrdiff_t>(s[0]);
    length_ = static_cast<std::ptrdiff_t>(s.volume() / s[0]);
    const int other = into_blocks_ ? r.from : r.to;
    if (other == format::plain) {
        return;
    }
    const tensor_desc plain = desc_as(table, format::plain, other, s);
    const tensor_desc special = table.desc(other, s);
    if (into_blocks_) {
        rest_ = owned<reorder_job>(new reorder_job(special, plain, from, scratch, nullptr, stream));
        from_ = scratch;
    } else {
        rest_ = owned<reorder_job>(new reorder_job(plain, special, scratch, to, nullptr, stream));
        to_ = scratch;
    }
}

TESSERA_INLINE void block_reorder_job::run(const run_state& run) {
    if (into_blocks_ && rest_) {
        rest_->run(run);
    }
    if (into_blocks_) {
        kernels::to_blocked(reinterpret_cast<const float*>(from_), reinterpret_cast<float*>(to_), samples_, length_,
                            length_);
    } else {
        kernels::to_plain(reinterpret_cast<const float*>(from_), reinterpret_cast<float*>(to_), samples_, length_,
                          length_);
    }
    if (!into_blocks_ && rest_) {
        rest_->run(run);
    }
}

TESSERA_INLINE owned<job> make_reorder(const format_table& table, const reorder_call& r, std::byte* from, std::byte* to,
                                       std::byte* scratch, dnnl_stream_t stream) {
    if (in_sample_blocks(r)) {
        return owned<job>(new block_reorder_job(r, from, to, scratch, table, stream));
    }
    return owned<job>(new reorder_job(desc_as(table, r.from, r.to, r.extents), desc_as(table, r.to, r.from, r.extents),
                                      from, to, scratch, stream));
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
