// SPDX-License-Identifier: Apache-2.0
// Lowering of one message among its members: sliced, by all-reduce, round a ring, or by a server.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/update.hpp"

namespace tessera::lowering {

/// A slice of a message for the copies of one region.
struct sent_slice {
    gradient_slice what;
    std::vector<piece> copies;
    std::vector<int> sources; ///< contributions, those of one device added up
};

/// What one task sums of a slice, and the tiles that it writes the sum to.
struct message_sum {
    const sent_slice* of = nullptr;
    std::vector<int> from;
    std::vector<int> to;
};

/// A message's slices for one set of members.
struct sent_message {
    exchange method = exchange::sliced;
    int message = -1; ///< see task
    int server = 0;
    std::vector<sent_slice> slices{};

    int members() const { return static_cast<int>(slices[0].copies.size()); }
};

/// What a reduction of a message sums, and whether it sums squares too.
struct message_reduction {
    int shard_number = 0;
    int device = 0;
    int slice = 0;
    int slices = 1;
    bool squares = true;
};

/// A task that sums a slice of contributions to each of some slices into tiles, with their squares where they are
/// wanted.
void add_reduce(const lowering_input& in, synchronization_places& sync, plan_writer& out, const sent_message& sent,
                const std::vector<message_sum>& all, const message_reduction& x);

/// Every member sums and updates a slice; the sum is kept only where its update waits.
void send_sliced(const lowering_input& in, synchronization_places& sync, plan_writer& out, const sent_message& sent);

/// The tile in which the summed gradient of a copy's region arrives; slices of one parameter share it.
int sum_tile(synchronization_places& sync, plan_writer& out, int parameter, const piece& copy);

/// Every member sums a slice and hands it to all; each updates its copy. Returns what arrives, whose updates come after
/// all sums.
std::vector<reduced_slices> send_all_reduce(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                            const sent_message& sent);

/// Contributions to a slice by the member that they are summed by: that of their device, or the first.
std::vector<std::vector<int>> sources_by_member(const plan_writer& out, const sent_slice& x, int members);

/// Chunk c starts behind member c and goes round, each adding its own, until member c has all of it; then once more
/// round. Returns what arrives.
std::vector<reduced_slices> send_ring(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                      const sent_message& sent);

void send_to_server(const lowering_input& in, synchronization_places& sync, plan_writer& out, const sent_message& sent);

/// The tasks of a message among its members.
void send_among(const lowering_input& in, synchronization_places& sync, plan_writer& out, const sent_message& sent);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/exchange.inl"
#endif

#include "tessera/base/end_header.inl"
