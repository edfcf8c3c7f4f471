// SPDX-License-Identifier: Apache-2.0
// Bodies of windows.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/windows.hpp"

namespace tessera::onnx::nodes {

TESSERA_INLINE window_words windows_in(const call& c, const view& v, const std::vector<index_t>& window) {
    window_words w;
    w.dimensions = to_size(v.rank()) - 2;
    c.require(v.rank() >= 3 && v.rank() <= 5 && window.size() == w.dimensions,
              "its windows have not the dimensions of its input");
    w.window = window;
    const std::vector<index_t> ones(w.dimensions, 1);
    w.stride = c.integers("strides", ones);
    w.dilation = c.integers("dilations", ones);
    const std::vector<index_t> pads = c.integers("pads", std::vector<index_t>(2 * w.dimensions, 0));
    c.require(w.stride.size() == w.dimensions && w.dilation.size() == w.dimensions && pads.size() == 2 * w.dimensions,
              "its strides, dilations or pads have not the dimensions of its input");
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        const bool fine = w.window[d] >= 1 && w.window[d] < INT32_MAX && w.stride[d] >= 1 && w.stride[d] < INT32_MAX &&
                          w.dilation[d] >= 1 && w.dilation[d] < INT32_MAX && pads[d] >= 0 && pads[d] < INT32_MAX &&
                          pads[w.dimensions + d] >= 0 && pads[w.dimensions + d] < INT32_MAX;
        c.require(fine, "its window, strides, dilations or pads are negative or too large");
    }
    w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(w.dimensions));
    w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(w.dimensions), pads.end());
    const std::string how = c.text("auto_pad", "NOTSET");
    c.require(how == "NOTSET" || how == "VALID" || how == "SAME_UPPER" || how == "SAME_LOWER" || how.empty(),
              "its auto_pad is not known");
    for (std::size_t d = 0; d < w.dimensions && (how == "SAME_UPPER" || how == "SAME_LOWER"); ++d) {
        const index_t in = v.extent(static_cast<int>(d) + 2);
        const index_t out = (in + w.stride[d] - 1) / w.stride[d];
        const index_t all = std::max<index_t>((out - 1) * w.stride[d] + w.reach(d) - in, 0);
        w.before[d] = how == "SAME_UPPER" ? all / 2 : all - all / 2;
        w.after[d] = all - w.before[d];
    }
    if (how == "VALID") {
        w.before.assign(w.dimensions, 0);
        w.after.assign(w.dimensions, 0);
    }
    return w;
}

TESSERA_INLINE view with_width(call& c, view v, window_words& w) {
    if (v.rank() == 3) {
        v.dims.emplace_back();
        for (auto* list : {&w.window, &w.stride, &w.dilation}) {
            list->push_back(1);
        }
        w.before.push_back(0);
        w.after.push_back(0);
        w.dimensions = 2;
    }
    return c.t.w.whole(v, c.name);
}

TESSERA_INLINE view without_width(view v, int rank) {
    v.dims.resize(to_size(rank));
    return v;
}

TESSERA_INLINE view padded_apart(call& c, view v, window_words& w, bool always) {
    bool is_large = false;
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        is_large = is_large || w.before[d] >= w.reach(d);
    }
    if (w.is_even() && !is_large && !always) {
        return v;
    }
    op::pad_attributes own;
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        own.before[d + 2] = w.before[d];
        own.after[d + 2] = w.after[d];
        w.before[d] = w.after[d] = 0;
    }
    return c.t.w.add(c.name + ".pad", attributes_of(op_kind::pad, own), v);
}

TESSERA_INLINE void conv(call& c) {
    const view& v = c.data(0);
    const constant& weight = c.fixed(1);
    c.require(weight.rank() == v.rank() && v.rank() >= 3, "its weight has not the dimensions of its input");
    window_words w = windows_in(c, v, {weight.extents.begin() + 2, weight.extents.end()});
    const index_t out = weight.extents[0];
    const index_t groups = c.integer("group", 1);
    c.require(groups >= 1 && weight.extents[1] <= v.extent(1) && weight.extents[1] * groups == v.extent(1),
              "its weight and its groups do not fit the channels of its input");
    std::vector<parameter_source> sources{as_it_is(c, "weight", weight)};
    if (v.rank() == 3) {
        sources[0].extents.push_back(1);
    }
    parameter_source bias;
    if (c.has(2)) {
        sources.push_back(as_it_is(c, "bias", c.fixed(2)));
    } else if (take_bias(c, v.rank() - 1, out, bias)) {
        sources.push_back(std::move(bias));
    }
    const view read = padded_apart(c, with_width(c, v, w), w);
    const op_attributes a =
        w.dimensions == 3 ? convolution<op::conv3d_attributes>(op_kind::conv3d, w, out, groups, sources.size() > 1)
                          : convolution<op::conv2d_attributes>(op_kind::conv2d, w, out, groups, sources.size() > 1);
    const int rank = v.rank();
    c.give(without_width(layer(c, c.layer_name(weight), a, {read.node}, std::move(sources)), rank));
}

