// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/layers.hpp"

namespace tessera::onnx {

namespace nodes {

/// What Conv, ConvTranspose and the pools say of their windows.
struct window_words {
    std::size_t dimensions = 2;
    std::vector<index_t> window, stride, dilation, before, after;

    index_t reach(std::size_t d) const { return (window[d] - 1) * dilation[d] + 1; }
    bool is_even() const { return before == after; }
};

window_words windows_in(const call& c, const view& v, const std::vector<index_t>& window);

/// The input as an image or a volume: sequences [N,C,L] are images [N,C,L,1].
view with_width(call& c, view v, window_words& w);
view without_width(view v, int rank);

template <class Own>
void set_windows(Own& own, const window_words& w) {
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        own.window[d] = w.window[d];
        own.stride[d] = w.stride[d];
        own.padding[d] = w.before[d];
        own.dilation[d] = w.dilation[d];
    }
}

/// Zeros around the pixels, where the padding differs at the two ends of a dimension, or is as large as the window; the
/// padding is then none.
view padded_apart(call& c, view v, window_words& w, bool always = false);

template <class Own>
op_attributes convolution(op_kind kind, const window_words& w, index_t out, index_t groups, bool bias) {
    Own own;
    set_windows(own, w);
    own.out = out;
    own.groups = groups;
    own.bias = bias;
    return attributes_of(kind, own);
}

void conv(call& c);

/// What a transposed convolution takes away of its output at the two ends of each dimension, as padding where it is the
/// same, and a crop of the rest: true where there is one. Its auto_pad makes the output as long as the input times the
/// stride (the operator's page in ONNX), what is odd at the end or, for SAME_LOWER, at the beginning; output_padding
/// takes less away at the end.
bool take_from_output(const call& c, const view& v, window_words& w, op::crop_attributes& crop);

void conv_transpose(call& c);

/// What a window sees of an input that a ceiling makes longer at its end. True where one ends behind the padding.
bool take_ceiling(const call& c, const view& v, window_words& w);

/// Padding that differs at its two ends as more padding at both, and a crop of what comes of it: the crop's first
/// index, and the extents that it keeps.
bool with_more_padding(const view& v, window_words& w, op::crop_attributes& crop);

void pool(call& c);

void global_pool(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/windows.inl"
#endif

#include "tessera/base/end_header.inl"
