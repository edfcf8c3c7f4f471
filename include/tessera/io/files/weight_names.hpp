// SPDX-License-Identifier: Apache-2.0
// What somebody else's files call a network's parameters: PyTorch's, torchvision's and Hugging Face's names, by
// patterns.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/op/attributes.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// What a file calls some layers: {"block.*", "layer1.*.conv2"}. A `*` stands for any text, and in `theirs` for what
/// the same `*` of `ours` stood for, in their order. A name with a slash is one parameter's, with what the file calls
/// that tensor: {"head/weight", "classifier.W"}.
struct weight_name {
    std::string ours;        ///< a layer's path in the network, or with a slash a parameter's
    std::string theirs;      ///< of a layer, without what follows in the file: ".weight", ".bias", ".running_mean"
    bool transposed = false; ///< weights are [inputs, outputs] in the file, as those of GPT-2's Conv1D
    index_t first =
        0; ///< with the next: those rows (outputs) of the file's tensors, such as a third of a fused query, key and
           ///< value
    index_t rows = 0; ///< 0: all
};

namespace detail {

/// Whether a text has a pattern's form, and what its stars stand for: the first ones as little as possible.
bool has_form(std::string_view pattern, std::string_view text, std::vector<std::string_view>& stars);

/// A pattern's text with these in the place of its stars.
std::string filled(std::string_view pattern, const std::vector<std::string_view>& stars);

/// Where a parameter's numbers are in a file: one tensor, or of running statistics two.
struct weight_place {
    std::vector<std::string> names; ///< of one tensor, what comes first that is there
    int row = -1;                   ///< of the parameter [2, C] that this tensor is; -1: all of it
    const weight_name* rule = nullptr;
};

void require_names(const std::vector<weight_name>& names);

/// The tensors of a parameter "layer/weight" as `names` and, where they say nothing, the field's custom have them:
/// "layer/weight" or "layer.weight"; running statistics as one tensor, or as two, "layer.running_mean" and
/// "layer.running_var".
std::vector<weight_place> places_of(const std::string& parameter, const std::vector<weight_name>& names);

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/weight_names.inl"
#endif

#include "tessera/base/end_header.inl"
