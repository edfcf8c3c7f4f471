// SPDX-License-Identifier: Apache-2.0
// Random convolutions, of images and of volumes, by number.
#pragma once

#include "tessera/op/library.hpp"
#include "tessera/op/mask.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace test_support {

namespace window_sweep {

namespace ts = tessera;

/// A convolution, perhaps of a shard that begins and ends inside its images.
struct convolution {
    int dimensions = 2;
    ts::shape x;
    ts::op::conv3d_attributes a; ///< of images the first two numbers of each
    bool is_part = false;
    ts::index_t first_row = 0, end_row = 0; ///< of the outermost dimension of the output, where it is a part

    ts::op_attributes attributes() const {
        if (dimensions == 3) {
            return ts::attributes_of(ts::op_kind::conv3d, a);
        }
        ts::op::conv2d_attributes b;
        for (int k = 0; k < 2; ++k) {
            b.window[k] = a.window[k];
            b.stride[k] = a.stride[k];
            b.padding[k] = a.padding[k];
            b.dilation[k] = a.dilation[k];
        }
        b.out = a.out;
        b.groups = a.groups;
        b.bias = a.bias;
        return ts::attributes_of(ts::op_kind::conv2d, b);
    }
    std::string text() const {
        std::string s = dimensions == 3 ? "conv3d x" : "conv2d x";
        for (int k = 0; k < x.rank; ++k) {
            s += (k > 0 ? "x" : " ") + std::to_string(x[k]);
        }
        const std::pair<const char*, const ts::index_t*> all[] = {
            {" window ", a.window}, {" stride ", a.stride}, {" padding ", a.padding}, {" dilation ", a.dilation}};
        for (const auto& [name, numbers] : all) {
            s += name;
            for (int k = 0; k < dimensions; ++k) {
                s += (k > 0 ? "," : "") + std::to_string(numbers[k]);
            }
        }
        s += " out " + std::to_string(a.out) + " groups " + std::to_string(a.groups) + (a.bias ? " bias" : "");
        return is_part ? s + " rows " + std::to_string(first_row) + "-" + std::to_string(end_row) : s;
    }
};

class draws {
public:
    explicit draws(std::uint64_t seed) : state_(ts::op::mix(seed + 1)) {}
    ts::index_t below(ts::index_t n) {
        state_ = ts::op::mix(state_ + 0x9e3779b97f4a7c15ULL);
        return static_cast<ts::index_t>((state_ >> 16U) % static_cast<std::uint64_t>(n));
    }
    /// From 1 to `most`, small ones as often as large ones.
    ts::index_t size(ts::index_t most) {
        ts::index_t top = 1;
        while (top < most && below(4) != 0) {
            top *= 2;
        }
        top = std::min(top, most);
        return 1 + below(top);
    }

private:
    std::uint64_t state_;
};

/// Convolution `number` of the sweep: windows to 300, strides to 5, paddings up to the window, dilations to 4, groups,
/// batches of 1 to 64. `most` multiply-adds at most, and 2^24 elements in a tensor.
inline convolution draw(std::uint64_t number, double most) {
    for (std::uint64_t again = 0;; ++again) {
        draws r(number * 1000 + again);
        convolution c;
        c.dimensions = r.below(5) < 2 ? 3 : 2;
        const bool wide = r.below(3) == 0; // a window that is large
        const bool dilated = r.below(4) == 0;
        const bool strided = r.below(2) == 0;
        const bool padded = r.below(2) == 0;
        c.x.rank = 2 + c.dimensions;
        c.x.extent[0] = r.below(3) == 0 ? 1 + r.below(64) : r.size(16);
        for (int k = 0; k < c.dimensions; ++k) {
            c.a.window[k] = wide ? 1 + r.below(c.dimensions == 3 ? 60 : 300) : r.size(16);
            c.a.stride[k] = strided ? 1 + r.below(5) : 1;
            c.a.dilation[k] = dilated ? 1 + r.below(4) : 1;
            const ts::index_t reach = (c.a.window[k] - 1) * c.a.dilation[k] + 1;
            c.a.padding[k] = padded ? r.below(std::min<ts::index_t>(reach, 160)) : 0;
            const ts::index_t rest = std::max<ts::index_t>(reach - 2 * c.a.padding[k], 1);
            c.x.extent[2 + k] = rest + r.below(r.below(2) == 0 ? 4 : 40);
        }
        const ts::index_t kinds = r.below(4);
        c.a.groups = kinds == 0 ? 1 + r.below(4) : kinds == 1 && r.below(2) == 0 ? 16 * (1 + r.below(2)) : 1;
        c.x.extent[1] = c.a.groups * (c.a.groups >= 16 && r.below(2) == 0 ? 1 : r.size(48));
        c.a.out = c.a.groups * (c.a.groups >= 16 && r.below(2) == 0 ? 1 : r.size(48));
        c.a.bias = r.below(2) == 0;
        const ts::op::windows w = c.dimensions == 3 ? ts::op::windows_of(c.a) : ts::op::windows_of(c.attributes(), 4);
        const ts::inferred y = ts::op::infer_convolution(w, {c.a.out, c.a.groups, c.a.bias}, c.x);
        if (y.refused) {
            continue;
        }
        double products = static_cast<double>(y.output.volume()) * static_cast<double>(c.x[1] / c.a.groups);
        double weights = static_cast<double>(c.a.out) * static_cast<double>(c.x[1] / c.a.groups);
        for (int k = 0; k < c.dimensions; ++k) {
            products *= static_cast<double>(c.a.window[k]);
            weights *= static_cast<double>(c.a.window[k]);
        }
        constexpr double largest = 1 << 22;
        if (products > most || weights > largest || static_cast<double>(c.x.volume()) > largest ||
            static_cast<double>(y.output.volume()) > largest) {
            continue;
        }
        if (y.output[2] > 2 && r.below(3) == 0) {
            c.is_part = true;
            c.first_row = r.below(y.output[2] / 2);
            c.end_row = c.first_row + 1 + r.below(y.output[2] - c.first_row);
        }
        return c;
    }
}

} // namespace window_sweep

} // namespace test_support
