// SPDX-License-Identifier: Apache-2.0
// expect-error: are both included, so that a backend must be named
#include <tessera/execute/local/devices.hpp>

namespace ts = tessera;

struct network;

// What default_backend<network> is where host.hpp and cuda.hpp are included, and where cuda.hpp is.
#ifdef TESSERA_EXPECT_ERROR
using backend = ts::detail::choose_default<true, true>::of<network>::type;
#else
using backend = ts::detail::choose_default<false, true>::of<network>;
static_assert(std::is_same_v<backend, ts::cuda_default<network>>);
static_assert(std::is_same_v<ts::detail::choose_default<true, false>::of<network>, ts::host_default<network>>);
#endif
