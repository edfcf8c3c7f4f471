// SPDX-License-Identifier: Apache-2.0
// Bodies of onednn.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/onednn.hpp"

namespace tessera::host {

TESSERA_INLINE dnnl_engine_t engine() {
    static const dnnl_engine_t e = [] {
        dnnl_engine_t made = nullptr;
        check(dnnl_engine_create(&made, dnnl_cpu, 0), "dnnl_engine_create");
        return made;
    }();
    return e;
}

TESSERA_INLINE unique_stream make_stream() {
    dnnl_stream_t s = nullptr;
    check(dnnl_stream_create(&s, engine(), dnnl_stream_default_flags), "dnnl_stream_create");
    return unique_stream(s);
}

TESSERA_INLINE dnnl_primitive_attr_t user_scratchpad() {
    static const dnnl_primitive_attr_t a = [] {
        dnnl_primitive_attr_t made = nullptr;
        check(dnnl_primitive_attr_create(&made), "dnnl_primitive_attr_create");
        check(dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user), "set_scratchpad_mode");
        return made;
    }();
    return a;
}

TESSERA_INLINE tensor_desc query(const unique_primitive_desc& pd, dnnl_query_t what, int index) {
    return tensor_desc(dnnl_primitive_desc_query_md(pd.get(), what, index));
}

TESSERA_INLINE std::string implementation_name(const unique_primitive_desc& pd) {
    const char* name = nullptr;
    check(dnnl_primitive_desc_query(pd.get(), dnnl_query_impl_info_str, 0, &name), "query impl_info_str");
    return name;
}

TESSERA_INLINE tensor_desc memory_desc(const shape& s, dnnl_format_tag_t tag) {
    dnnl_dims_t dims{};
    for (int d = 0; d < s.rank; ++d) {
        dims[d] = s[d];
    }
    return tensor_desc(s.rank, dims, tag);
}

TESSERA_INLINE void primitive_job::make(const unique_primitive_desc& pd) {
    const single_thread alone;
    dnnl_primitive_t p = nullptr;
    require_headroom();
    check(dnnl_primitive_create(&p, pd.get()), "dnnl_primitive_create");
    primitive.reset(p);
}

TESSERA_INLINE void primitive_job::execute() const {
    if (!has_run) {
        require_headroom(); // some is made at the first run
        has_run = true;
    }
    const single_thread alone;
    check(dnnl_primitive_execute(primitive.get(), stream, static_cast<int>(arguments.size()), arguments.data()),
          "dnnl_primitive_execute");
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
