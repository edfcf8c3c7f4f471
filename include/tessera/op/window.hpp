// SPDX-License-Identifier: Apache-2.0
// Windows that walk over the rows and columns of images [N,C,H,W], or the depth, rows and columns of volumes
// [N,C,D,H,W]: what convolutions and pools have in common.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

#include <cstddef>

namespace tessera::op {

/// What every operator with a window over images has, first of its own attributes.
struct window_attributes {
    index_t window[2] = {1, 1};   ///< height, width
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side
    index_t dilation[2] = {1, 1}; ///< height, width
};
/// The same over volumes.
struct window3d_attributes {
    index_t window[3] = {1, 1, 1};   ///< depth, height, width
    index_t stride[3] = {1, 1, 1};   ///< depth, height, width
    index_t padding[3] = {0, 0, 0};  ///< planes, rows and columns of zeros on each side
    index_t dilation[3] = {1, 1, 1}; ///< depth, height, width
};

inline constexpr int max_window_dimensions = 3;

/// A window of either kind, as backends and descriptions read it.
struct windows {
    int dimensions = 2; ///< 2: height, width; 3: depth, height, width
    index_t window[max_window_dimensions] = {1, 1, 1};
    index_t stride[max_window_dimensions] = {1, 1, 1};
    index_t padding[max_window_dimensions] = {};
    index_t dilation[max_window_dimensions] = {1, 1, 1};

    /// The elements of the window.
    constexpr index_t volume() const {
        index_t all = 1;
        for (int d = 0; d < dimensions; ++d) {
            all *= window[d];
        }
        return all;
    }
    constexpr bool is_dilated() const {
        bool any = false;
        for (int d = 0; d < dimensions; ++d) {
            any = any || dilation[d] != 1;
        }
        return any;
    }
};

/// The window of an operator that has one.
template <class Own>
constexpr windows windows_of(const Own& a) {
    constexpr int dimensions = static_cast<int>(sizeof(a.window) / sizeof(index_t));
    windows w;
    w.dimensions = dimensions;
    for (int d = 0; d < dimensions; ++d) {
        w.window[d] = a.window[d];
        w.stride[d] = a.stride[d];
        w.padding[d] = a.padding[d];
        w.dilation[d] = a.dilation[d];
    }
    return w;
}

/// The same of an input of this rank.
constexpr windows windows_of(const op_attributes& a, int rank) {
    return rank == 5 ? windows_of(a.as<window3d_attributes>()) : windows_of(a.as<window_attributes>());
}

/// The loop along dimension `d` of `dimensions`, of the output or of the window.
constexpr loop_name window_dimension(int d, int dimensions) {
    constexpr loop_name names[] = {loop_name::depth, loop_name::height, loop_name::width};
    return names[d + max_window_dimensions - dimensions];
}
constexpr loop_name window_loop(int d, int dimensions) {
    constexpr loop_name names[] = {loop_name::window_depth, loop_name::window_height, loop_name::window_width};
    return names[d + max_window_dimensions - dimensions];
}

/// Extent of a window operator's output along dimension `d` for an input of `extent`; 0 if it does not fit.
constexpr index_t window_output(const windows& a, int d, index_t extent) {
    const index_t reach = (a.window[d] - 1) * a.dilation[d] + 1;
    const index_t padded = extent + 2 * a.padding[d];
    return padded < reach || a.stride[d] < 1 ? 0 : (padded - reach) / a.stride[d] + 1;
}

/// The input index of a window operator: output * stride + window * dilation - padding.
constexpr affine window_index(const windows& a, int d, int output_loop, int window_loop) {
    affine index;
    index.terms.push_back({output_loop, a.stride[d]});
    index.terms.push_back({window_loop, a.dilation[d]});
    index.offset = -a.padding[d];
    return index;
}

/// The loops of a window operator, and the extents of its output.
struct window_loops {
    int output[max_window_dimensions] = {};
    int window[max_window_dimensions] = {};
    index_t extent[max_window_dimensions] = {};

    constexpr void add_output(detail::describer& w, const windows& a, const shape& x) {
        for (int d = 0; d < a.dimensions; ++d) {
            extent[d] = window_output(a, d, x[2 + d]);
            output[d] = w.add_loop(window_dimension(d, a.dimensions), extent[d]);
        }
    }
    constexpr void add_window(detail::describer& w, const windows& a) {
        for (int d = 0; d < a.dimensions; ++d) {
            window[d] = w.add_loop(window_loop(d, a.dimensions), a.window[d], true);
        }
    }
    constexpr void index_input(detail::describer& w, const windows& a, const shape& x, int input) const {
        for (int d = 0; d < a.dimensions; ++d) {
            w.index(input, x[2 + d], window_index(a, d, output[d], window[d]));
        }
    }
    constexpr void index_output(detail::describer& w, const windows& a, int to) const {
        for (int d = 0; d < a.dimensions; ++d) {
            w.index(to, extent[d], output[d]);
        }
    }
};

/// The output of a window that walks over each channel of `x`.
constexpr inferred infer_window(const windows& a, const shape& x) {
    if (x.rank != 2 + a.dimensions) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 2 + a.dimensions);
    }
    inferred r{{}, x};
    for (int d = 0; d < a.dimensions; ++d) {
        const int name = static_cast<int>(window_dimension(d, a.dimensions));
        if (a.window[d] < 1 || a.stride[d] < 1 || a.dilation[d] < 1 || a.padding[d] < 0) {
            return detail::refuse(rule::extent_is_zero, 0, 1, name);
        }
        const index_t reach = (a.window[d] - 1) * a.dilation[d] + 1;
        if (reach > x[2 + d] + 2 * a.padding[d]) {
            return detail::refuse(rule::kernel_larger_than_padded_input, reach, x[2 + d] + 2 * a.padding[d], name);
        }
        if (a.padding[d] >= reach) {
            return detail::refuse(rule::padding_not_smaller_than_kernel, a.padding[d], reach, name);
        }
        r.output.extent[2 + d] = window_output(a, d, x[2 + d]);
    }
    return r;
}

} // namespace tessera::op

#include "tessera/base/end_header.inl"
