// SPDX-License-Identifier: Apache-2.0
// Bodies of known_operators.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/known_operators.hpp"

namespace tessera {

TESSERA_INLINE std::vector<known_operator> known_operators(const std::vector<const op_record*>& more) {
    std::vector<known_operator> all;
    for (const op_record* r : more) {
        all.push_back({r, ""});
    }
    for (const op_record* r : library_operators) {
        all.push_back({r, std::string("ts::op_kind::") + r->name});
    }
    using detail::known;
    for (const known_operator& k : {known<mse_loss>("mse_loss"),
                                    known<l1_loss>("l1_loss"),
                                    known<bce_with_logits>("bce_with_logits"),
                                    known<kl_divergence>("kl_divergence"),
                                    known<cosine_loss>("cosine_loss"),
                                    known<smooth_cross_entropy<>>("smooth_cross_entropy<>"),
                                    known<soft_cross_entropy<>>("soft_cross_entropy<>"),
                                    known<masked_cross_entropy<>>("masked_cross_entropy<>"),
                                    known<class_weighted_cross_entropy<>>("class_weighted_cross_entropy<>"),
                                    known<row_weighted_cross_entropy<>>("row_weighted_cross_entropy<>"),
                                    known<vocabulary_loss<1>>("vocabulary_loss<1>"),
                                    known<masked_vocabulary_loss<1>>("masked_vocabulary_loss<1>"),
                                    known<info_nce_loss<>>("info_nce_loss<>"),
                                    known<contrastive_loss<>>("contrastive_loss<>"),
                                    known<clip_loss<>>("clip_loss<>"),
                                    known<load_balance_loss<>>("load_balance_loss<>"),
                                    known<router_z_loss<>>("router_z_loss<>"),
                                    known<choice_bias<>>("choice_bias<>"),
                                    known<choice_bias_loss<>>("choice_bias_loss<>"),
                                    known<chosen_gates>("chosen_gates"),
                                    known<l2_normalize>("l2_normalize"),
                                    known<head_rms_norm<>>("head_rms_norm<>"),
                                    known<length_mask<1>>("length_mask<1>")}) {
        all.push_back(k);
    }
    all.push_back({&op::opaque_record, "ts::op_kind{&ts::op::opaque_record}"});
    detail::add_reductions<1>(all);
    detail::add_reductions<2>(all);
    detail::add_reductions<3>(all);
    detail::add_reductions<1, 2>(all);
    detail::add_reductions<2, 3>(all);
    detail::add_reductions<1, 2, 3>(all);
    return all;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
