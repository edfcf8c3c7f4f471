// SPDX-License-Identifier: Apache-2.0
// The devices that a process trains on, as a value.
#pragma once

#include "tessera/execute/workers.hpp"
#include "tessera/layout/strategy.hpp"

#include <concepts>
#include <string>

namespace tessera {

/// The most devices that one process makes: each is a thread. A number above it is taken for a mistake.
inline constexpr int max_local_devices = 256;

/// A number of devices of this process, each a worker thread (device 0 is the thread that calls). Copies are handles on the same
/// threads, so a temporary may be handed to a trainer; two trainers may share them as long as they do not step at the same time.
class local_devices {
public:
    /// Throws tessera::error for less than one device, more than max_local_devices, or more threads than the system gives.
    explicit local_devices(int count) {
        if (count < 1) {
            throw error("tessera: " + std::to_string(count) +
                        " devices were asked for; there must be at least one device");
        }
        if (count > max_local_devices) {
            throw error("tessera: " + std::to_string(count) + " devices were asked for and a process has at most " +
                        std::to_string(max_local_devices) + "; each is a thread, so make as many as there are cores");
        }
        shared_ = new shared(count);
    }
    local_devices(const local_devices& other) : shared_(other.shared_) {
        shared_->handles.fetch_add(1, std::memory_order_relaxed);
    }
    local_devices& operator=(const local_devices& other) {
        local_devices copy(other);
        shared* mine = shared_;
        shared_ = copy.shared_;
        copy.shared_ = mine;
        return *this;
    }
    ~local_devices() {
        if (shared_->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete shared_;
        }
    }

    int count() const { return shared_->threads.devices(); }
    workers& threads() const { return shared_->threads; }

private:
    struct shared {
        explicit shared(int count) : threads(count) {}
        workers threads;
        std::atomic<int> handles{1};
    };
    shared* shared_ = nullptr;
};

/// A strategy that knows for how many devices and samples it was made: strategy_of<...>, or what a search found.
template <class S>
concept PlannedStrategy = requires(const S& s) {
    { s.view() } -> std::convertible_to<strategy_view>;
    { s.devices } -> std::convertible_to<int>;
    { s.batch } -> std::convertible_to<index_t>;
};

/// The backend that a trainer of a network uses unless told otherwise. An umbrella header such as host.hpp defines it.
template <class Net>
struct default_backend;

} // namespace tessera
