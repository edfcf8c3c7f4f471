// SPDX-License-Identifier: Apache-2.0
// Memory of an executor: the arenas of a plan, and the persistent arena of parameters and optimizer state, which
// outlives plans so that those for training, evaluation and the last short batch share it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace tessera {

/// Where the memory of a plan's devices comes from; of the processor unless a backend has its own (see backend.hpp).
struct memory_source {
    void* (*take)(void* context, int device,
                  index_t bytes) = nullptr; ///< zeroed; throws tessera::error when there is none
    void (*give)(void* context, int device, void* memory) = nullptr;
    void* context = nullptr;
    /// The same of the host's memory beside a device, where what it does not need waits. Null: by itself, as any memory.
    void* (*take_host)(void* context, int device, index_t bytes) = nullptr;
    void (*give_host)(void* context, int device, void* memory) = nullptr;

    memory_source of_host() const { return {take_host, give_host, context}; }
};

/// Zeroed memory, aligned to `arena_alignment`.
class buffer {
public:
    buffer() = default;
    explicit buffer(index_t bytes, int device = 0, const memory_source& source = {});
    buffer(buffer&& other) noexcept;
    buffer& operator=(buffer&& other) noexcept;
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() { give_back(); }

    std::byte* data() const { return data_; }

private:
    void give_back();

    std::byte* data_ = nullptr;
    memory_source source_;
    int device_ = 0;
};

/// Parameters and optimizer state on every device, and beside it in the host's memory.
class parameter_store {
public:
    struct entry {
        tile what;
        index_t offset = 0;
    };

    parameter_store() = default;
    /// Takes the persistent tiles of a plan, with their formats, as they are.
    explicit parameter_store(const plan& p, const memory_source& source = {});

    const std::vector<entry>& entries() const { return entries_; }
    std::byte* address(const entry& e) const;

    /// The entry of a persistent tile of any plan, or null.
    const entry* find(const tile& t) const;

private:
    std::vector<buffer> arenas_;
    std::vector<buffer> host_arenas_; ///< beside each device; none: nothing of any is there
    std::vector<entry> entries_;
};

/// The working memory of plans that run one at a time: an arena for every device, as large as the largest of them wants
/// it, and one in the host's memory, where tiles of one wait there.
class shared_arenas {
public:
    explicit shared_arenas(const memory_source& source = {}) : source_(source) {}

    index_t bytes(int device) const;
    std::byte* data(int device) const { return own_.memory[to_size(device)].data(); }

    std::byte* host_data(int device) const { return host_.memory[to_size(device)].data(); }

    bool has_room(const arena_sizes& wanted) const {
        return own_.has_room(wanted.device) && host_.has_room(wanted.host);
    }
    /// The bytes by which the arena of every device would have to grow.
    std::vector<index_t> missing(const arena_sizes& wanted) const;
    /// Makes room. What lay in an arena that was too small is lost, and it lies elsewhere. Throws tessera::error where
    /// there is no memory; the arenas then have what they had, unless somebody else has taken it meanwhile.
    void grow(const arena_sizes& wanted);

private:
    struct arena_list { ///< of one memory of every device
        std::vector<buffer> memory;
        std::vector<index_t> bytes;

        bool has_room(const std::vector<index_t>& wanted) const;
        void resize(const std::vector<index_t>& wanted, const memory_source& source);
    };

    memory_source source_;
    arena_list own_;
    arena_list host_;
};

/// Where the tiles of one plan lie.
class addresses {
public:
    addresses() = default;
    /// In arenas of the plan's own.
    addresses(const plan& p, const parameter_store& store, const memory_source& source = {});
    /// In arenas that other plans use too; they have room for it.
    addresses(const plan& p, const parameter_store& store, const shared_arenas& shared) { place(p, store, shared); }
    std::byte* operator[](int t) const { return where_[to_size(t)]; }
    /// The plan's arena_bytes of a device: for those who look at what a run touches.
    std::byte* arena(int device) const { return base_[to_size(device)]; }

private:
    void place(const plan& p, const parameter_store& store, const shared_arenas& arenas);

    shared_arenas own_;
    std::vector<std::byte*> base_;
    std::vector<std::byte*> where_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/store.inl"
#endif

#include "tessera/base/end_header.inl"
