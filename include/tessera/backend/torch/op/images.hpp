// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools. A shard's input is the region that its windows touch, without the padding, which is added
// where the region meets the edge of the whole tensor: so the local operators have none of their own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/conv2d.hpp"
#include "tessera/op/conv3d.hpp"
#include "tessera/op/pool.hpp"
#include "tessera/op/transposed_conv2d.hpp"
#include "tessera/op/upsample.hpp"

namespace tessera::torch {

namespace detail {

/// Rows that the windows of a shard touch before and behind the region that it holds, last dimension first, as
/// torch.nn.functional.pad has them.
struct edges {
    std::string pads;
    std::string equal; ///< where as many before as behind, dimension by dimension
    bool any = false;

    edges(const shard_text& s, const op::windows& w);
};

std::string padded(const std::string& x, const edges& e, const char* with = nullptr);

std::string numbers(const index_t* of, int count);

template <class Own>
std::string convolution_line(const shard_text& s, std::string&) {
    const auto a = s.as<Own>();
    const op::windows w = op::windows_of(a);
    const index_t groups = a.groups > 1 ? s.range(loop_name::channel).size() : 1;
    const index_t in_group = s.input_extents()[1] / a.groups;
    const index_t own = s.range(loop_name::reduction).size();
    // Of some of each group's channels the region holds those between as well.
    const std::string x = groups > 1 && own < in_group
                              ? "rt.in_groups(" + s.input() + ", " + std::to_string(groups) + ", " +
                                    std::to_string(in_group) + ", " + std::to_string(own) + ")"
                              : s.input();
    const edges e(s, w);
    const std::string seen = e.equal.empty() ? padded(x, e) : x;
    return assign(s, "F.conv" + std::to_string(w.dimensions) + "d(" + seen + ", " + s.parameter(0) + ", " +
                         s.parameter(1) + ", stride=" + numbers(w.stride, w.dimensions) + e.equal +
                         (w.is_dilated() ? ", dilation=" + numbers(w.dilation, w.dimensions) : "") +
                         (groups > 1 ? ", groups=" + std::to_string(groups) : "") + ")");
}

/// All that the rows of the local input add to, of which the shard keeps its own.
std::string transposed_line(const shard_text& s, std::string&);

std::string max_pool_line(const shard_text& s, std::string&);

std::string average_pool_line(const shard_text& s, std::string& why);

/// The mean of a plane, or of a part of one: parts add up.
std::string global_average_pool_line(const shard_text& s, std::string&);

std::string upsample_nearest_line(const shard_text& s, std::string&);

} // namespace detail

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/images.inl"
#endif

#include "tessera/base/end_header.inl"
