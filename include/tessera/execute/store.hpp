// SPDX-License-Identifier: Apache-2.0
// Memory of an executor: the arenas of a plan, and the persistent arena of parameters and optimizer state, which outlives plans so
// that those for training, evaluation and the last short batch share it.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/plan/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace tessera {

/// Zeroed memory, aligned to `arena_alignment`.
class buffer {
public:
    buffer() = default;
    explicit buffer(index_t bytes) {
        const auto size = static_cast<std::size_t>(detail::align(bytes > 0 ? bytes : 1));
        data_.reset(static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(arena_alignment), size)));
        if (!data_) {
            throw error("tessera: no memory for an arena of " + std::to_string(bytes) +
                        " bytes; use smaller batches or more devices");
        }
        std::memset(data_.get(), 0, size);
    }
    std::byte* data() const { return data_.get(); }

private:
    struct release {
        static void destroy(std::byte* p) { std::free(p); }
    };
    owned<std::byte, release> data_;
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
    explicit parameter_store(const Plan& p) {
        for (index_t bytes : p.persistent_bytes) {
            arenas_.emplace_back(bytes);
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

    /// The entry of a persistent tile of any plan, or null. `number` tells several states of one region on one device apart.
    const entry* find(const tile& t) const {
        for (const entry& e : entries_) {
            if (e.what.kind == t.kind && e.what.tensor == t.tensor && e.what.device == t.device &&
                e.what.region == t.region && e.what.elements == t.elements) {
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
    addresses(const Plan& p, const parameter_store& store) {
        for (index_t bytes : p.arena_bytes) {
            arenas_.emplace_back(bytes);
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

private:
    std::vector<buffer> arenas_;
    std::vector<std::byte*> where_;
};

} // namespace tessera
