// SPDX-License-Identifier: Apache-2.0
// The network on which the benchmarks of slow links train.
#pragma once

#include "tessera/host.hpp"

namespace benchmarks {

namespace ts = tessera;

/// Most of the work in the first layers, most of the parameters in the last, as in VGG.
struct tower {
    struct conv1 : ts::conv2d<32, ts::window<3>, ts::padding<1>> {};
    struct conv2 : ts::conv2d<64, ts::window<3>, ts::padding<1>> {};
    struct conv3 : ts::conv2d<64, ts::window<3>, ts::padding<1>> {};
    struct conv4 : ts::conv2d<128, ts::window<3>, ts::padding<1>> {};
    struct conv5 : ts::conv2d<128, ts::window<3>, ts::padding<1>> {};
    struct conv6 : ts::conv2d<256, ts::window<3>, ts::padding<1>> {};
    struct fc1 : ts::linear<512> {};
    struct fc2 : ts::linear<10> {};
    struct network : ts::sequential<ts::image<3, 32, 32>, conv1, ts::relu, conv2, ts::relu, ts::max_pool<2>, conv3,
                                    ts::relu, conv4, ts::relu, ts::max_pool<2>, conv5, ts::relu, conv6, ts::relu,
                                    ts::max_pool<2>, ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};
};

} // namespace benchmarks
