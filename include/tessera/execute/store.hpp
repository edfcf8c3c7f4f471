// SPDX-License-Identifier: Apache-2.0
// Memory of an executor: the arenas of a plan, and the persistent arena of parameters and optimizer state, which outlives plans so
// that those for training, evaluation and the last short batch share it.
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
    explicit parameter_store(const plan& p, const memory_source& source = {}) {
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

/// The working memory of plans that run one at a time: an arena for every device, as large as the largest of them wants it.
class shared_arenas {
public:
    explicit shared_arenas(const memory_source& source = {}) : source_(source) {}

    index_t bytes(int device) const {
        const auto d = static_cast<std::size_t>(device);
        return d < bytes_.size() ? bytes_[d] : 0;
    }
    std::byte* data(int device) const { return memory_[static_cast<std::size_t>(device)].data(); }

    bool has_room(const std::vector<index_t>& wanted) const {
        bool enough = wanted.size() <= bytes_.size();
        for (std::size_t d = 0; d < wanted.size() && enough; ++d) {
            enough = wanted[d] <= bytes_[d];
        }
        return enough;
    }
    /// The bytes by which the arena of every device would have to grow.
    std::vector<index_t> missing(const std::vector<index_t>& wanted) const {
        std::vector<index_t> more;
        for (std::size_t d = 0; d < wanted.size(); ++d) {
            const index_t there = bytes(static_cast<int>(d));
            more.push_back(wanted[d] > there ? wanted[d] - there : 0);
        }
        return more;
    }
    /// Makes room. What lay in an arena that was too small is lost, and it lies elsewhere. Throws tessera::error where there is no memory; the
    /// arenas then have what they had, unless somebody else has taken it meanwhile.
    void grow(const std::vector<index_t>& wanted) {
        const std::vector<index_t> before = bytes_;
        try {
            resize(wanted);
        } catch (...) {
            resize(before);
            throw;
        }
    }

private:
    void resize(const std::vector<index_t>& wanted) {
        if (memory_.size() < wanted.size()) {
            memory_.resize(wanted.size());
            bytes_.resize(wanted.size(), 0);
        }
        for (std::size_t d = 0; d < wanted.size(); ++d) {
            if (memory_[d].data() == nullptr || bytes_[d] < wanted[d]) {
                memory_[d] = buffer(); // first, so that both are never there at once
                bytes_[d] = 0;
                memory_[d] = buffer(wanted[d], static_cast<int>(d), source_);
                bytes_[d] = wanted[d];
            }
        }
    }

    memory_source source_;
    std::vector<buffer> memory_;
    std::vector<index_t> bytes_;
};

/// Where the tiles of one plan lie.
class addresses {
public:
    addresses() = default;
    /// In arenas of the plan's own.
    addresses(const plan& p, const parameter_store& store, const memory_source& source = {}) : own_(source) {
        own_.grow(p.arena_bytes);
        place(p, store, own_);
    }
    /// In arenas that other plans use too; they have room for it.
    addresses(const plan& p, const parameter_store& store, const shared_arenas& shared) { place(p, store, shared); }
    std::byte* operator[](int t) const { return where_[static_cast<std::size_t>(t)]; }
    /// The plan's arena_bytes of a device: for those who look at what a run touches.
    std::byte* arena(int device) const { return base_[static_cast<std::size_t>(device)]; }

private:
    void place(const plan& p, const parameter_store& store, const shared_arenas& arenas) {
        for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
            base_.push_back(arenas.data(static_cast<int>(d)));
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
                where = base_[static_cast<std::size_t>(t.device)] + t.offset;
            }
            where_.push_back(where);
        }
    }

    shared_arenas own_;
    std::vector<std::byte*> base_;
    std::vector<std::byte*> where_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
