// SPDX-License-Identifier: Apache-2.0
// expect-error: the lengths must be one integer for each sample
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct scores;
struct ends;
struct weights : ts::padded_softmax<> {};
struct weighted;
struct truth;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using ends_of_rows = ts::tokens<4>;
#else
using ends_of_rows = ts::lengths;
#endif

struct network
    : ts::dag<ts::input<scores, ts::sequence<4, 8>>, ts::input<ends, ends_of_rows>, ts::input<truth, ts::tokens<4>>,
              ts::node<weighted, weights, scores, ends>, ts::node<loss, ts::cross_entropy, weighted, truth>> {};

inline constexpr auto view = ts::describe<network, 8>();
