// SPDX-License-Identifier: Apache-2.0
// Bodies of resize.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/resize.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE void resize(call& c) {
    const view& v = c.data(0);
    c.require(v.rank() == 4, "its input is no image");
    const std::string mode = c.text("mode", "nearest");
    const std::string place = c.text("coordinate_transformation_mode", "half_pixel");
    const std::string nearest = c.text("nearest_mode", "round_prefer_floor");
    const bool half = place == "half_pixel" || place == "pytorch_half_pixel";
    const bool known = mode == "nearest"
                           ? (place == "asymmetric" && nearest == "floor") || (half && nearest == "round_prefer_floor")
                           : mode == "linear" && half;
    c.require(known && c.find("axes") == nullptr, "of its modes nearest (asymmetric with floor, or half_pixel) and "
                                                  "linear (half_pixel) are read, of all dimensions");
    op::upsample_attributes own;
    const bool sizes = c.has(3);
    for (int d = 0; d < 4; ++d) {
        double factor = 1;
        if (sizes) {
            std::vector<index_t> all = c.list(3);
            c.require(all.size() == 4, "its sizes are not 4");
            factor = d == 0 ? 1 : static_cast<double>(all[to_size(d)]) / static_cast<double>(v.extent(d));
        } else {
            c.require(c.fixed(2).size() == 4, "its scales are not 4");
            factor = c.fixed(2).at(to_size(d));
        }
        c.require(factor == std::floor(factor) && factor >= 1 && factor < 1e6 && (d > 1 || factor == 1),
                  "its factors are not whole, or not of height and width alone");
        if (d > 1) {
            own.factor[d - 2] = static_cast<index_t>(factor);
        }
    }
    c.give(c.t.w.add(c.name,
                     attributes_of(mode == "nearest" ? op_kind::upsample_nearest : op_kind::upsample_bilinear, own),
                     c.t.w.whole(v, c.name)));
}

TESSERA_INLINE void depth_and_space(call& c) {
    const view& v = c.data(0);
    const index_t b = c.integer("blocksize", 0);
    c.require(v.rank() == 4 && b >= 1 && b < 65536, "its input is no image, or its blocksize is less than 1");
    const std::vector<index_t> e = v.extents();
    const bool to_space = c.n.type == "DepthToSpace";
    c.require(to_space ? e[1] % (b * b) == 0 : e[2] % b == 0 && e[3] % b == 0,
              "its blocksize does not divide its input");
    view x = v;
    bool fine = true;
    std::vector<int> order;
    std::vector<index_t> out;
    if (to_space && c.text("mode", "DCR") == "DCR") {
        fine = reshape_view(x, {e[0], b, b, e[1] / (b * b), e[2], e[3]});
        order = {0, 3, 4, 1, 5, 2};
    } else if (to_space) {
        fine = reshape_view(x, {e[0], e[1] / (b * b), b, b, e[2], e[3]});
        order = {0, 1, 4, 2, 5, 3};
    } else {
        fine = reshape_view(x, {e[0], e[1], e[2] / b, b, e[3] / b, b});
        order = {0, 3, 5, 1, 2, 4};
    }
    out = to_space ? std::vector<index_t>{e[0], e[1] / (b * b), e[2] * b, e[3] * b}
                   : std::vector<index_t>{e[0], e[1] * b * b, e[2] / b, e[3] / b};
    x = fine ? x.permuted(order) : x;
    c.require(fine && reshape_view(x, out), "it mixes dimensions that do not divide each other");
    c.give(x);
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
