// SPDX-License-Identifier: Apache-2.0
// Strategies as JSON that people read and write: one line for every layer, by its name; versioned, and read strictly.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/strategy_reader.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/files/json_text.hpp"
#include "tessera/io/reports/described_json.hpp"

namespace tessera::io {

namespace detail {

json to_json(const pipeline_schedule& s);

/// A message as text: how it goes, the number of its server if that is not 0, then parameters with their slices:
/// server@1 3:0/4 5.
std::string text_of(const message& m);

json to_json(const synchronization& s);

json to_json(const graph_view& g, const strategy_view& s, int op, const std::string& name);

} // namespace detail

namespace detail {

/// What to_json() below writes, of a strategy that may break a rule.
json strategy_json(const graph_view& g, const strategy& s, int devices, const std::vector<std::string>& names);

} // namespace detail

/// A strategy as a value whose text is a strategy file. Throws tessera::error unless it keeps the rules for the network
/// and so many devices.
json to_json(const graph_view& g, const strategy& s, int devices);

/// The strategy that a document describes. Throws tessera::error, naming line, place and layer, for members that are
/// missing, unknown, of the wrong type or out of range, for another version, for a strategy of another network, for a
/// schedule that does not hold together, and for whatever require() refuses.
strategy_file strategy_from(const graph_view& g, const json_document& document);

strategy_file strategy_from_text(const graph_view& g, std::string_view text,
                                 const std::string& called = "strategy file");
strategy_file read_strategy(const graph_view& g, const std::string& path);
void write_strategy(const std::string& path, const graph_view& g, const strategy& s, int devices);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/strategy_file.inl"
#endif

#include "tessera/base/end_header.inl"
