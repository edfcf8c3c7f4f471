// SPDX-License-Identifier: Apache-2.0
// A network that is a value, written as a header that holds it as a type.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/free_names.hpp"
#include "tessera/base/quoted.hpp"
#include "tessera/net/first_users.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/initial.hpp"
#include "tessera/op/known_operators.hpp"
#include "tessera/op/own_attributes.hpp"

#include <charconv>
#include <set>
#include <string>
#include <vector>

namespace tessera::io {

namespace detail {

/// Words of C++, and names that a platform takes. (Two underscores in a row are the compiler's.)
const std::set<std::string>& cpp_words();

std::string cpp_text(double x);

class cpp_writer {
public:
    explicit cpp_writer(const graph_view& g)
        : g_(g), labels_(tessera::detail::labels_of(g)), known_(known_operators()), first_users_(first_users_of(g)) {}

    std::string write(const std::string& name);

private:
    /// A literal alone would end at a zero byte.
    static std::string path_text(const std::string& path);
    std::string called(int t) const;

    std::string input(int t) const;

    std::string node(int op);

    std::string kind(int op) const;

    std::string attributes(int op) const;

    static std::string own(const op_attributes& a, const std::string& kind, const std::string& called);

    graph_view g_;
    tessera::detail::layer_labels labels_;
    std::vector<known_operator> known_;
    std::vector<int> first_users_;
    std::vector<std::string> names_; ///< of every tensor, in C++
};

} // namespace detail

/// A header with the network as a type of this name (as far as C++ can have it): a dag of layers with the paths that
/// the value's operators have, so that strategies, weights and numbers are the same. Throws tessera::error for what has
/// no place in one: operators that are not the library's, and operators of several inputs that take parameters of
/// another.
inline std::string to_cpp(const graph_view& g, const std::string& name) { return detail::cpp_writer(g).write(name); }

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/network_cpp.inl"
#endif

#include "tessera/base/end_header.inl"
