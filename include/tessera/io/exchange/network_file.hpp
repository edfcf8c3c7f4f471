// SPDX-License-Identifier: Apache-2.0
// Networks as JSON: inputs and operators by name, each after what it reads; versioned, and read strictly. So a network
// need not be a C++ type.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/network_reader.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/files/json_text.hpp"
#include "tessera/net/first_users.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/own_attributes.hpp"

#include <set>

namespace tessera::io {

namespace detail {

/// An operator's own attributes that are not those of its layer without options, and those that its layer must be told.
json own_attributes(const op_attributes& a, const std::string& path);

/// Writes a network down, node by node.
class network_writer {
public:
    explicit network_writer(const graph_view& g);

    json write(const std::string& name);

private:
    json input(int t);

    json node(int op);

    graph_view g_;
    tessera::detail::layer_labels labels_;
    network_paths paths_;
    std::vector<int> first_users_;
    std::set<std::string> taken_;
    std::vector<std::string> names_; ///< of every tensor
};

} // namespace detail

/// A network as a value whose text is a network file. Throws tessera::error for operators whose attributes their
/// records do not list.
json to_json(const graph_view& g, const std::string& name);

/// The network that a text describes, for so many samples (0: as many as it says). Throws tessera::error, naming line,
/// place and operator, for members that are missing, unknown, of the wrong type or out of range, for another version,
/// and for every rule that a typed network would break. `more`: records of operators of one's own.
network_file network_from_text(std::string_view text, index_t samples = 0, const std::string& called = "network file",
                               const std::vector<const op_record*>& more = {});
network_file read_network(const std::string& path, index_t samples = 0, const std::vector<const op_record*>& more = {});
void write_network(const std::string& path, const graph_view& g, const std::string& name);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/network_file.inl"
#endif

#include "tessera/base/end_header.inl"
