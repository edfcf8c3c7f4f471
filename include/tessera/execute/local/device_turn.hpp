// SPDX-License-Identifier: Apache-2.0
// Calls on the devices of a process, from several of its threads.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/workers.hpp"

namespace tessera {

/// The devices are this thread's for as long as it lives. All that runs a plan on them, or reads or sets what sessions
/// keep there, takes a turn: calls from several threads on one trainer, or on several that share devices, come one
/// after the other. A call within a call is the same turn.
///
/// Over ranks the order of calls is the same in all processes, which threads that wait for one another would not keep:
/// there a call that would have to wait throws tessera::error, but for those that ask the other processes nothing.
class device_turn {
public:
    enum kind { meets, waits };

    explicit device_turn(workers& threads, kind mode = meets);
    device_turn(const device_turn&) = delete;
    device_turn& operator=(const device_turn&) = delete;
    ~device_turn() { all_.give(); }

private:
    turns& all_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/device_turn.inl"
#endif

#include "tessera/base/end_header.inl"
