// SPDX-License-Identifier: Apache-2.0
// Bodies of images.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/images.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE edges::edges(const shard_text& s, const op::windows& w) {
    pads = "(";
    bool as_many = true;
    for (int k = w.dimensions - 1; k >= 0; --k) {
        const interval out = s.output_region().dim[2 + k];
        const interval in = s.input_region().dim[2 + k];
        const index_t reach = (w.window[k] - 1) * w.dilation[k] + 1;
        const index_t before = in.begin - (out.begin * w.stride[k] - w.padding[k]);
        const index_t after = (out.end - 1) * w.stride[k] - w.padding[k] + reach - in.end;
        pads += (k + 1 < w.dimensions ? ", " : "") + std::to_string(before) + ", " + std::to_string(after);
        any = any || before != 0 || after != 0;
        as_many = as_many && before == after;
        equal = std::to_string(before) + (k + 1 < w.dimensions ? ", " : "") + equal;
    }
    pads += ")";
    equal = any && as_many ? ", padding=(" + equal + ")" : "";
}

TESSERA_INLINE std::string padded(const std::string& x, const edges& e, const char* with) {
    return !e.any            ? x
           : with == nullptr ? "F.pad(" + x + ", " + e.pads + ")"
                             : "F.pad(" + x + ", " + e.pads + ", value=" + with + ")";
}

TESSERA_INLINE std::string numbers(const index_t* of, int count) {
    return tuple_of(count, [&](int i) { return std::to_string(of[i]); });
}

TESSERA_INLINE std::string transposed_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::conv2d_attributes>();
    std::string kept;
    for (int k = 0; k < 2; ++k) {
        const index_t first = s.input_region().dim[2 + k].begin * a.stride[k] - a.padding[k];
        const interval own = s.output_region().dim[2 + k];
        kept += ", " + std::to_string(own.begin - first) + ":" + std::to_string(own.end - first);
    }
    const std::string bias = s.parameter(1);
    return assign(s, "F.conv_transpose2d(" + s.input() + ", " + s.parameter(0) + ", stride=" + numbers(a.stride, 2) +
                         ")[:, :" + kept + "]" + (bias == "None" ? "" : " + " + bias + ".view(-1, 1, 1)"));
}

TESSERA_INLINE std::string max_pool_line(const shard_text& s, std::string&) {
    const op::windows w = op::windows_of(s.attributes(), s.input_extents().rank);
    const std::string size = std::to_string(w.dimensions);
    return assign(s, "F.max_pool" + size + "d(" + padded(s.input(), edges(s, w), "float(\"-inf\")") + ", " +
                         numbers(w.window, w.dimensions) + ", stride=" + numbers(w.stride, w.dimensions) +
                         (w.is_dilated() ? ", dilation=" + numbers(w.dilation, w.dimensions) : "") + ")");
}

TESSERA_INLINE std::string average_pool_line(const shard_text& s, std::string& why) {
    const int rank = s.input_extents().rank;
    const op::windows w = op::windows_of(s.attributes(), rank);
    if (w.is_dilated()) {
        why = "PyTorch's average pools have no dilation";
        return "";
    }
    const std::string size = std::to_string(w.dimensions);
    const std::string rest = ", " + numbers(w.window, w.dimensions) + ", stride=" + numbers(w.stride, w.dimensions);
    const edges e(s, w);
    if (!e.any || op::counts_padding(s.attributes(), rank)) {
        return assign(s, "F.avg_pool" + size + "d(" + padded(s.input(), e) + rest + ")");
    }
    return assign(s, "rt.average_pool(" + s.input() + ", " + e.pads + rest + ")");
}

TESSERA_INLINE std::string global_average_pool_line(const shard_text& s, std::string&) {
    const shape& x = s.input_extents();
    const index_t plane = x.volume() / (x[0] * x[1]);
    return assign(s, s.input() + ".sum(" + (x.rank == 5 ? "(2, 3, 4)" : "(2, 3)") + ") / " + std::to_string(plane));
}

TESSERA_INLINE std::string upsample_nearest_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::upsample_attributes>();
    return assign(s, s.input() + ".repeat_interleave(" + std::to_string(a.factor[0]) + ", 2).repeat_interleave(" +
                         std::to_string(a.factor[1]) + ", 3)");
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
