// SPDX-License-Identifier: Apache-2.0
// What a strategy needs of every device's memory, kept up to date from change to change.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/proposals.hpp"
#include "tessera/search/resident_bytes.hpp"

namespace tessera::search {

/// By what every shard holds; see resident_bytes.
class memory_estimate {
public:
    /// `states`: numbers that the optimizer keeps for each parameter.
    memory_estimate(const graph_view& g, const cluster& on, const strategy& s, int states);

    /// Bytes of each device.
    const std::vector<index_t>& bytes() const { return bytes_; }
    /// Bytes beyond the devices' capacities, all devices together; a capacity of 0 is no limit.
    index_t excess() const { return excess_of(bytes_); }
    /// The same after changes of some operators; accept() keeps them.
    index_t excess_after(const strategy& now, const std::vector<change>& changes);
    void accept() { bytes_ = next_; }

private:
    void add(int op, const configuration& c, const index_t* pool, std::vector<index_t>& bytes, index_t sign) const;
    index_t excess_of(const std::vector<index_t>& bytes) const;

    graph_view g_;
    resident_bytes held_;
    std::vector<description> descriptions_;
    std::vector<index_t> limits_;
    std::vector<index_t> bytes_;
    std::vector<index_t> next_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/memory_estimate.inl"
#endif

#include "tessera/base/end_header.inl"
