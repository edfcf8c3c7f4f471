// SPDX-License-Identifier: Apache-2.0
// The core, the executor and the host backend.
#pragma once

#include "tessera/base/rules.hpp" // first, so that compilers name this header alone before the words of a refusal

#include "tessera/backend/host/backend.hpp"
#include "tessera/backend/host/measure/measured_tasks.hpp"
#include "tessera/execute/refine.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/execute/sharded.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

template <class Net>
struct host_default {
    using type = host::backend;
};

namespace host {

/// host::devices(2): two pinned threads of this process.
using devices = local_devices;

} // namespace host

} // namespace tessera
