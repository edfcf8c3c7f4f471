// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning: LeNet-5 on Fashion-MNIST over two devices of this host, dense at first; then its smallest weights
// become zero on a schedule, and what is left goes on learning. Prints accuracy and zeros by epoch.
// Usage: prune [EPOCHS] [--to SHARE] [--samples N] [--learning-rate RATE] [--aim ACCURACY] [--data FOLDER]
// The first quarter of the epochs is dense, in the next half the zeros come. The exit code is 1 where a layer has fewer
// zeros at the end, or the accuracy is below the aim.
#include "examples/networks.hpp"
#include "examples/options.hpp"
#include "examples/output.hpp"

#include <tessera/host.hpp>

#include <tessera/io/data/fashion_mnist.hpp>
#include <tessera/io/train.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

using network = networks::lenet5;
constexpr ts::index_t batch = 64;

struct settings {
    int epochs = 12;
    double to = 0.9;             // share of the weights of each layer that are zero at the end
    std::int64_t samples = 0;    // of those to train with and of those to test with; 0: all
    double learning_rate = 0.02; // at the begin; it falls along a cosine
    double aim = 0;
    std::string data = ts::io::fashion_mnist_directory();
};

settings read(int count, char** words) {
    settings s;
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        if (name.rfind("--", 0) != 0) {
            s.epochs = options::whole_number<int>("the number of epochs", name);
            continue;
        }
        if (name != "--to" && name != "--samples" && name != "--learning-rate" && name != "--aim" && name != "--data")
            throw options::usage_error("there is no option " + name +
                                       "; there are --to, --samples, --learning-rate, --aim and --data");
        if (++i == count) throw options::usage_error(name + " takes a value");
        if (name == "--to") s.to = options::number(name, words[i]);
        if (name == "--samples") s.samples = options::whole_number<std::int64_t>(name, words[i]);
        if (name == "--learning-rate") s.learning_rate = options::number(name, words[i]);
        if (name == "--aim") s.aim = options::number(name, words[i]);
        if (name == "--data") s.data = words[i];
    }
    if (s.epochs < 4) throw options::usage_error("the number of epochs must be at least 4");
    if (s.samples < 0) throw options::usage_error("--samples takes at least 0; 0 is all");
    return s;
}

/// The first images of a set.
ts::io::image_set some(const ts::io::image_set& all, std::int64_t count) {
    const auto n = static_cast<std::ptrdiff_t>(count == 0 ? all.size() : std::min<std::int64_t>(count, all.size()));
    const auto each = static_cast<std::ptrdiff_t>(all.images().size()) / static_cast<std::ptrdiff_t>(all.size());
    return {{all.images().begin(), all.images().begin() + n * each},
            {all.labels().begin(), all.labels().begin() + n},
            {all.channels(), all.height(), all.width()},
            all.classes()};
}

/// Weights of a layer that are zero, counted.
struct counted {
    double zeros;
    double all;
    double percent() const { return 100 * zeros / all; }
};
template <class Layer, class Trainer>
counted zeros(const Trainer& trainer) {
    const std::vector<float> weights = trainer.template weights<Layer>();
    return {static_cast<double>(std::count(weights.begin(), weights.end(), 0.0F)), static_cast<double>(weights.size())};
}

bool train(const settings& chosen) {
    using namespace networks::lenet_layers;
    const ts::strategy s = ts::search::data_parallel(ts::describe<network>(batch).view(), 2);
    ts::trainer<network> trainer(ts::host::devices(2), s, batch, ts::optimizer(ts::sgd{.momentum = 0.9F}).pruning());
    const auto images = some(ts::io::fashion_mnist("train", chosen.data), chosen.samples);
    const auto unseen = some(ts::io::fashion_mnist("test", chosen.data), chosen.samples);

    const auto of_epoch = static_cast<std::uint64_t>((images.size() + batch - 1) / batch);
    const std::uint64_t steps = of_epoch * static_cast<std::uint64_t>(chosen.epochs);
    const std::uint64_t every = std::max<std::uint64_t>(1, of_epoch / 10);
    const ts::pruning_schedule schedule{
        .last = chosen.to, .begin = steps / 4, .every = every, .times = std::max<std::uint64_t>(1, steps / 2 / every)};
    trainer.set_learning_rate(ts::cosine_decay{.rate = chosen.learning_rate, .steps = steps});
    trainer.set_pruning(schedule);

    std::printf("zeros of the weights in %%\n"
                "epoch    loss  accuracy   all  conv1 conv2   fc1   fc2   fc3\n");
    double accuracy = 0;
    std::vector<counted> layers;
    ts::io::train_options how;
    how.epochs = chosen.epochs;
    how.after_epoch = [&](const ts::io::epoch_record& e) {
        accuracy = trainer.evaluate(unseen.batches(batch)).accuracy;
        layers = {zeros<conv1>(trainer), zeros<conv2>(trainer), zeros<fc1>(trainer), zeros<fc2>(trainer),
                  zeros<fc3>(trainer)};
        std::printf("%5d  %6.4f   %5.2f %%  %4.1f ", e.epoch, e.loss, 100 * accuracy, 100 * trainer.pruned_share());
        for (const counted& x : layers) std::printf(" %5.1f", x.percent());
        std::printf("\n");
        std::fflush(stdout);
    };
    ts::io::train(trainer, images, how);
    const bool learned = accuracy >= chosen.aim;
    const bool pruned = std::all_of(layers.begin(), layers.end(),
                                    [&](const counted& x) { return x.zeros >= std::floor(chosen.to * x.all); });
    if (!learned) std::printf("an accuracy of %.2f %% is below the aim of %.2f %%\n", 100 * accuracy, 100 * chosen.aim);
    if (!pruned) std::printf("a layer has fewer zeros than %.1f %%\n", 100 * chosen.to);
    return learned && pruned;
}

} // namespace

int main(int count, char** words) {
    try {
        const bool good = train(read(count, words));
        return output::finish("prune", good ? EXIT_SUCCESS : EXIT_FAILURE);
    } catch (const options::usage_error& e) {
        std::fprintf(stderr, "prune: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "prune: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
