// SPDX-License-Identifier: Apache-2.0
// Trains a convolutional network on Fashion-MNIST over two devices of this host, under the strategy that the compiler found.
// Usage: fashion_mnist [epochs]
#include <tessera/host.hpp>
#include <tessera/tessera.hpp>

#include <tessera/io/fashion_mnist.hpp>
#include <tessera/io/train.hpp>
#include <tessera/plan/print.hpp>

#include <cstdio>
#include <cstdlib>

namespace ts = tessera;

namespace {

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>,             //
                              conv1, ts::max_pool<2>, ts::relu, //
                              conv2, ts::max_pool<2>, ts::relu, //
                              ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

// The cheapest strategy for two threads of a host and batches of 64, found while this file is compiled.
using found = ts::search::static_optcnn<lenet, 64, ts::machines::host_threads<2>>;

void train(int epochs) {
    if (epochs < 1) throw ts::error("the number of epochs must be at least 1");
    const auto images = ts::io::fashion_mnist("train");
    const auto unseen = ts::io::fashion_mnist("test");

    ts::trainer<lenet> trainer(ts::host::devices(2), found{}, ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F});
    const ts::plan& plan = trainer.training_plan();
    std::printf("The strategy that the compiler found:\n%s\n", to_text(trainer.graph(), found::view()).c_str());
    std::printf("Its plan: %zu tasks, %lld bytes moved between devices in a step, hash %016llx\n", plan.tasks.size(),
                static_cast<long long>(plan.moved_bytes), static_cast<unsigned long long>(plan.hash));
    for (std::size_t d = 0; d < plan.arena_bytes.size(); ++d)
        std::printf("Memory of device %zu: %lld bytes for a step, %lld for parameters and optimizer state\n", d,
                    static_cast<long long>(plan.arena_bytes[d]), static_cast<long long>(plan.persistent_bytes[d]));

    const auto steps = static_cast<std::uint64_t>(epochs) * static_cast<std::uint64_t>((images.size() + 63) / 64);
    trainer.set_learning_rate(ts::cosine_decay{.rate = 0.02, .steps = steps, .warm_up = steps / 20});
    double seconds = 0;
    std::int64_t samples = 0;
    ts::io::train(trainer, images, {.epochs = epochs, .after_epoch = [&](const ts::io::epoch_record& e) {
                                        seconds += e.seconds;
                                        samples += e.samples;
                                        std::printf("epoch %d: loss %.4f, %.0f images/s\n", e.epoch, e.loss,
                                                    e.samples_per_second());
                                        std::fflush(stdout);
                                    }});
    const ts::scores test = trainer.evaluate(unseen.batches(trainer.batch()));
    std::printf("test accuracy %.2f %% (%lld of %lld), loss %.4f; %.0f images/s over %.1f s of training\n",
                100 * test.accuracy, static_cast<long long>(test.correct), static_cast<long long>(test.rows), test.loss,
                static_cast<double>(samples) / seconds, seconds);
}

} // namespace

int main(int count, char** arguments) {
    try {
        train(count > 1 ? std::atoi(arguments[1]) : 6);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fashion_mnist: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
