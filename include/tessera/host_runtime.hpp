// SPDX-License-Identifier: Apache-2.0
// Names from before tessera::compiled, which compiles all that is no template, sessions too: include tessera/host.hpp
// and link it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/host.hpp"

namespace tessera::host {

using runtime [[deprecated("since 0.3: use host::backend, which tessera::compiled compiles")]] = backend;
using runtime_session [[deprecated("since 0.3: use session<host::backend>")]] = session<backend>;

} // namespace tessera::host

#include "tessera/base/end_header.inl"
