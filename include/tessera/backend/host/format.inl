// SPDX-License-Identifier: Apache-2.0
// Bodies of format.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/format.hpp"

namespace tessera::host {

TESSERA_INLINE int format_table::number(const tensor_desc& md) {
    const locked lock(mutex_);
    if (md == plain_like(md)) {
        return format::plain;
    }
    for (std::size_t i = 0; i < known_.size(); ++i) {
        if (known_[i] == md) {
            return format::opaque + static_cast<int>(i);
        }
    }
    known_.push_back(md);
    return format::opaque + static_cast<int>(known_.size()) - 1;
}

TESSERA_INLINE tensor_desc format_table::desc(int f, const shape& s) const {
    switch (f) {
    case format::plain:
        return plain_desc(s);
    case format::channels_last:
        return memory_desc(s, s.rank == 5 ? dnnl_ndhwc : dnnl_nhwc);
    case format::channels16:
        return memory_desc(s, s.rank == 5 ? dnnl_nCdhw16c : dnnl_nChw16c);
    case format::samples16:
        return memory_desc(make_shape((s[0] + 15) / 16, s.volume() / s[0], 16), dnnl_abc);
    default:
        break;
    }
    const locked lock(mutex_);
    return known_.at(to_size(f - format::opaque));
}

TESSERA_INLINE index_t format_table::bytes(int f, const shape& s, element type) const {
    switch (f) {
    case format::plain:
    case format::channels_last:
        return s.volume() * bytes_of(type);
    case format::samples16:
        return (s[0] + 15) / 16 * 16 * (s.volume() / s[0]) * bytes_of(type);
    case format::channels16:
        return s.volume() / s[1] * ((s[1] + 15) / 16 * 16) * bytes_of(type);
    default:
        break;
    }
    return host::bytes_of(desc(f, s));
}

TESSERA_INLINE std::string format_table::name(int f) const {
    constexpr const char* names[] = {"plain", "nhwc", "n16", "c16"};
    if (f < format::opaque) {
        return f < 0 ? "-" : names[f];
    }
    return "w" + std::to_string(desc(f, {}).hash());
}

TESSERA_INLINE tensor_desc format_table::plain_desc(const shape& s) {
    return memory_desc(s.rank == 0 ? make_shape(1) : s, plain_tag(s.rank));
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
