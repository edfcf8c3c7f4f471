// SPDX-License-Identifier: Apache-2.0
// Memory formats of tiles on the host.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/onednn.hpp"
#include "tessera/base/mutex.hpp"
#include "tessera/plan/plan.hpp"

#include <string>

namespace tessera::host {

/// Number of a memory format. From `opaque` on, formats are oneDNN's own for weights, numbered as they are met.
namespace format {

inline constexpr int plain = 0;         ///< last dimension fastest
inline constexpr int channels_last = 1; ///< [N][H][W][C], of volumes [N][D][H][W][C]
inline constexpr int samples16 = 2;     ///< [N/16][rest][16]: samples innermost, the last block filled up
/// [N][C/16][H][W][16], of volumes [N][C/16][D][H][W][16]: oneDNN's nChw16c and nCdhw16c, the last block filled up with zeros.
inline constexpr int channels16 = 3;
inline constexpr int opaque = 16;

} // namespace format

/// Formats and their sizes; the opaque ones are kept here.
class format_table {
public:
    /// The number of a oneDNN memory format, an equal one getting an equal number. Plain ones are recognized.
    int number(const tensor_desc& md) {
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

    tensor_desc desc(int f, const shape& s) const {
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
        return known_.at(static_cast<std::size_t>(f - format::opaque));
    }

    index_t bytes(int f, const shape& s, element type) const {
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

    /// A name that is the same in every process: of an opaque format, a hash of how it lays out memory.
    std::string name(int f) const {
        constexpr const char* names[] = {"plain", "nhwc", "n16", "c16"};
        if (f < format::opaque) {
            return f < 0 ? "-" : names[f];
        }
        return "w" + std::to_string(desc(f, {}).hash());
    }

private:
    static tensor_desc plain_desc(const shape& s) {
        return memory_desc(s.rank == 0 ? make_shape(1) : s, plain_tag(s.rank));
    }

    mutable mutex mutex_;
    std::vector<tensor_desc> known_;
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
