// SPDX-License-Identifier: Apache-2.0
// expect-error: the search needs more work than a constant expression may do; raise the budget or search at run time
// expect-error: constant_expression_budget<
#include <tessera/search/optcnn/static_optcnn.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<8, ts::window<3>> {};
struct fc1 : ts::linear<10> {};
struct network : ts::sequential<ts::image<1, 8, 8>, conv1, ts::relu, ts::flatten, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using found = ts::search::static_optcnn<network, 8, ts::machines::p100<4>, 100>;
#else
using found = ts::search::static_optcnn<network, 8, ts::machines::p100<4>>;
#endif

inline constexpr auto view = found::view();
