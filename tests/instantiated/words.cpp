// SPDX-License-Identifier: Apache-2.0
// Another one, whose operators are others, and one of its operators by itself.
#include <tessera/host.hpp>

namespace ts = tessera;

struct words : ts::embedding<100, 8> {};
struct norm : ts::layer_norm<> {};
struct logits : ts::linear<100> {};
struct network : ts::sequential<ts::tokens<16>, words, ts::residual<norm, ts::dropout<10>>, logits, ts::cross_entropy> {
};

double train(const ts::local_devices& devices, const ts::strategy& s, std::span<const ts::input_data> batch) {
    ts::trainer<network> t(devices, s, 64, ts::sgd{});
    return t.step(batch);
}

void run(const ts::local_devices& devices) {
    ts::sharded<norm> alone(devices, ts::make_shape(4, 8));
    alone.forward();
}
