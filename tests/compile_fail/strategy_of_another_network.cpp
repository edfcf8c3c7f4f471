// SPDX-License-Identifier: Apache-2.0
// expect-error: the strategy was made for another network
// expect-error: small
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct small : ts::sequential<ts::features<6>, fc1, ts::cross_entropy> {};
struct large : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using found = ts::strategy_of<small, 2, 64, ts::on<fc1, ts::split<ts::sample, 2>>>;
#else
using found = ts::strategy_of<large, 2, 64, ts::on<fc1, ts::split<ts::sample, 2>>>;
#endif

void train(const ts::local_devices& devices) {
    ts::trainer<large, ts::reference::backend> trainer(devices, found{}, ts::sgd{});
}
