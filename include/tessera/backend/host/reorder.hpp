// SPDX-License-Identifier: Apache-2.0
// Reorders: the same elements from one memory format into another.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/kernels/transpose_n16.hpp"
#include "tessera/backend/host/onednn/operands.hpp"

namespace tessera::host {

/// From one format to another, for tensors that are not in blocks of samples.
class reorder_job : public job {
public:
    reorder_job(const tensor_desc& from, const tensor_desc& to, void* source, void* target, void* scratch,
                dnnl_stream_t stream);
    static index_t scratch_bytes(const tensor_desc& from, const tensor_desc& to);
    void run(const run_state&) override { primitive_.execute(); }

private:
    static unique_primitive_desc make(const tensor_desc& from, const tensor_desc& to);
    primitive_job primitive_;
};

namespace detail {

/// oneDNN's description of a format; that of plain weights has the dimensions (groups) of the format on the other side.
tensor_desc desc_as(const format_table& table, int f, int other, const shape& s);

/// A reorder of a tile of extents `s`.
struct reorder_call {
    int from = format::plain;
    int to = format::plain;
    shape extents;
};

inline bool in_sample_blocks(const reorder_call& r) { return r.from == format::samples16 || r.to == format::samples16; }

/// Bytes of scratch memory that a reorder needs.
index_t reorder_scratch(const format_table& table, const reorder_call& r);

/// From one format to another where one side is in blocks of samples; through plain scratch if neither side is plain.
class block_reorder_job : public job {
public:
    block_reorder_job(const reorder_call& r, std::byte* from, std::byte* to, std::byte* scratch,
                      const format_table& table, dnnl_stream_t stream);
    void run(const run_state& run) override;

private:
    bool into_blocks_;
    std::byte* from_;
    std::byte* to_;
    std::ptrdiff_t samples_ = 0;
    std::ptrdiff_t length_ = 0;
    owned<reorder_job> rest_;
};

owned<job> make_reorder(const format_table& table, const reorder_call& r, std::byte* from, std::byte* to,
                        std::byte* scratch, dnnl_stream_t stream);

} // namespace detail

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/reorder.inl"
#endif

#include "tessera/base/end_header.inl"
