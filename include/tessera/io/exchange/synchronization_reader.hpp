// SPDX-License-Identifier: Apache-2.0
// Reads the synchronization of a strategy file strictly: see strategy_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/described_json.hpp"
#include "tessera/strategy/strategy.hpp"

#include <charconv>

namespace tessera::io::detail {

/// Reads what io::detail::to_json(synchronization) writes.
class synchronization_reader {
public:
    explicit synchronization_reader(const graph_view& g) : g_(g) {}

    synchronization read(const json_value& v) const;

private:
    message read_message(const json_value& v) const;

    static bool read_how(const char*& at, const char* end, message& m);

    static bool number(const char*& at, const char* end, int& out);

    graph_view g_;
};

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/synchronization_reader.inl"
#endif

#include "tessera/base/end_header.inl"
