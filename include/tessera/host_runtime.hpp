// SPDX-License-Identifier: Apache-2.0
// The core, and a trainer on the host that is compiled once, in the library tessera::host_runtime: what host.hpp has for training and predicting, at a
// fifth of its cost to compile. sharded is in host.hpp alone, refine in backend/host/refine.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp"    // first, so that compilers name this header alone before the words of a refusal
#include "tessera/execute/batch.hpp" // likewise, for those of feeds

#include "tessera/execute/typed_trainer.hpp"
#include "tessera/runtime/host_session.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

template <class Net>
struct host_runtime_default {
    using type = host::runtime;
};

namespace host {

/// host::devices(2): two pinned threads of this process.
using devices = local_devices;

} // namespace host

} // namespace tessera

#include "tessera/base/end_header.inl"
