// SPDX-License-Identifier: Apache-2.0
// One name for every operator and every parameter of a network: unique in it, the same on every compiler, for people,
// files and messages.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

#include <string>

namespace tessera {

/// conv1, conv<1,2>, relu.2, encoder.norm; conv1/weight. An operator has the name of its layer, with as many scopes as
/// tell it from other layers of that name, and a number from 0 where a layer of that name occurs several times. A
/// parameter has the name of the layer that introduced it (numbered where the layer introduced several, as in repeat<>)
/// and what it is: weight, bias or statistics.
struct network_paths {
    std::vector<std::string> ops;
    std::vector<std::string> parameters;

    const std::string& op(int which) const { return which < 0 ? nothing : ops[to_size(which)]; }
    const std::string& parameter(int which) const;
    std::string nothing = "-";
};

namespace detail {

/// A whole name as compilers write it with points between scopes, without spaces, unnamed scopes and the letters behind
/// numbers.
std::string plain_scopes(std::string_view name);

/// The last `parts` parts of a name with scopes; all of it where there are fewer.
std::string_view last_scopes(std::string_view full, int parts);

/// What layers of different types that have one name are called: with as few scopes as tell it from all others.
std::string told_apart(std::string_view own, std::string_view full, const std::vector<std::string>& others);

/// Numbers of texts, those of texts that may be equal in one list: for looking a text up without comparing it with all.
/// (FNV-1a picks the list.)
struct text_lists {
    std::vector<int> begin, next; ///< the last number of each list, and the one before each; -1: none

    explicit text_lists(int texts);
    int& list_of(std::string_view text);
    /// Numbers come one after the other, from 0.
    void add(std::string_view text);
    int after(int number) const { return next[to_size(number)]; }
};

/// The operators of a network by the labels of their layers, which are paths without numbers. (Plain loops over vectors
/// of numbers and of texts: everybody who includes the core compiles this.)
struct layer_labels {
    std::vector<int> of;            ///< label of every operator
    std::vector<std::string> texts; ///< of every label
};

/// True for operators of one layer, or of layers that are numbered together.
bool are_one_layer(const op_node& a, const op_node& b);

layer_labels labels_of(const graph_view& g);

std::string slot_name(int slot);

/// Appends numbers to labels that occur several times; to what is still not unique, more of them.
std::vector<std::string> numbered(const std::vector<std::string>& texts, const std::vector<int>& labels);

} // namespace detail

/// The paths of all operators and parameters.
network_paths paths_of(const graph_view& g);

namespace detail {

/// True where the layer of an operator needs no scopes, and no name looks like another with a number.
bool has_plain_label(const graph_view& g, int op);

} // namespace detail

/// The path of one operator, "-" for none. Looks at all operators once; for all paths there is paths_of().
std::string path_of(const graph_view& g, int op);

/// The path of one parameter, "-" for none. Looks at all operators once, for parameters are numbered as operators
/// introduce them.
std::string parameter_path_of(const graph_view& g, int parameter);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/paths.inl"
#endif

#include "tessera/base/end_header.inl"
