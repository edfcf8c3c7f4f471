// SPDX-License-Identifier: Apache-2.0
// expect-error: a pad adds at least 0 indices; crop takes indices away
// expect-error: layer<around>
// expect-error: loop_name::height
// expect-error: found<-1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct around : ts::pad<ts::margin<2, 1, -1>> {};
#else
struct around : ts::pad<ts::margin<2, 1, 0>> {};
#endif

struct network : ts::sequential<ts::image<1, 8, 8>, around, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
