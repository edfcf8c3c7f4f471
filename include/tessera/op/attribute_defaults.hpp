// SPDX-License-Identifier: Apache-2.0
// What an operator's attributes are where a file does not say them: what its layer has without options. And which of
// them a file must say, since the layer has them as template arguments without a default.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/contrastive_loss.hpp"
#include "tessera/op/counted_cross_entropy.hpp"
#include "tessera/op/length_mask.hpp"
#include "tessera/op/library.hpp"
#include "tessera/op/opaque_operator.hpp"
#include "tessera/op/router_losses.hpp"
#include "tessera/op/row_losses.hpp"
#include "tessera/op/vocabulary_loss.hpp"

#include <string_view>

namespace tessera {

struct attribute_defaults {
    op_attributes usual;       ///< the layer's, with some number for what must be said
    const char* must_say[2]{}; ///< attributes, by name
    /// An attribute that is what another one is, which comes before it: a pool's stride is its window.
    const char* follows = nullptr;
    const char* followed = nullptr;

    constexpr bool must_be_said(std::string_view field) const {
        for (const char* name : must_say) {
            if (name != nullptr && field == name) {
                return true;
            }
        }
        return false;
    }
    /// A layer that needs no arguments.
    constexpr bool is_whole() const { return must_say[0] == nullptr; }
};

/// Every operator of the library that has attributes of its own, each once.
inline constexpr attribute_defaults library_attribute_defaults[] = {
    {conv2d<1>::attributes, {"out"}},
    {conv3d<1>::attributes, {"out"}},
    {transposed_conv2d<1>::attributes, {"out"}},
    {linear<1>::attributes, {"out"}},
    {bilinear<1>::attributes, {"out"}},
    {max_pool<1>::attributes, {"window"}, "stride", "window"},
    {average_pool<1>::attributes, {"window"}, "stride", "window"},
    {max_pool3d<1>::attributes, {"window"}, "stride", "window"},
    {average_pool3d<1>::attributes, {"window"}, "stride", "window"},
    {leaky_relu<>::attributes},
    {elu<>::attributes},
    {scale<1>::attributes, {"number"}},
    {add_constant<0>::attributes, {"number"}},
    {power<1>::attributes, {"number"}},
    {clamp<0, 1>::attributes, {"number"}},
    {dropout<0>::attributes, {"percent"}},
    {channel_dropout<0>::attributes, {"percent"}},
    {stochastic_depth<0>::attributes, {"percent"}},
    {batch_norm<>::attributes},
    {layer_norm<>::attributes},
    {group_norm<1>::attributes, {"groups"}},
    {rms_norm<>::attributes},
    {head_rms_norm<>::attributes},
    {instance_norm<>::attributes},
    {image_layer_norm<>::attributes},
    {pixel_norm<>::attributes},
    {softmax<>::attributes},
    {padded_softmax<>::attributes},
    {attention<>::attributes},
    {padded_attention<>::attributes},
    {matmul<>::attributes},
    {rotary<>::attributes},
    {concat::attributes},
    {embedding<1, 1>::attributes, {"vocabulary", "out"}},
    {position_embedding<>::attributes},
    {slice<0, 1>::attributes, {"begin", "out"}},
    {dispatch_mask<1>::attributes, {"slots"}},
    {expert_linear<1, 1>::attributes, {"groups", "out"}},
    {token_slots<>::attributes},
    {keep_top<>::attributes},
    {routed_linear<1>::attributes, {"out"}},
    {permute<0, 1>::attributes, {"order", "rank"}},
    {reshape<1>::attributes, {"extent", "rank"}},
    {broadcast_to<1>::attributes, {"extent", "rank"}},
    {pad<>::attributes},
    {crop<>::attributes},
    {roll<shift<1, 1>>::attributes, {"shift"}},
    {flip<1>::attributes, {"turned"}},
    {upsample_nearest<1>::attributes, {"factor"}},
    {upsample_bilinear<1>::attributes, {"factor"}},
    {scatter_sum<1>::attributes, {"out"}},
    {length_mask<1>::attributes, {"positions"}},
    {smooth_cross_entropy<>::attributes},
    {soft_cross_entropy<>::attributes},
    {masked_cross_entropy<>::attributes},
    {class_weighted_cross_entropy<>::attributes},
    {row_weighted_cross_entropy<>::attributes},
    {vocabulary_loss<1>::attributes, {"out"}},
    {masked_vocabulary_loss<1>::attributes, {"out"}},
    {info_nce_loss<>::attributes},
    {contrastive_loss<>::attributes},
    {clip_loss<>::attributes},
    {load_balance_loss<>::attributes},
    {choice_bias_loss<>::attributes},
    {{.kind = {&op::opaque_record}}, {"extent", "rank"}},
};

/// Those of an operator, or null: of one of a program's own, whose attributes are what their struct says.
constexpr const attribute_defaults* defaults_of(const op_record& r) {
    for (const attribute_defaults& d : library_attribute_defaults) {
        if (d.usual.kind.record == &r) {
            return &d;
        }
    }
    return nullptr;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
