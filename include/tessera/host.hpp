// SPDX-License-Identifier: Apache-2.0
// The core, the executor and the host backend. refine() has a header of its own, backend/host/refine.hpp: it includes
// the searches, which a program that trains does not need.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp"    // first, so that compilers name this header alone before the words of a refusal
#include "tessera/execute/batch.hpp" // likewise, for those of feeds
#include "tessera/execute/layer_lookup.hpp" // and of layers

#include "tessera/backend/host/backend.hpp"
#include "tessera/execute/measure/sharded.hpp"
#include "tessera/execute/session.hpp"
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

#include "tessera/base/end_header.inl"
