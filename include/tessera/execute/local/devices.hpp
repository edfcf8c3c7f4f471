// SPDX-License-Identifier: Apache-2.0
// The devices that a process trains on, as a value.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp" // first, so that compilers name few headers before the words of a refusal

#include "tessera/base/owned.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/strategy/strategy.hpp"

#include <concepts>
#include <string>
#include <utility>

namespace tessera {

/// The most devices that one process makes: each is a thread. A number above it is taken for a mistake.
inline constexpr int max_local_devices = 256;

/// A number of devices of this process, each a worker thread (device 0 is the thread that calls). Copies are handles on
/// the same threads, so a temporary may be handed to a trainer; trainers that share them take turns
/// (execute/local/device_turn.hpp).
class local_devices {
public:
    /// Throws tessera::error for less than one device, more than max_local_devices, or more threads than the system
    /// gives.
    explicit local_devices(int count);
    /// The devices of a group of processes, of which this one has some: plans are for all of them.
    explicit local_devices(owned<process_group> group);
    local_devices(const local_devices& other);
    local_devices& operator=(const local_devices& other);
    ~local_devices();

    int count() const { return shared_->threads.all_devices(); }
    workers& threads() const { return shared_->threads; }
    /// These devices, for `what`, which runs in one process alone. Throws tessera::error where they are those of a
    /// group.
    const local_devices& of_one_process(const char* what) const;

private:
    struct shared {
        shared(int count, owned<process_group> processes) : group(std::move(processes)), threads(count, group.get()) {}
        owned<process_group> group;
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

/// The backends of the umbrella headers: host.hpp defines the first, cuda.hpp the second, each in one way, whatever
/// else is included.
template <class Net>
struct host_default;
template <class Net>
struct cuda_default;

namespace detail {

TESSERA_REFUSAL(no_default,
                "there is no backend; include tessera/host.hpp or tessera/cuda.hpp, or name one: trainer<network, "
                "reference::backend>");
TESSERA_REFUSAL(
    two_defaults,
    "tessera/host.hpp and tessera/cuda.hpp are both included, so that a backend must be named: trainer<network, "
    "host::backend> or trainer<network, cuda::backend>");

template <bool Host, bool Cuda>
struct choose_default {
    template <class Net>
    using of = no_default<Net>;
};
template <>
struct choose_default<true, false> {
    template <class Net>
    using of = host_default<Net>;
};
template <>
struct choose_default<false, true> {
    template <class Net>
    using of = cuda_default<Net>;
};
template <>
struct choose_default<true, true> {
    template <class Net>
    using of = two_defaults<Net>;
};

} // namespace detail

/// The backend that a trainer of a network uses unless told otherwise: that of the umbrella header which the source
/// includes. It is an alias, so that sources of one program may differ in it, and the order of the headers does not
/// count.
template <class Net>
using default_backend = typename detail::choose_default < requires {
    sizeof(host_default<Net>);
}
, requires { sizeof(cuda_default<Net>); }
> ::template of<Net>::type;

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/devices.inl"
#endif

#include "tessera/base/end_header.inl"
