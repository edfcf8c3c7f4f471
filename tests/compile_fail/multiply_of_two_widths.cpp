// SPDX-License-Identifier: Apache-2.0
// expect-error: the inputs of an element-wise layer must have the same shape; behind the samples one may have extent 1
// expect-error: along<tessera::loop_name::channel>, tessera::found<4>, tessera::needed<6>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<6> {};
struct fc2 : ts::linear<8> {};
template <int Gates>
struct gate : ts::linear<Gates> {};

template <int Gates>
struct gated : ts::sequential<ts::features<6>, ts::branches<ts::multiply, ts::branch<fc1>, ts::branch<gate<Gates>>>,
                              fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : gated<4> {};
#else
struct network : gated<1> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
