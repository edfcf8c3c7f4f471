// SPDX-License-Identifier: Apache-2.0
// Reads networks from JSON: see network_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/nearest.hpp"
#include "tessera/base/problem_text.hpp"
#include "tessera/io/files/json.hpp"
#include "tessera/net/lengths.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/op/attribute_defaults.hpp"
#include "tessera/op/known_operators.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>

namespace tessera::io {

/// What is written. Version 1 is read too: there attributes that a file leaves out of an operator whose layer has
/// template arguments are those of its attributes' struct: no bias, a stride of 1.
inline constexpr int network_file_version = 2;

/// A network from a file. Its names lie in `texts`, which every copy shares.
struct network_file {
    std::string name;
    graph network;
    std::shared_ptr<std::deque<std::string>> texts = std::make_shared<std::deque<std::string>>();
};

namespace detail {

inline constexpr std::size_t most_network_nodes =
    20'000; ///< a layer's number is looked for among all before it, so that time grows with their square: a second for
            ///< so many

/// The one of several names that a text is; refused with the nearest where it is none.
template <class Names>
std::size_t one_of(const json_value& value, const Names& names, const std::string& what) {
    const std::string& said = value.text();
    const auto found = std::find(std::begin(names), std::end(names), said);
    if (found == std::end(names)) {
        value.refuse("is '" + said + "', which is no " + what +
                     did_you_mean(said, std::vector<std::string>(std::begin(names), std::end(names))));
    }
    return to_size(found - std::begin(names));
}

double finite(const json_value& value);

std::int64_t number_of(const json_value& value, const attribute_field& field);

/// Reads what a node of a file of this version says of its operator's attributes (null: nothing). Others are those of
/// the operator's layer; one that the layer must be told is asked for.
void read_attributes(const json_value* value, const json_value& node, const std::string& name, std::int64_t version,
                     op_attributes& a);

class network_reader {
public:
    network_reader(const json_document& document, const std::vector<const op_record*>& more);

    network_file read(index_t samples);

private:
    std::string_view keep(const std::string& text) { return file_.texts->emplace_back(text); }

    /// A name that is given once, and what may be said of it.
    std::string_view new_name(const json_value& value);

    void read_input(json_object& members);

    void read_operator(json_object& members, const json_value& at);

    static std::string words_of(const problem& p);

    const op_record* record_named(const json_value& value) const;

    static void read_initial(const json_value& value, op_attributes& a);

    std::vector<std::string> names() const;

    void finish(const json_value& list, precision math);

    const json_document& document_;
    std::vector<known_operator> known_;
    std::vector<std::string_view> kinds_; ///< their names
    network_file file_;
    graph_builder builder_;
    index_t batch_ = 1;
    std::int64_t version_ = network_file_version;
    std::unordered_map<std::string_view, int> tensors_; ///< by the names of their nodes
    std::vector<std::string> names_;                    ///< of operators
};

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/network_reader.inl"
#endif

#include "tessera/base/end_header.inl"
