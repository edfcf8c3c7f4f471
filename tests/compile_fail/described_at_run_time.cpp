// SPDX-License-Identifier: Apache-2.0
// The batch is no constant, but what the network breaks does not depend on it.
// expect-error: the kernel is larger than its padded input; pad the input or shrink the kernel
// expect-error: layer<conv1>
// expect-error: found<9>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv2d<8, ts::window<9>> {};
#else
struct conv1 : ts::conv2d<8, ts::window<8>> {};
#endif
struct network : ts::sequential<ts::image<3, 8, 8>, conv1, ts::flatten, ts::cross_entropy> {};

inline ts::graph described(ts::index_t batch) { return ts::describe<network>(batch); }
