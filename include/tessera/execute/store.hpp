// SPDX-License-Identifier: Apache-2.0
// Memory of an executor: the arenas of a plan, and the persistent arena of parameters and optimizer state, which outlives plans so
// that those for training, evaluation and the last short batch share it.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/plan/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace tessera {

/// Where the memory of a plan's devices comes from; of the processor unless a backend has its own (see run_hooks.hpp).
struct memory_source {
    void* (*take)(void* context, int device,
                  index_t bytes) = nullptr; ///< zeroed; throws tessera::error when there is none
    void (*give)(void* context, int device, void* memory) = nullptr;
    void* context = nullptr;
};

/// Zeroed memory, aligned to `arena_alignment`.
class buffer {
public:
    buffer() = default;
    explicit buffer(index_t bytes, int device = 0, const memory_source& source = {})
        : source_(source), device_(device) {
        if (source.take != nullptr) {
            data_ = static_cast<std::byte*>(source.take(source.context, device, bytes));
            return;
        }
        const auto size = static_cast<std::size_t>(detail::align(bytes > 0 ? bytes : 1));
        data_ = static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(arena_alignment), size));
        if (data_ == nullptr) {
            throw error("tessera: no memory for an arena of " + std::to_string(bytes) +
                        " bytes; use smaller batches or more devices");
        }
        std::memset(data_, 0, size);
    }
    buffer(buffer&& other) noexcept : data_(other.data_), source_(other.source_), device_(other.device_) {
        other.data_ = nullptr;
    }
    buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            give_back();
            data_ = other.data_;
            source_ = other.source_;
            device_ = other.device_;
            other.data_ = nullptr;
        }
        return *this;
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() { give_back(); }

    std::byte* data() const { return data_; }

private:
    void give_back() {
        if (data_ != nullptr) {
            source_.give != nullptr ? source_.give(source_.context, device_, data_) : std::free(data_);
        }
    }

    std::byte* data_ = nullptr;
    memory_source source_;
    int device_ = 0;
};

/// Parameters and optimizer state on every device.
class parameter_store {
public:
    struct entry {
        tile what;
        index_t offset = 0;
    };

    parameter_store() = default;
    /// Takes the persistent tiles of a plan, with their formats, as they are.
    template <class Plan>
    explicit parameter_store(const Plan& p, const memory_source& source = {}) {
        for (index_t bytes : p.persistent_bytes) {
            arenas_.emplace_back(bytes, static_cast<int>(arenas_.size()), source);
        }
        for (const tile& t : p.tiles) {
            if (is_persistent(t.kind)) {
                entries_.push_back({t, t.offset});
            }
        }
    }

    const std::vector<entry>& entries() const { return entries_; }
    std::byte* address(const entry& e) const {
        return arenas_[static_cast<std::size_t>(e.what.device)].data() + e.offset;
    }

    /// The entry of a persistent tile of any plan, or null.
    const entry* find(const tile& t) const {
        for (const entry& e : entries_) {
            if (e.what.kind == t.kind && e.what.tensor == t.tensor && e.what.device == t.device &&
                e.what.region == t.region && e.what.elements == t.elements && e.what.slice == t.slice &&
                e.what.slices == t.slices) {
                return &e;
            }
        }
        return nullptr;
    }

private:
    std::vector<buffer> arenas_;
    std::vector<entry> entries_;
};

/// Where the tiles of one plan lie.
class addresses {
public:
    addresses() = default;
    template <class Plan>
    addresses(const Plan& p, const parameter_store& store, const memory_source& source = {}) {
        for (index_t bytes : p.arena_bytes) {
            arenas_.emplace_back(bytes, static_cast<int>(arenas_.size()), source);
        }
        for (const tile& t : p.tiles) {
            std::byte* where = nullptr;
            if (is_persistent(t.kind)) {
                const parameter_store::entry* e = store.find(t);
                if (e == nullptr) {
                    throw error(
                        "tessera: the plan needs a parameter where the parameter store has none; plans that share "
                        "parameters must come from one strategy");
                }
                where = store.address(*e);
            } else if (t.device >= 0 && t.offset >= 0) {
                where = arenas_[static_cast<std::size_t>(t.device)].data() + t.offset;
            }
            where_.push_back(where);
        }
    }
    std::byte* operator[](int t) const { return where_[static_cast<std::size_t>(t)]; }
    /// The plan's arena_bytes of a device: for those who look at what a run touches.
    std::byte* arena(int device) const { return arenas_[static_cast<std::size_t>(device)].data(); }

private:
    std::vector<buffer> arenas_;
    std::vector<std::byte*> where_;
};

} // namespace tessera
