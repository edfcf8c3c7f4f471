// SPDX-License-Identifier: Apache-2.0
// oneDNN's C API with owners and errors. (Its C++ header costs 1.0 s to include, the C one 0.04 s.) Whatever makes or
// runs a primitive does so on one thread.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/headroom.hpp"
#include "tessera/backend/host/onednn/single_thread.hpp"
#include "tessera/backend/host/onednn/version.hpp"

#include <vector>

namespace tessera::host {

using unique_primitive_desc = owned<dnnl_primitive_desc, detail::destroy_with<dnnl_primitive_desc_destroy>>;
using unique_primitive = owned<dnnl_primitive, detail::destroy_with<dnnl_primitive_destroy>>;
using unique_memory = owned<dnnl_memory, detail::destroy_with<dnnl_memory_destroy>>;
using unique_stream = owned<dnnl_stream, detail::destroy_with<dnnl_stream_destroy>>;

/// The one engine of the process: memory made with another engine than the primitive's cannot be used.
dnnl_engine_t engine();

unique_stream make_stream();

/// Scratch memory is handed in by the caller: the library's own is bound to the thread that created the primitive.
dnnl_primitive_attr_t user_scratchpad();

/// The primitive descriptor that `make(primitive_descs)` returns for a pass, or null where oneDNN has none or (unless
/// it only serves as a hint) only its reference implementation.
template <class Make>
unique_primitive_desc make_primitive_desc(direction way, const unique_primitive_desc& hint, Make&& make,
                                          bool is_hint = false) {
    const single_thread alone;
    require_headroom();
    unique_primitive_desc pd(make(primitive_descs{engine(), user_scratchpad(), way, hint.get()}));
    if (!pd) {
        return {};
    }
    const char* name = nullptr;
    check(dnnl_primitive_desc_query(pd.get(), dnnl_query_impl_info_str, 0, &name), "query impl_info_str");
    if (!is_hint && std::string(name).find("ref") != std::string::npos) {
        return {};
    }
    return pd;
}

tensor_desc query(const unique_primitive_desc& pd, dnnl_query_t what, int index = 0);

std::string implementation_name(const unique_primitive_desc& pd);

tensor_desc memory_desc(const shape& s, dnnl_format_tag_t tag);

/// A primitive with the memory that it works on, made once and executed every step.
struct primitive_job {
    unique_primitive primitive;
    std::vector<unique_memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
    dnnl_stream_t stream = nullptr;
    mutable bool has_run = false;

    void make(const unique_primitive_desc& pd);
    template <class Data>
    void bind(int argument, const tensor_desc& md, Data* data) {
        if (md.get() == nullptr) {
            return; // of scratch memory that is not needed
        }
        dnnl_memory_t m = nullptr;
        check(dnnl_memory_create(&m, md.get(), engine(), data), "dnnl_memory_create");
        memories.emplace_back(m);
        arguments.push_back({argument, m});
    }
    void execute() const;
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/onednn/onednn.inl"
#endif

#include "tessera/base/end_header.inl"
