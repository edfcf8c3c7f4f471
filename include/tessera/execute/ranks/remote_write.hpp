// SPDX-License-Identifier: Apache-2.0
// What processes of one node send to those of another: memory, and the number by which these know that it has come.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

/// A place in memory that all processes of a group have, each node its own: the number of the piece, equal everywhere,
/// and the bytes before it.
struct shared_place {
    std::uint64_t piece = 0;
    std::uint64_t offset = 0;

    friend constexpr bool operator==(const shared_place&, const shared_place&) = default;
};

/// `count` times `bytes` bytes, `stride` apart.
struct remote_rows {
    shared_place to;
    index_t bytes = 0;
    index_t stride = 0;
    index_t count = 1;
    const std::byte* from = nullptr; ///< in this process
};

/// One for a node, made once and sent in every run: rows, whose numbers are those that lie there when it is sent, into
/// the same place of the node, and then a number that is greater each time. It must live until it has gone
/// (process_group::barrier).
struct remote_write {
    /// What the number is put into.
    enum class signal : std::uint8_t {
        none,
        list, ///< tasks of a list that have finished
        flag, ///< a 64-bit number in shared memory
    };
    /// Bytes: between two remote writes a more urgent one goes; and longer ones MPI would ask for leave to send, which
    /// waits behind what comes the other way.
    static constexpr index_t longest = index_t{56} << 10;

    int node = 0;
    int priority =
        -1; ///< where several wait for the link the least goes first; remote writes of one priority in their order
    std::vector<remote_rows> rows;
    signal then = signal::none;
    int list = 0;
    shared_place flag;

    index_t bytes() const;
    /// Adds bytes [begin, end) of a piece of memory that lies at `base` here; equal ones at equal distances are one
    /// entry.
    void add(const std::byte* base, shared_place at, index_t begin, index_t end);
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/remote_write.inl"
#endif

#include "tessera/base/end_header.inl"
