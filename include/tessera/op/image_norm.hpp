// SPDX-License-Identifier: Apache-2.0
// Normalizations of images x[N,C,H,W] besides batch and group norm: instance norm (Ulyanov, Vedaldi and Lempitsky
// 2016), over the pixels of a channel; layer norm over all of a sample (Ba, Kiros and Hinton 2016); and over the
// channels of a pixel (as in ConvNeXt: Liu et al. 2022).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct image_norm_attributes {
    double epsilon = 1e-5; ///< added to the variance
    static constexpr attribute_field fields[] = {number_field("epsilon")};
};

struct image_norm_words : expression::functions, nests::names {
    using options = image_norm_attributes;

    /// (x - mean) / sqrt(variance + epsilon), of the points of some loops.
    static constexpr auto normal(auto& w, const nests::loop_list& over, expression::value x, const options& a) {
        const auto epsilon = w.number(a.epsilon);
        const auto centered = x - w.mean(over, x);
        return centered * rsqrt(w.mean(over, square(centered)) + epsilon);
    }
};

struct instance_norm_body : image_norm_words {
    static constexpr const char* name = "instance_norm";
    static constexpr int ranks[] = {4, 5};
    static constexpr void body(auto& w, const options& a) {
        const auto all = w.dimensions();
        nests::loop_list pixels;
        for (int d = 2; d < all.size(); ++d) {
            pixels.all.push_back(all[d]);
        }
        const auto x = w.input(all);
        const auto gamma = w.parameter(ones, all[1]);
        const auto beta = w.parameter(zeros, all[1]);
        w.output(all) = normal(w, pixels, x, a) * gamma + beta;
    }
};
struct image_layer_norm_body : image_norm_words {
    static constexpr const char* name = "image_layer_norm";
    static constexpr void body(auto& w, const options& a) {
        const auto [n, c, h, v] = w.loops(sample, channel, height, width);
        const auto x = w.input(n, c, h, v);
        const auto gamma = w.parameter(ones, c, h, v);
        const auto beta = w.parameter(zeros, c, h, v);
        w.output(n, c, h, v) = normal(w, {c, h, v}, x, a) * gamma + beta;
    }
};
struct pixel_norm_body : image_norm_words {
    static constexpr const char* name = "pixel_norm";
    static constexpr void body(auto& w, const options& a) {
        const auto [n, c, h, v] = w.loops(sample, channel, height, width);
        const auto x = w.input(n, c, h, v);
        const auto gamma = w.parameter(ones, c);
        const auto beta = w.parameter(zeros, c);
        w.output(n, c, h, v) = normal(w, c, x, a) * gamma + beta;
    }
};

} // namespace tessera::op

namespace tessera {

/// instance_norm<>: each channel of a sample by itself, of images and of volumes, gamma[C], beta[C].
template <class... Options>
struct instance_norm : detail::generated_layer<op::instance_norm_body, Options...> {};
/// image_layer_norm<>: each sample by itself, gamma[C,H,W], beta[C,H,W].
template <class... Options>
struct image_layer_norm : detail::generated_layer<op::image_layer_norm_body, Options...> {};
/// pixel_norm<>: the channels of each pixel, gamma[C], beta[C].
template <class... Options>
struct pixel_norm : detail::generated_layer<op::pixel_norm_body, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
