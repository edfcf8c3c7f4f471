// SPDX-License-Identifier: Apache-2.0
// Zeros around a tensor, and a part of it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct pad_attributes {
    index_t before[max_rank] = {}; ///< zeros before each dimension
    index_t after[max_rank] = {};  ///< and behind it
    static constexpr attribute_field fields[] = {{"before", max_rank}, {"after", max_rank}};
};
struct crop_attributes {
    index_t begin[max_rank] = {}; ///< first index kept of each dimension
    index_t out[max_rank] = {};   ///< how many are kept; 0: all
    static constexpr attribute_field fields[] = {{"begin", max_rank}, {"out", max_rank}};
};

/// y[i] = x[i - before], and 0 where that is outside.
constexpr description describe_pad(const pad_attributes& a, const shape& x) {
    shape y = x;
    for (int d = 0; d < x.rank; ++d) {
        y.extent[d] += a.before[d] + a.after[d];
    }
    return describe_move(x, y, [&](int d) { return detail::describer::at(d, 1, -a.before[d]); });
}

constexpr inferred infer_pad(const pad_attributes& a, const shape& x) {
    const int before = last_said(a.before);
    const int after = last_said(a.after);
    inferred r = infer_moved(x, before > after ? before : after);
    for (int d = 0; d < x.rank && !r.refused; ++d) {
        const index_t least = a.before[d] < a.after[d] ? a.before[d] : a.after[d];
        if (least < 0) {
            return detail::refuse(rule::padding_is_negative, least, 0, name_of_dimension(d, x.rank));
        }
        const index_t largest = a.before[d] > a.after[d] ? a.before[d] : a.after[d];
        if (largest > INT32_MAX) {
            return detail::refuse(rule::extent_too_large, largest, INT32_MAX, name_of_dimension(d, x.rank));
        }
        r.output.extent[d] += a.before[d] + a.after[d];
    }
    return r;
}

/// y[i] = x[begin + i].
constexpr description describe_crop(const crop_attributes& a, const shape& x) {
    shape y = x;
    for (int d = 0; d < x.rank; ++d) {
        y.extent[d] = a.out[d] > 0 ? a.out[d] : x[d];
    }
    return describe_move(x, y, [&](int d) { return detail::describer::at(d, 1, a.begin[d]); });
}

constexpr inferred infer_crop(const crop_attributes& a, const shape& x) {
    const int begin = last_said(a.begin);
    const int out = last_said(a.out);
    inferred r = infer_moved(x, begin > out ? begin : out);
    for (int d = 0; d < x.rank && !r.refused; ++d) {
        const index_t count = a.out[d] == 0 && a.begin[d] == 0 ? x[d] : a.out[d];
        if (count < 1) {
            return detail::refuse(rule::extent_is_zero, count, 1, name_of_dimension(d, x.rank));
        }
        if (a.begin[d] < 0 || a.begin[d] > x[d] || count > x[d] - a.begin[d]) {
            const bool together = a.begin[d] >= 0 && a.begin[d] <= x[d] && count <= INT32_MAX;
            return detail::refuse(rule::slice_outside_input,
                                  together            ? a.begin[d] + count
                                  : count > INT32_MAX ? count
                                                      : a.begin[d],
                                  x[d], name_of_dimension(d, x.rank));
        }
        r.output.extent[d] = count;
    }
    return r;
}

inline constexpr op_record pad_record{
    .name = "pad",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_pad(a.as<pad_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_pad(a.as<pad_attributes>(), *x); },
    .own = list_of<pad_attributes>(),
};
inline constexpr op_record crop_record{
    .name = "crop",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_crop(a.as<crop_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_crop(a.as<crop_attributes>(), *x); },
    .without_place =
        [](op_attributes a) {
            auto own = a.as<crop_attributes>();
            for (index_t& first : own.begin) {
                first = 0;
            }
            a.set(own);
            return a;
        },
    .own = list_of<crop_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::pad{&op::pad_record};
inline constexpr op_kind op_kind::crop{&op::crop_record};

/// pad<margin<2, 1>, margin<3, 0, 2>>: zeros around some dimensions.
template <class... Margins>
struct pad : detail::layer_with<op_kind::pad, op::pad_attributes, Margins...> {};
/// crop<keep<2, 4, 24>, keep<3, 4, 24>>: a part of some dimensions; others stay whole.
template <class... Kept>
struct crop : detail::layer_with<op_kind::crop, op::crop_attributes, Kept...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
