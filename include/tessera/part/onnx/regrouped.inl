// SPDX-License-Identifier: Apache-2.0
// Bodies of regrouped.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/regrouped.hpp"

namespace tessera::onnx {

TESSERA_INLINE regrouped::regrouped(call& c, const view& v, const std::vector<std::vector<int>>& groups) : from_(v) {
    std::vector<atoms> dims{{{0, 1, v.base[0]}}};
    bool found = false;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        atoms all;
        for (const int d : groups[g]) {
            for (const atom& a : v.dim(d)) {
                if (a == atom{0, 1, v.base[0]}) {
                    found = true;
                } else {
                    all.push_back(a);
                }
            }
        }
        dims.push_back(all);
    }
    for (const atoms& d : v.dims) {
        found = found || d == atoms{{0, 1, v.base[0]}};
    }
    c.require(found, "its samples are mixed with another dimension");
    groups_ = groups;
    view together{v.node, v.base, dims};
    read = c.t.w.whole(together, c.name);
}

TESSERA_INLINE view regrouped::back(const view& result) const {
    view out{result.node, result.base, std::vector<atoms>(from_.dims.size())};
    const atom samples{0, 1, result.base[0]};
    for (int d = 0; d < from_.rank(); ++d) {
        if (from_.dim(d) == atoms{{0, 1, from_.base[0]}}) {
            out.dims[to_size(d)] = {samples};
        }
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const int axis = static_cast<int>(g) + 1;
        index_t extent = 1;
        for (const int d : groups_[g]) {
            extent *= from_.extent(d);
        }
        bool mixed = false;
        for (const int d : groups_[g]) {
            for (const atom& a : from_.dim(d)) {
                mixed = mixed || a == atom{0, 1, from_.base[0]};
            }
        }
        extent /= mixed ? from_.base[0] : 1;
        if (axis < result.base.rank && result.base[axis] != extent) {
            out.dims[to_size(groups_[g][0])] = merged({{axis, 1, result.base[axis]}});
            continue;
        }
        index_t stride = extent;
        for (const int d : groups_[g]) {
            atoms parts;
            for (const atom& a : from_.dim(d)) {
                if (a == atom{0, 1, from_.base[0]}) {
                    parts.push_back(samples);
                    continue;
                }
                stride /= a.size;
                parts.push_back({axis, stride, a.size});
            }
            out.dims[to_size(d)] = merged(parts);
        }
    }
    return out;
}

TESSERA_INLINE regrouped rows_of(call& c, const view& v) {
    std::vector<int> others;
    for (int d = 0; d + 1 < v.rank(); ++d) {
        if (d != v.samples() && v.extent(d) > 1) {
            others.push_back(d);
        }
    }
    const int last = v.rank() - 1;
    c.require(last > 0 && v.samples() != last, "its features are the samples");
    return others.empty() ? regrouped(c, v, {{last}}) : regrouped(c, v, {others, {last}});
}

TESSERA_INLINE std::vector<int> samples_first(const call& c, const view& v) {
    const int at = v.samples();
    c.require(at >= 0, "its samples are mixed with another dimension");
    std::vector<int> order{at};
    for (int d = 0; d < v.rank(); ++d) {
        if (d != at) {
            order.push_back(d);
        }
    }
    return order;
}

TESSERA_INLINE std::vector<int> inverse_of(const std::vector<int>& order) {
    std::vector<int> back(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        back[to_size(order[k])] = static_cast<int>(k);
    }
    return back;
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
