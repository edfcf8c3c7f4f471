// SPDX-License-Identifier: Apache-2.0
// A network that is a type: its object has the kernels of these operators, and of no others.
#include <tessera/host.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct fc1 : ts::linear<10> {};
struct network
    : ts::sequential<ts::image<1, 28, 28>, conv1, ts::max_pool<2>, ts::relu, ts::flatten, fc1, ts::cross_entropy> {};

double train(const ts::local_devices& devices, const ts::strategy& s, std::span<const ts::input_data> batch) {
    ts::trainer<network> t(devices, s, 64, ts::sgd{});
    return t.step(batch);
}
