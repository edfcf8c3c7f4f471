// SPDX-License-Identifier: Apache-2.0
// expect-error: there is no backend; include tessera/host.hpp or tessera/cuda.hpp
#include <tessera/execute/local/devices.hpp>

namespace ts = tessera;

struct network;

#ifdef TESSERA_EXPECT_ERROR
using backend = ts::default_backend<network>;
#endif
