// SPDX-License-Identifier: Apache-2.0
// README's first program: the network, its strategy found by the compiler, and training. Compiled with
// -DTESSERA_COMPILED against the compiled library, else against the headers; see programs.py.
#include <tessera/host.hpp>
#include <tessera/io/data/fashion_mnist.hpp>

#include <cstdio>
#include <cstdlib>

namespace ts = tessera;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>, conv1, ts::max_pool<2>, ts::relu, conv2, ts::max_pool<2>, ts::relu,
                              ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

using found = ts::search::static_optcnn<lenet, 64, ts::machines::host_threads<2>>;

int main(int argc, char** argv) {
    const std::uint64_t steps = argc > 1 ? static_cast<std::uint64_t>(std::atoll(argv[1])) : 20;
    ts::trainer<lenet> trainer(ts::host::devices(2), found{}, ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F});
    for (const auto& batch : ts::io::fashion_mnist("train").batches(64)) {
        const double loss = trainer.step(batch);
        if (trainer.steps() == steps) {
            std::printf("loss of step %llu: %.6f\n", static_cast<unsigned long long>(steps), loss);
            break;
        }
    }
}
