// SPDX-License-Identifier: Apache-2.0
// Bodies of store.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/store.hpp"

namespace tessera {

TESSERA_INLINE buffer::buffer(index_t bytes, int device, const memory_source& source)
    : source_(source), device_(device) {
    if (source.take != nullptr) {
        data_ = static_cast<std::byte*>(source.take(source.context, device, bytes));
        return;
    }
    const auto size = to_size(detail::align(bytes > 0 ? bytes : 1));
    data_ = static_cast<std::byte*>(std::aligned_alloc(to_size(arena_alignment), size));
    if (data_ == nullptr) {
        throw error("tessera: no memory for an arena of " + std::to_string(bytes) +
                    " bytes; use smaller batches or more devices");
    }
    std::memset(data_, 0, size);
}

TESSERA_INLINE buffer::buffer(buffer&& other) noexcept
    : data_(other.data_), source_(other.source_), device_(other.device_) {
    other.data_ = nullptr;
}

TESSERA_INLINE buffer& buffer::operator=(buffer&& other) noexcept {
    if (this != &other) {
        give_back();
        data_ = other.data_;
        source_ = other.source_;
        device_ = other.device_;
        other.data_ = nullptr;
    }
    return *this;
}

TESSERA_INLINE void buffer::give_back() {
    if (data_ != nullptr) {
        source_.give != nullptr ? source_.give(source_.context, device_, data_) : std::free(data_);
    }
}

TESSERA_INLINE parameter_store::parameter_store(const plan& p, const memory_source& source) {
    for (index_t bytes : p.persistent_bytes) {
        arenas_.emplace_back(bytes, static_cast<int>(arenas_.size()), source);
    }
    // Other processes of a node look at it too: where nothing says where the host's memory is from, it is as a device's.
    const memory_source host = source.take_host != nullptr ? source.of_host() : source;
    for (index_t bytes : p.host_persistent_bytes) {
        host_arenas_.emplace_back(bytes, static_cast<int>(host_arenas_.size()), host);
    }
    for (const tile& t : p.tiles) {
        if (is_persistent(t.kind)) {
            entries_.push_back({t, t.offset});
        }
    }
}

TESSERA_INLINE std::byte* parameter_store::address(const entry& e) const {
    return (e.what.on_host ? host_arenas_ : arenas_)[to_size(e.what.device)].data() + e.offset;
}

TESSERA_INLINE const parameter_store::entry* parameter_store::find(const tile& t) const {
    for (const entry& e : entries_) {
        if (e.what.kind == t.kind && e.what.tensor == t.tensor && e.what.device == t.device &&
            e.what.region == t.region && e.what.elements == t.elements && e.what.slice == t.slice &&
            e.what.slices == t.slices && e.what.on_host == t.on_host) {
            return &e;
        }
    }
    return nullptr;
}

TESSERA_INLINE index_t shared_arenas::bytes(int device) const {
    const auto d = to_size(device);
    return d < own_.bytes.size() ? own_.bytes[d] : 0;
}

TESSERA_INLINE bool shared_arenas::arena_list::has_room(const std::vector<index_t>& wanted) const {
    bool enough = wanted.size() <= bytes.size();
    for (std::size_t d = 0; d < wanted.size() && enough; ++d) {
        enough = wanted[d] <= bytes[d];
    }
    return enough;
}

TESSERA_INLINE std::vector<index_t> shared_arenas::missing(const arena_sizes& wanted) const {
    std::vector<index_t> more;
    for (std::size_t d = 0; d < wanted.device.size(); ++d) {
        const index_t there = bytes(static_cast<int>(d));
        more.push_back(wanted.device[d] > there ? wanted.device[d] - there : 0);
    }
    return more;
}

TESSERA_INLINE void shared_arenas::grow(const arena_sizes& wanted) {
    const arena_sizes before{own_.bytes, host_.bytes};
    const auto resize = [this](const arena_sizes& to) {
        own_.resize(to.device, source_);
        host_.resize(to.host, source_.of_host());
    };
    try {
        resize(wanted);
    } catch (...) {
        resize(before);
        throw;
    }
}

TESSERA_INLINE void shared_arenas::arena_list::resize(const std::vector<index_t>& wanted, const memory_source& source) {
    if (memory.size() < wanted.size()) {
        memory.resize(wanted.size());
        bytes.resize(wanted.size(), 0);
    }
    for (std::size_t d = 0; d < wanted.size(); ++d) {
        if (memory[d].data() == nullptr || bytes[d] < wanted[d]) {
            memory[d] = buffer(); // first, so that both are never there at once
            bytes[d] = 0;
            memory[d] = buffer(wanted[d], static_cast<int>(d), source);
            bytes[d] = wanted[d];
        }
    }
}

TESSERA_INLINE addresses::addresses(const plan& p, const parameter_store& store, const memory_source& source)
    : own_(source) {
    own_.grow(working_arenas(p));
    place(p, store, own_);
}

TESSERA_INLINE void addresses::place(const plan& p, const parameter_store& store, const shared_arenas& arenas) {
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        base_.push_back(arenas.data(static_cast<int>(d)));
    }
    for (const tile& t : p.tiles) {
        std::byte* where = nullptr;
        if (is_persistent(t.kind)) {
            const parameter_store::entry* e = store.find(t);
            if (e == nullptr) {
                throw error("tessera: the plan needs a parameter where the parameter store has none; plans that share "
                            "parameters must come from one strategy");
            }
            where = store.address(*e);
        } else if (t.device >= 0 && t.offset >= 0) {
            where = (t.on_host ? arenas.host_data(t.device) : base_[to_size(t.device)]) + t.offset;
        }
        where_.push_back(where);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
