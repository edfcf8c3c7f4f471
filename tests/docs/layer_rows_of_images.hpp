// SPDX-License-Identifier: Apache-2.0
// Rows of docs/layers.md: convolutions, pools, normalizations and what changes the size of images.
#pragma once

#include "docs/layer_rows.hpp"
#include "tessera/part/one_dimension.hpp"

namespace docs_support {

inline std::vector<layer_row> convolutions() {
    using ts::make_shape;
    return {
        LAYER("conv2d<Out, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias>",
              "convolution of images to Out channels; the window is 1 unless said otherwise",
              "[N,C,H,W] -> [N,Out,H',W'], H' = (H + 2 padding - dilation (window - 1) - 1) / stride + 1, rounded down",
              ({make_shape(8, 3, 32, 32)}), ts::conv2d<64, ts::window<3>, ts::stride<2>, ts::padding<1>>),
        LAYER("conv3d<Out, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias>", "the same of volumes",
              "[N,C,D,H,W] -> [N,Out,D',H',W']", ({make_shape(8, 1, 16, 32, 32)}),
              ts::conv3d<16, ts::window<1, 3, 3>, ts::padding<0, 1, 1>>),
        LAYER("transposed_conv2d<Out, window<>, stride<>, padding<>, no_bias>",
              "the gradient of a convolution's input as an operator: up-convolution, deconvolution",
              "[N,C,H,W] -> [N,Out,H',W'], H' = (H - 1) stride - 2 padding + window", ({make_shape(8, 64, 16, 16)}),
              ts::transposed_conv2d<32, ts::window<2>, ts::stride<2>>),
        PART("conv1d<Out, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias>",
             "convolution along the positions of sequences", "[N,T,C] -> [N,T',Out]", (ts::sequence<100, 16>),
             ts::conv1d<32, ts::window<5>, ts::padding<2>>),
        LAYER("max_pool<Window, stride<>, padding<>, dilation<>>",
              "the largest of each window; the stride is the window", "[N,C,H,W] -> [N,C,H',W']",
              ({make_shape(8, 64, 32, 32)}), ts::max_pool<3, ts::stride<2>, ts::padding<1>>),
        LAYER("average_pool<Window, stride<>, padding<>, dilation<>, count_padding>",
              "the mean of each window; with `count_padding` of its zeros outside, too", "[N,C,H,W] -> [N,C,H',W']",
              ({make_shape(8, 64, 32, 32)}), ts::average_pool<2>),
        LAYER("max_pool3d<Window, stride<>, padding<>, dilation<>>", "the same of volumes",
              "[N,C,D,H,W] -> [N,C,D',H',W']", ({make_shape(8, 16, 16, 32, 32)}), ts::max_pool3d<2>),
        LAYER("average_pool3d<Window, stride<>, padding<>, dilation<>, count_padding>", "the same of volumes",
              "[N,C,D,H,W] -> [N,C,D',H',W']", ({make_shape(8, 16, 16, 32, 32)}),
              ts::average_pool3d<1, ts::window<1, 2, 2>, ts::stride<1, 2, 2>>),
        PART("max_pool1d<Window, stride<>, padding<>>", "the same along the positions of sequences",
             "[N,T,C] -> [N,T',C]", (ts::sequence<100, 16>), ts::max_pool1d<2>),
        PART("average_pool1d<Window, stride<>, padding<>, count_padding>", "the same along the positions of sequences",
             "[N,T,C] -> [N,T',C]", (ts::sequence<100, 16>), ts::average_pool1d<4>),
        LAYER("global_average_pool", "the mean of each channel", "[N,C,H,W] or [N,C,D,H,W] -> [N,C]",
              ({make_shape(8, 64, 7, 7)}), ts::global_average_pool),
        LAYER("upsample_nearest<Height, Width>", "each pixel Height x Width times; one number for both",
              "[N,C,H,W] -> [N,C,H Height,W Width]", ({make_shape(8, 64, 8, 8)}), ts::upsample_nearest<2>),
        LAYER("upsample_bilinear<Height, Width>", "pixels between their neighbours (PyTorch's, align_corners = False)",
              "[N,C,H,W] -> [N,C,H Height,W Width]", ({make_shape(8, 64, 8, 8)}), ts::upsample_bilinear<2>),
    };
}

inline std::vector<layer_row> normalizations() {
    using ts::make_shape;
    return {
        LAYER("batch_norm<>",
              "each channel over the global batch; in evaluation by running statistics (see [Batch "
              "norm](networks.md#batch-norm))",
              "[N,C], [N,C,H,W] or [N,C,D,H,W] -> the same", ({make_shape(8, 64, 32, 32)}), ts::batch_norm<>),
        LAYER("fixed_batch_norm<>", "each channel by its running statistics, which stay as they are, in training too",
              "[N,C], [N,C,H,W] or [N,C,D,H,W] -> the same", ({make_shape(8, 64, 32, 32)}), ts::fixed_batch_norm<>),
        LAYER("layer_norm<>", "each row over its channels", "[N,C] or [N,T,C] -> the same", ({make_shape(8, 128, 256)}),
              ts::layer_norm<>),
        LAYER("rms_norm<>", "each row divided by the root of the mean of its squares", "[N,C] or [N,T,C] -> the same",
              ({make_shape(8, 128, 256)}), ts::rms_norm<>),
        LAYER("head_rms_norm<heads<>>", "the same of each head's channels by itself, as Qwen 3 norms queries and keys",
              "[N,T,C] -> the same", ({make_shape(8, 128, 256)}), ts::head_rms_norm<ts::heads<4>>),
        LAYER("group_norm<Groups>", "the channels of a group and all their pixels", "[N,C,H,W] -> the same",
              ({make_shape(8, 64, 32, 32)}), ts::group_norm<32>),
        LAYER("instance_norm<>", "each channel of each sample by itself", "[N,C,H,W] or [N,C,D,H,W] -> the same",
              ({make_shape(8, 64, 32, 32)}), ts::instance_norm<>),
        LAYER("image_layer_norm<>", "each sample over all of it", "[N,C,H,W] -> the same", ({make_shape(8, 64, 8, 8)}),
              ts::image_layer_norm<>),
        LAYER("pixel_norm<>", "the channels of each pixel, as ConvNeXt has it", "[N,C,H,W] -> the same",
              ({make_shape(8, 96, 14, 14)}), ts::pixel_norm<>),
        LAYER("l2_normalize", "rows of length 1", "[N,C] or [N,T,C] -> the same", ({make_shape(8, 128)}),
              ts::l2_normalize),
    };
}

inline std::vector<layer_row> changes_of_shape() {
    using ts::make_shape;
    return {
        LAYER("flatten", "all dimensions but the samples as one; nothing moves", "[N,C,H,W] -> [N,C H W]",
              ({make_shape(8, 64, 7, 7)}), ts::flatten),
        LAYER("reshape<Extents...>", "the extents behind the samples, one of them -1: what is left; nothing moves",
              "[N,...] -> [N,Extents...]", ({make_shape(8, 128)}), ts::reshape<16, 8, -1>),
        LAYER("permute<Order...>", "for each dimension of the output its number in the input; 0 stays first",
              "[N,...] -> [N,...]", ({make_shape(8, 64, 7, 5)}), ts::permute<0, 2, 3, 1>),
        LAYER("broadcast_to<Extents...>",
              "repeats extents of 1; -1 is the input's own; missing dimensions come behind the samples",
              "[N,...] -> [N,Extents...]", ({make_shape(8, 64, 1, 1)}), ts::broadcast_to<64, 7, 7>),
        LAYER("slice<Begin, Count, axis<>>", "Count indices from Begin of the channels, or of another dimension",
              "[N,C,...] -> [N,Count,...]", ({make_shape(8, 10, 64)}), ts::slice<9, 1, ts::axis<1>>),
        LAYER("concat", "two to eight tensors side by side in their channels",
              "[N,C1,...], [N,C2,...] -> [N,C1 + C2,...]", ({make_shape(8, 64, 7, 7), make_shape(8, 32, 7, 7)}),
              ts::concat),
        LAYER("concat_along<Axis>", "the same along another dimension", "[N,T1,C], [N,T2,C] -> [N,T1 + T2,C]",
              ({make_shape(8, 1, 64), make_shape(8, 49, 64)}), ts::concat_along<1>),
        LAYER("pad<margin<D, Before, After>...>", "zeros around dimension D; After is Before unless said otherwise",
              "[N,...] -> [N,...]", ({make_shape(8, 3, 28, 28)}), ts::pad<ts::margin<2, 2>, ts::margin<3, 0, 4>>),
        LAYER("crop<keep<D, Begin, Count>...>", "Count indices from Begin of dimension D", "[N,...] -> [N,...]",
              ({make_shape(8, 3, 32, 32)}), ts::crop<ts::keep<2, 4, 24>, ts::keep<3, 4, 24>>),
        PART("roll<shift<D, Count>...>", "dimension D moved round in a circle; one to three of them",
             "[N,...] -> the same", (ts::image<3, 32, 32>), ts::roll<ts::shift<2, 3>, ts::shift<3, -3>>),
        LAYER("flip<Dimensions...>", "these dimensions from their ends", "[N,...] -> the same",
              ({make_shape(8, 3, 32, 32)}), ts::flip<3>),
        LAYER("sum_over<Dimensions...>", "the sum over some dimensions, which go", "[N,...] -> [N,...]",
              ({make_shape(8, 100, 64)}), ts::sum_over<1>),
        LAYER("mean_over<Dimensions...>", "the mean over them", "[N,...] -> [N,...]", ({make_shape(8, 64, 7, 7)}),
              ts::mean_over<2, 3>),
        LAYER("max_over<Dimensions...>", "the largest of them", "[N,...] -> [N,...]", ({make_shape(8, 100, 64)}),
              ts::max_over<1>),
        LAYER("min_over<Dimensions...>", "the smallest of them", "[N,...] -> [N,...]", ({make_shape(8, 100, 64)}),
              ts::min_over<1>),
        LAYER("sum_over_kept<Dimensions...>", "the sum, with extents of 1 in place of the dimensions",
              "[N,...] -> [N,...]", ({make_shape(8, 128)}), ts::sum_over_kept<1>),
        LAYER("mean_over_kept<Dimensions...>",
              "the mean, likewise: as for squeeze and excitation, whose result broadcasts", "[N,...] -> [N,...]",
              ({make_shape(8, 64, 7, 7)}), ts::mean_over_kept<2, 3>),
        LAYER("max_over_kept<Dimensions...>", "the largest, likewise", "[N,...] -> [N,...]", ({make_shape(8, 100, 64)}),
              ts::max_over_kept<1>),
        LAYER("min_over_kept<Dimensions...>", "the smallest, likewise", "[N,...] -> [N,...]",
              ({make_shape(8, 100, 64)}), ts::min_over_kept<1>),
    };
}

} // namespace docs_support
