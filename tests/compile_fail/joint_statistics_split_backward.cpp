// SPDX-License-Identifier: Apache-2.0
// expect-error: the schedule splits backward, which statistics over the mini-batch do not allow; use GPipe's schedule, statistics over the micro-batch, or 1 micro-batch
// expect-error: layer<norm1>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/schedule/gpipe.hpp>
#include <tessera/schedule/zero_bubble.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<4, ts::window<3>> {};
struct norm1 : ts::batch_norm<> {};
struct fc1 : ts::linear<4> {};
struct network : ts::sequential<ts::image<1, 6, 6>, conv1, norm1, ts::relu, ts::flatten, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<conv1, fc1>, ts::micro_batches<2>,
                                ts::statistics<ts::statistics_over::mini_batch>, ts::pipeline<ts::zero_bubble_h1<>>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<conv1, fc1>, ts::micro_batches<2>,
                                ts::statistics<ts::statistics_over::mini_batch>, ts::pipeline<ts::gpipe>>;
#endif

inline constexpr bool good = by_hand::ok;
