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
#include "tessera/op/router_losses.hpp"
#include "tessera/op/row_losses.hpp"
#include "tessera/op/vocabulary_loss.hpp"

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

/// Operators by which files are read; `more` comes first, so that a program's own operator may take the place of one
/// here.
std::vector<known_operator> known_operators(const std::vector<const op_record*>& more = {});

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/op/known_operators.inl"
#endif

#include "tessera/base/end_header.inl"
