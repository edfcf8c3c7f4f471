// SPDX-License-Identifier: Apache-2.0
// Reads strategy files strictly: see strategy_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/synchronization_reader.hpp"
#include "tessera/io/reports/described_json.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/schedule/timetable.hpp"
#include "tessera/strategy/strategy.hpp"

#include <charconv>

namespace tessera::io {

inline constexpr std::int64_t strategy_file_version = 1;

/// What a strategy file says: the strategy, and for how many devices it is.
struct strategy_file {
    strategy value;
    int devices = 1;
};

namespace detail {

/// Letters of a schedule's actions: F0.3 is forward of stage 0, micro-batch 3.
inline constexpr std::string_view action_letters = "FRBIW";
static_assert(to_text(action_kind::backward_weight) == std::string_view("backward-weight")); // the last, W

/// Reads a strategy file for a network.
class strategy_reader {
public:
    strategy_reader(const graph_view& g) : g_(g), names_(paths_of(g).ops) {}

    strategy_file read(const json_document& document);

private:
    static constexpr int most = largest_count;

    static pipeline_schedule read_schedule(const json_value& v, int micro_batches);

    static std::vector<action> read_actions(const json_value& v);

    void read_layers(json_object& top, strategy& s);

    void read_layer(json_object& o, const json_value& at, strategy& s, int op);

    void read_split(const json_value& v, const std::string& name, strategy& s, int op);

    graph_view g_;
    std::vector<std::string> names_;
};

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/strategy_reader.inl"
#endif

#include "tessera/base/end_header.inl"
