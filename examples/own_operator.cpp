// SPDX-License-Identifier: Apache-2.0
// Operators that the library does not have, in training on two devices: an element-wise one, a normalization, and one
// with a kernel of its own. Their numbers are those of one device, and a wrong split of them does not compile
// (tests/compile_fail/own_operator_split.cpp).
#include "examples/own_operator.hpp"
#include "examples/output.hpp"

#include <tessera/host.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ts = tessera;

namespace {

struct fc1 : ts::linear<24> {};
struct norm : own::rms_norm {};
struct fc2 : ts::linear<10> {};
struct network : ts::sequential<ts::features<12>, fc1, norm, own::softsign, own::running_sum, fc2, ts::cross_entropy> {
};

// The norm's channels are divided, so that each device sums half of every row: a partial sum that is added up between
// the two.
using by_channels = ts::split<ts::channel, 2>;
using by_samples = ts::split<ts::sample, 2>;
using on_two =
    ts::strategy_of<network, 2, 16, ts::on<fc1, by_channels>, ts::on<norm, by_channels, ts::with_reduction>,
                    ts::on<own::softsign, by_channels>, ts::on<own::running_sum, by_samples>, ts::on<fc2, by_samples>>;
using on_one = ts::strategy_of<network, 1, 16>;

struct samples {
    ts::index_t size = 16;
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
};

samples some() {
    samples s;
    for (int i = 0; i < 16 * 12; ++i) {
        s.inputs.push_back(static_cast<float>(std::sin(0.37 * i)));
    }
    for (int i = 0; i < 16; ++i) {
        s.labels.push_back(i % 10);
    }
    return s;
}

template <class Strategy>
std::vector<double> losses(int devices) {
    ts::trainer<network> t(ts::host::devices(devices), Strategy{}, ts::sgd{.learning_rate = 0.1F});
    const samples batch = some();
    std::vector<double> all;
    for (int step = 0; step < 5; ++step) {
        all.push_back(t.step(batch));
    }
    return all;
}

bool show() {
    const std::vector<double> one = losses<on_one>(1);
    const std::vector<double> two = losses<on_two>(2);
    bool equal = true;
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::printf("step %zu: loss %.4f on one device, %.4f on two\n", i, one[i], two[i]);
        equal = equal && std::abs(one[i] - two[i]) < 1e-5;
    }
    std::printf("%s\n", equal ? "equal" : "not equal");
    return equal;
}

} // namespace

int main() {
    try {
        if (!show()) {
            return EXIT_FAILURE;
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "own_operator: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("own_operator");
}
