// SPDX-License-Identifier: Apache-2.0
// Backends with memory of their own in a group of processes: each process has that of its own devices, and copies, in
// the processor's memory, of what it reads of the others'.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/backend.hpp"
#include "tessera/execute/local/store.hpp"

#include <cstring>
#include <span>
#include <vector>

#include <sys/mman.h>

namespace tessera {

/// A backend of which every process of a group runs the tasks of its own devices, in memory that other processes do not
/// see: it has memory() and queues its tasks, orders them across processes by itself, agrees with the others on what
/// plans depend on, and has
///   b.read(device, memory, bytes, to)   copies bytes of one of its own devices to the processor.
/// It hands what to_plain(), from_plain() and leaders() are given of another process's device to the processor.
template <class B>
concept RunsOverGroups = has_memory<B> && queues_tasks<B> && agrees_over_groups<B> &&
    requires(const B& b, const std::byte* from, std::byte* to) {
    b.read(0, from, index_t{1}, to);
};

namespace detail {

/// Some memory of a device of the plan.
struct resident_bytes {
    int device = 0;
    std::byte* at = nullptr; ///< in the process of the device the memory itself, in others their copy
    index_t bytes = 0;
};

/// Where the arenas of a plan's devices are: what all processes see, or for a backend with memory of its own that of
/// the own devices, and of others room for copies, of which only what is written takes memory.
template <class B>
class memory_of_group {
public:
    memory_of_group(B& backend, process_group* group) : backend_(backend), group_(group) {}
    memory_of_group(const memory_of_group&) = delete;
    memory_of_group& operator=(const memory_of_group&) = delete;

    memory_source source() {
        if (group_ == nullptr) {
            return memory_of(backend_);
        }
        if constexpr (RunsOverGroups<B>) {
            return {
                [](void* mine, int device, index_t bytes) {
                    return static_cast<memory_of_group*>(mine)->take(device, bytes);
                },
                [](void* mine, int device, void* memory) { static_cast<memory_of_group*>(mine)->give(device, memory); },
                this,
                // Of another process's device nobody here touches it: it is as large, and takes no memory.
                [](void* mine, int device, index_t bytes) {
                    return static_cast<memory_of_group*>(mine)->take(device, bytes, true);
                },
                [](void* mine, int device, void* memory) {
                    static_cast<memory_of_group*>(mine)->give(device, memory, true);
                }};
        } else {
            return group_->memory();
        }
    }

    /// Brings the copies up to date. All processes of the group call it, with the same. Bytes: twice all of it, to and
    /// from each of them (an all-reduce).
    void bring(std::span<const resident_bytes> all) {
        if constexpr (RunsOverGroups<B>) {
            index_t bytes = 0;
            for (const resident_bytes& x : all) {
                bytes += x.bytes;
            }
            if (group_ == nullptr || bytes == 0) {
                return;
            }
            joined_.assign(to_size(bytes), std::byte{0});
            std::byte* at = joined_.data();
            for (const resident_bytes& x : all) {
                if (group_->owns(x.device)) {
                    backend_.read(x.device, x.at, x.bytes, at);
                }
                at += x.bytes;
            }
            group_->join(joined_);
            at = joined_.data();
            for (const resident_bytes& x : all) {
                if (!group_->owns(x.device)) {
                    std::memcpy(x.at, at, to_size(x.bytes));
                }
                at += x.bytes;
            }
        }
    }
    /// Brings what a store keeps: all, or parameter `only` without the optimizer's state.
    void bring(const parameter_store& store, int only = -1) {
        if constexpr (RunsOverGroups<B>) {
            std::vector<resident_bytes> all;
            for (const parameter_store::entry& e : store.entries()) {
                if (only < 0 || (e.what.kind == tile_kind::parameter && e.what.tensor == only)) {
                    all.push_back({e.what.device, store.address(e), e.what.bytes});
                }
            }
            bring(all);
        }
    }

private:
    struct copy_room {
        void* memory;
        std::size_t bytes;
    };

    memory_source own_source(bool on_host) const {
        const memory_source own = backend_.memory();
        return on_host ? own.of_host() : own;
    }
    void* take(int device, index_t bytes, bool on_host = false) {
        const memory_source own = group_->owns(device) ? own_source(on_host) : memory_source{};
        if (own.take != nullptr) {
            return own.take(own.context, device, bytes);
        }
        const auto size = to_size(bytes > 0 ? bytes : 1);
        void* const room =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) {
            throw error("tessera: no room for copies of " + std::to_string(bytes) + " bytes of device " +
                        std::to_string(device) + ", which another rank has; use smaller batches or more devices");
        }
        rooms_.push_back({room, size});
        return room;
    }
    void give(int device, void* memory, bool on_host = false) {
        const memory_source own = group_->owns(device) ? own_source(on_host) : memory_source{};
        if (own.give != nullptr) {
            own.give(own.context, device, memory);
            return;
        }
        for (std::size_t i = 0; i < rooms_.size(); ++i) {
            if (rooms_[i].memory == memory) {
                munmap(memory, rooms_[i].bytes);
                rooms_.erase(rooms_.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }

    B& backend_;
    process_group* group_;
    std::vector<copy_room> rooms_;
    std::vector<std::byte> joined_; ///< kept, so that a step allocates nothing
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
