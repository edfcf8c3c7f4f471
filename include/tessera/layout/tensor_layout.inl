// SPDX-License-Identifier: Apache-2.0
// Bodies of tensor_layout.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/tensor_layout.hpp"

#include "tessera/base/shape_text.hpp"

namespace tessera {

TESSERA_INLINE std::string to_text(const tensor_layout& l) {
    std::string text = detail::text_of(l.extents);
    text += std::string(text.empty() ? "scalar " : " ") + to_text(l.type);
    for (int d = 0; d < l.extents.rank; ++d) {
        bool even = true;
        for (int i = 0; i < l.shards[d]; ++i) {
            even = even && l.range(d, i) == even_part(l.extents[d], l.shards[d], i);
        }
        if (l.shards[d] == 1 && even) {
            continue;
        }
        text += ", dimension " + std::to_string(d) + (even ? " in " + std::to_string(l.shards[d]) : " in");
        for (int i = 0; i < l.shards[d] && !even; ++i) {
            text += " " + std::to_string(l.range(d, i).begin) + ":" + std::to_string(l.range(d, i).end);
        }
    }
    text += l.partial > 1 ? ", " + std::to_string(l.partial) + " summands" : "";
    text += l.adds ? ", overlaps added up" : "";
    text += l.replicate > 1 ? ", " + std::to_string(l.replicate) + " copies" : "";
    text += l.devices.size() == 1 ? ", on device" : ", on devices";
    for (const int d : l.devices) {
        text += " " + std::to_string(d);
    }
    return text;
}

TESSERA_INLINE std::string to_text(const redistributed& r) {
    if (r.bytes == 0) {
        return "nothing moves";
    }
    std::string text = std::string(to_text(r.kind)) + ", " + std::to_string(r.bytes) + " bytes";
    const char* before = ": ";
    for (std::size_t d = 0; d < r.received.size(); ++d) {
        if (r.received[d] != 0 || r.sent[d] != 0) {
            text += before + ("device " + std::to_string(d)) + " receives " + std::to_string(r.received[d]) +
                    " and sends " + std::to_string(r.sent[d]);
            before = ", ";
        }
    }
    return text;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
