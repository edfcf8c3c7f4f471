// SPDX-License-Identifier: Apache-2.0
// Bodies of version.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/version.hpp"

namespace tessera::host {

TESSERA_INLINE void check(dnnl_status_t status, const char* call) {
    if (status != dnnl_success) {
        throw error("tessera: oneDNN's " + std::string(call) + " failed with status " +
                    std::to_string(static_cast<int>(status)) +
                    (status == dnnl_unimplemented ? " (no implementation for these shapes)" : ""));
    }
}

TESSERA_INLINE bool operator==(const tensor_desc& a, const tensor_desc& b) {
    return dnnl_memory_desc_equal(a.get(), b.get()) != 0;
}

TESSERA_INLINE index_t bytes_of(const tensor_desc& d) {
    return d.rank() > 0 ? static_cast<index_t>(dnnl_memory_desc_get_size(d.get())) : 0;
}

TESSERA_INLINE tensor_desc plain_like(const tensor_desc& d) {
    dnnl_dims_t dims = {1};
    for (int k = 0; k < d.rank(); ++k) {
        dims[k] = d.extent(k);
    }
    return tensor_desc(d.rank() > 0 ? d.rank() : 1, dims, plain_tag(d.rank()));
}

TESSERA_INLINE dnnl_prop_kind_t primitive_descs::kind() const {
    return way == direction::inference ? dnnl_forward_inference : dnnl_forward_training;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
