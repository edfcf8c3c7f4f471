// SPDX-License-Identifier: Apache-2.0
// What a training is, as one value with one list of fields: two trainings that agree in it compute the same numbers
// from the same data. Ranks compare it before they train together (docs/ranks.md), a checkpoint keeps it
// (io/files/checkpoint.hpp), and what differs is said by name.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/backend.hpp"
#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/net/network_hash.hpp"
#include "tessera/op/own_attributes.hpp"
#include "tessera/strategy/strategy.hpp"
#include "tessera/version.hpp"

#include <string>

namespace tessera {

/// Refers to what a session has, which must outlive it. (The plan follows from it but for what was measured; its hash
/// is compared besides.)
struct training_identity {
    std::string library = library_version;
    std::string backend; ///< its type
    graph_view network;
    const strategy* how = nullptr;
    const optimizer* update = nullptr;
    const session_options* options = nullptr;
    field_lines own; ///< of the backend's own options
};

namespace detail {

std::string extents_text(const shape& s, int first);

std::string initial_text(const initial_rule& r);

/// An operator's own attributes by name, also those that nobody has said.
void add_own_attributes(field_lines& to, const std::string& name, const op_attributes& a);

/// All of a network but for the number of its samples, which is a line of its own.
void add_network(field_lines& to, const graph_view& g);

/// A strategy with the paths of a network's operators; also one that breaks rules.
void add_strategy(field_lines& to, const graph_view& g, const strategy& s);

} // namespace detail

/// All of its fields, in one order.
field_lines lines_of(const training_identity& t);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/training_identity.inl"
#endif

#include "tessera/base/end_header.inl"
