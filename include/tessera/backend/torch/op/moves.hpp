// SPDX-License-Identifier: Apache-2.0
// What moves elements without computing, and dropout.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/broadcast_to.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/dropout.hpp"
#include "tessera/op/flip.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"

namespace tessera::torch::detail {

/// The local extents, without that of the samples, which ranks may have in different numbers.
std::string view_line(const shard_text& s, std::string&);

/// A slice or a crop: the region that the shard has been brought is the one that it keeps.
inline std::string same_line(const shard_text& s, std::string&) { return assign(s, s.input()); }

std::string concat_line(const shard_text& s, std::string&);

std::string permute_line(const shard_text& s, std::string&);

std::string broadcast_to_line(const shard_text& s, std::string&);

std::string pad_line(const shard_text& s, std::string& why);

std::string flip_line(const shard_text& s, std::string&);

std::string dropout_line(const shard_text& s, std::string&);
template <op::dropped_unit Unit>
dropped_numbers dropped(const shard_text& s) {
    constexpr const char* names[] = {"element", "channel", "sample"};
    return {names[static_cast<int>(Unit)], s.as<op::dropout_attributes>().percent, s.output_extents(),
            s.output_region()};
}

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/moves.inl"
#endif

#include "tessera/base/end_header.inl"