TESSERA_INLINE bool take_from_output(const call& c, const view& v, window_words& w, op::crop_attributes& crop) {
    const std::vector<index_t> more = c.integers("output_padding", std::vector<index_t>(w.dimensions, 0));
    const std::string how = c.text("auto_pad", "NOTSET");
    c.require(more.size() == w.dimensions, "its output_padding has not the dimensions of its input");
    bool cropped = false;
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        c.require(more[d] >= 0 && more[d] < INT32_MAX, "its output_padding is negative or too large");
        if (how == "SAME_UPPER" || how == "SAME_LOWER") {
            const index_t all = w.reach(d) - w.stride[d] + more[d];
            c.require(
                all >= 0,
                "its windows are shorter than its strides, so that its auto_pad asks for more output than they reach");
            w.before[d] = how == "SAME_UPPER" ? all / 2 : all - all / 2;
            w.after[d] = all - w.before[d];
        }
        w.after[d] -= more[d];
        c.require(w.after[d] >= 0,
                  "its output_padding is larger than its padding, so that no window reaches the end of its output");
        const index_t both = std::min(w.before[d], w.after[d]);
        const index_t whole = (v.extent(static_cast<int>(d) + 2) - 1) * w.stride[d] + w.reach(d);
        crop.begin[d + 2] = w.before[d] - both;
        crop.out[d + 2] = whole - w.before[d] - w.after[d];
        c.require(crop.out[d + 2] > 0, "its padding takes all of its output away");
        cropped = cropped || w.before[d] != w.after[d];
        w.before[d] = w.after[d] = both;
    }
    return cropped;
}

TESSERA_INLINE void conv_transpose(call& c) {
    const view& v = c.data(0);
    const constant& weight = c.fixed(1);
    c.require(v.rank() == 4 && weight.rank() == 4, "its input is no image");
    c.require(c.integer("group", 1) == 1, "it has groups");
    window_words w = windows_in(c, v, {weight.extents.begin() + 2, weight.extents.end()});
    c.require(w.dilation == std::vector<index_t>(2, 1) && c.find("output_shape") == nullptr,
              "it has dilations or an output_shape");
    op::crop_attributes crop;
    const bool cropped = take_from_output(c, v, w, crop);
    c.require(weight.extents[0] == v.extent(1), "its weight does not fit the channels of its input");
    const index_t out = weight.extents[1];
    std::vector<parameter_source> sources{as_it_is(c, "weight", weight)};
    parameter_source bias;
    if (c.has(2)) {
        sources.push_back(as_it_is(c, "bias", c.fixed(2)));
    } else if (take_bias(c, 3, out, bias)) {
        sources.push_back(std::move(bias));
    }
    const view read = c.t.w.whole(v, c.name);
    const op_attributes a =
        convolution<op::conv2d_attributes>(op_kind::transposed_conv2d, w, out, 1, sources.size() > 1);
    view made = layer(c, c.layer_name(weight), a, {read.node}, std::move(sources));
    c.give(cropped ? c.t.w.add(c.name + ".crop", attributes_of(op_kind::crop, crop), made) : made);
}

TESSERA_INLINE bool take_ceiling(const call& c, const view& v, window_words& w) {
    if (c.integer("ceil_mode", 0) == 0) {
        return false;
    }
    bool is_longer = false;
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        const index_t in = v.extent(static_cast<int>(d) + 2);
        const index_t room = in + w.before[d] + w.after[d] - w.reach(d);
        index_t out = room < 0 ? 0 : (room + w.stride[d] - 1) / w.stride[d] + 1;
        out -= (out - 1) * w.stride[d] >= in + w.before[d] ? 1 : 0; // no window begins behind the input
        const index_t said = w.after[d];
        w.after[d] = std::max<index_t>((out - 1) * w.stride[d] + w.reach(d) - in - w.before[d], 0);
        is_longer = is_longer || w.after[d] > said;
    }
    return is_longer;
}

