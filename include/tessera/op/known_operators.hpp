// SPDX-License-Identifier: Apache-2.0
// The operators that files of networks may name: those of the library, its losses, and what a program adds.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/contrastive_loss.hpp"
#include "tessera/op/counted_cross_entropy.hpp"
#include "tessera/op/length_mask.hpp"
#include "tessera/op/library.hpp"
#include "tessera/op/losses.hpp"
#include "tessera/op/opaque_operator.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/op/row_losses.hpp"

#include <string>
#include <vector>

namespace tessera {

/// An operator by its record, and how C++ writes its kind ("" where nobody says).
struct known_operator {
    const op_record* record = nullptr;
    std::string kind;
};

namespace detail {

/// A layer of the library without options, as C++ writes it behind `ts::`.
template <class L>
known_operator known(const std::string& written) {
    return {L::attributes.kind.record, "ts::" + written + "::attributes.kind"};
}

template <int... Dimensions>
void add_reductions(std::vector<known_operator>& to) {
    std::string list;
    for (const int d : {Dimensions...}) {
        list += (list.empty() ? "<" : ", ") + std::to_string(d);
    }
    list += ">";
    for (const known_operator& k :
         {known<sum_over<Dimensions...>>("sum_over" + list), known<mean_over<Dimensions...>>("mean_over" + list),
          known<max_over<Dimensions...>>("max_over" + list), known<min_over<Dimensions...>>("min_over" + list),
          known<sum_over_kept<Dimensions...>>("sum_over_kept" + list),
          known<mean_over_kept<Dimensions...>>("mean_over_kept" + list),
          known<max_over_kept<Dimensions...>>("max_over_kept" + list),
          known<min_over_kept<Dimensions...>>("min_over_kept" + list)}) {
        to.push_back(k);
    }
}

} // namespace detail

/// Operators by which files are read; `more` comes first, so that a program's own operator may take the place of one here.
inline std::vector<known_operator> known_operators(const std::vector<const op_record*>& more = {}) {
    std::vector<known_operator> all;
    for (const op_record* r : more) {
        all.push_back({r, ""});
    }
    for (const op_record* r : library_operators) {
        all.push_back({r, std::string("ts::op_kind::") + r->name});
    }
    using detail::known;
    for (const known_operator& k :
         {known<mse_loss>("mse_loss"), known<l1_loss>("l1_loss"), known<bce_with_logits>("bce_with_logits"),
          known<kl_divergence>("kl_divergence"), known<cosine_loss>("cosine_loss"),
          known<smooth_cross_entropy<>>("smooth_cross_entropy<>"), known<soft_cross_entropy<>>("soft_cross_entropy<>"),
          known<masked_cross_entropy<>>("masked_cross_entropy<>"),
          known<class_weighted_cross_entropy<>>("class_weighted_cross_entropy<>"),
          known<row_weighted_cross_entropy<>>("row_weighted_cross_entropy<>"),
          known<info_nce_loss<>>("info_nce_loss<>"), known<contrastive_loss<>>("contrastive_loss<>"),
          known<clip_loss<>>("clip_loss<>"), known<l2_normalize>("l2_normalize"),
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
