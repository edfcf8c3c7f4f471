// SPDX-License-Identifier: Apache-2.0
// expect-error: a part of the network is no layer; inherit publicly from one
// expect-error: layer<fc1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
class fc1 : ts::linear<10> {};
#else
class fc1 : public ts::linear<10> {};
#endif
struct network : ts::sequential<ts::features<16>, fc1, ts::cross_entropy> {};

inline const ts::graph view = ts::describe<network>(8);