TESSERA_INLINE bool with_more_padding(const view& v, window_words& w, op::crop_attributes& crop) {
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        const index_t in = v.extent(static_cast<int>(d) + 2);
        const index_t out = (in + w.before[d] + w.after[d] - w.reach(d)) / w.stride[d] + 1;
        index_t both = w.before[d];
        while (both < w.after[d] &&
               (in + 2 * both - w.reach(d)) / w.stride[d] + 1 - (both - w.before[d]) / w.stride[d] < out) {
            both += w.stride[d];
        }
        if (both >= w.reach(d)) {
            return false;
        }
        crop.begin[d + 2] = (both - w.before[d]) / w.stride[d];
        crop.out[d + 2] = out;
        w.before[d] = w.after[d] = both;
    }
    return true;
}

TESSERA_INLINE void pool(call& c) {
    const bool is_max = c.n.type == "MaxPool";
    c.require(c.n.outputs.size() < 2, "it gives out indices");
    const view& v = c.data(0);
    const int rank = v.rank();
    window_words w = windows_in(c, v, c.integers("kernel_shape"));
    const bool counts = c.integer("count_include_pad", 0) != 0;
    const bool is_longer = take_ceiling(c, v, w);
    c.require(is_max || !counts || !is_longer,
              "its ceil_mode makes windows that end behind the padding, which its mean counts elsewhere");
    const view image = with_width(c, v, w);
    op::crop_attributes crop;
    const window_words said = w;
    view read = image;
    bool cropped = false;
    if (!is_max && counts) {
        read = padded_apart(c, image, w);
    } else if (!w.is_even()) {
        cropped = with_more_padding(image, w, crop);
        if (!cropped) {
            w = said;
            c.require(is_max && c.t.is_never_negative(image.node),
                      !is_longer ? "its padding differs at the two ends of a dimension"
                      : is_max
                          ? "its ceil_mode makes windows that end behind the input by as much as they are long less "
                            "one stride or "
                            "more, and its input may be negative: put a Relu before it, or export it without ceil_mode"
                          : "its ceil_mode makes windows that end behind the input, whose means are of fewer elements");
            read = padded_apart(c, image, w); // zeros are no larger than what is never negative
        }
    }
    op_attributes a;
    if (w.dimensions == 3) {
        op::average_pool3d_attributes own;
        set_windows(own, w);
        own.count_padding = !is_max && counts;
        a = attributes_of(is_max ? op_kind::max_pool3d : op_kind::average_pool3d, own);
    } else {
        op::average_pool_attributes own;
        set_windows(own, w);
        own.count_padding = !is_max && counts;
        a = attributes_of(is_max ? op_kind::max_pool : op_kind::average_pool, own);
    }
    view out = c.t.w.add(c.name, a, read);
    bool is_cut = false;
    for (std::size_t d = 0; d < w.dimensions; ++d) {
        is_cut =
            is_cut || (cropped && (crop.begin[d + 2] != 0 || crop.out[d + 2] != out.base[static_cast<int>(d) + 2]));
    }
    if (is_cut) {
        out = c.t.w.add(c.name + ".crop", attributes_of(op_kind::crop, crop), out);
    }
    c.give(without_width(out, rank));
}

TESSERA_INLINE void global_pool(call& c) {
    const view& v = c.data(0);
    c.require(v.rank() >= 3, "its input is no image");
    std::vector<int> rest;
    for (int d = 2; d < v.rank(); ++d) {
        rest.push_back(d);
    }
    view out{-1, {}, {}};
    if (c.n.type == "GlobalAveragePool" && v.rank() > 3) {
        const view read = c.t.w.whole(v, c.name);
        out = c.t.w.add(c.name, op_kind::global_average_pool, {read.node});
    } else {
        const regrouped g(c, v, {{1}, rest});
        out = c.t.w.add(c.name, network_writer::named(c.n.type == "GlobalMaxPool" ? "max_over_2" : "mean_over_2"),
                        g.read);
    }
    out.dims.resize(to_size(v.rank()));
    c.give(out);
}

} // namespace tessera::onnx::nodes

#include "tessera/base/end_header.inl"
