// SPDX-License-Identifier: Apache-2.0
// The core by itself: a network as a type, and a strategy that the compiler checks.
#include <tessera/tessera.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<8, ts::window<3>> {};
struct fc1 : ts::linear<10> {};
struct network : ts::sequential<ts::image<1, 12, 12>, conv1, ts::relu, ts::flatten, fc1, ts::cross_entropy> {};

using by_hand = ts::strategy_of<network, 2, 64, ts::on<conv1, ts::split<ts::sample, 2>>>;
constexpr auto view = by_hand::view();

int main() { return TESSERA_VERSION >= 200 && sizeof(ts::library_version) > 5 ? 0 : 1; }
