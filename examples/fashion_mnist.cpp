// SPDX-License-Identifier: Apache-2.0
// Trains a convolutional network on Fashion-MNIST over two devices of this host, under the strategy that the compiler
// found.
// Usage: fashion_mnist [epochs] [--devices N] [--device-memory BYTES] [--learning-rate RATE] [--data FOLDER]
//                      [--metrics FOLDER]
// A folder of metrics gets the loss of every step as CSV and for TensorBoard, and its curve as loss.svg.
#include "examples/options.hpp"
#include "examples/output.hpp"

#include <tessera/host.hpp>
#include <tessera/tessera.hpp>

#include <tessera/io/data/fashion_mnist.hpp>
#include <tessera/io/files/file.hpp>
#include <tessera/io/reports/learning_curve.hpp>
#include <tessera/io/train.hpp>
#include <tessera/plan/print.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

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

struct settings {
    int epochs = 6;
    int devices = 2;               // as many as the strategy was found for
    ts::index_t device_memory = 0; // bytes of each; 0: no limit
    double learning_rate = 0.02;
    std::string data = ts::io::fashion_mnist_directory();
    std::string metrics{}; // empty: nothing is logged
};

settings read(int count, char** words) {
    settings s;
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        if (name.rfind("--", 0) != 0) {
            s.epochs = options::whole_number<int>("the number of epochs", name);
            continue;
        }
        if (name != "--devices" && name != "--device-memory" && name != "--learning-rate" && name != "--data" &&
            name != "--metrics")
            throw options::usage_error("there is no option " + name +
                                       "; there are --devices, --device-memory, --learning-rate, --data and --metrics");
        if (++i == count) throw options::usage_error(name + " takes a value");
        if (name == "--devices") s.devices = options::whole_number<int>(name, words[i]);
        if (name == "--device-memory") s.device_memory = options::whole_number<ts::index_t>(name, words[i]);
        if (name == "--learning-rate") s.learning_rate = options::number(name, words[i]);
        if (name == "--data") s.data = words[i];
        if (name == "--metrics") s.metrics = words[i];
    }
    if (s.epochs < 1) throw options::usage_error("the number of epochs must be at least 1");
    if (s.device_memory < 0) throw options::usage_error("--device-memory takes at least 0 bytes; 0 is no limit");
    return s;
}

void train(const settings& chosen) {
    const int epochs = chosen.epochs;
    ts::trainer<lenet> trainer(ts::host::devices(chosen.devices), found{},
                               ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F},
                               {.device_memory = chosen.device_memory});
    const auto images = ts::io::fashion_mnist("train", chosen.data);
    const auto unseen = ts::io::fashion_mnist("test", chosen.data);

    std::optional<ts::io::metrics_log> log;
    if (!chosen.metrics.empty()) log.emplace(chosen.metrics);

    const ts::plan& plan = trainer.training_plan();
    std::printf("The strategy that the compiler found:\n%s\n", to_text(trainer.graph(), found::view()).c_str());
    std::printf("Its plan: %zu tasks, %lld bytes moved between devices in a step, hash %016llx\n", plan.tasks.size(),
                static_cast<long long>(plan.moved_bytes), static_cast<unsigned long long>(plan.hash));
    for (std::size_t d = 0; d < plan.arena_bytes.size(); ++d)
        std::printf("Memory of device %zu: %lld bytes for a step, %lld for parameters and optimizer state\n", d,
                    static_cast<long long>(plan.arena_bytes[d]), static_cast<long long>(plan.persistent_bytes[d]));

    const auto steps = static_cast<std::uint64_t>(epochs) * static_cast<std::uint64_t>((images.size() + 63) / 64);
    trainer.set_learning_rate(ts::cosine_decay{.rate = chosen.learning_rate, .steps = steps, .warm_up = steps / 20});
    double seconds = 0;
    std::int64_t samples = 0;
    const auto after_epoch = [&](const ts::io::epoch_record& e) {
        seconds += e.seconds;
        samples += e.samples;
        std::printf("epoch %d: loss %.4f, %.0f images/s\n", e.epoch, e.loss, e.samples_per_second());
        std::fflush(stdout);
        if (log)
            log->add("test/accuracy", static_cast<std::int64_t>(trainer.steps()),
                     trainer.evaluate(unseen.batches(trainer.batch())).accuracy);
    };
    ts::io::train(trainer, images, {.epochs = epochs, .after_epoch = after_epoch, .metrics = log ? &*log : nullptr});
    if (log) {
        const ts::io::logged_run run{"training", ts::io::read_metrics(log->csv_path())};
        ts::io::write_file_atomically(chosen.metrics + "/loss.svg",
                                      to_svg(ts::io::learning_curve({run}, "loss", {.smoothing = 0.95})));
    }
    const ts::scores test = trainer.evaluate(unseen.batches(trainer.batch()));
    std::printf("test accuracy %.2f %% (%lld of %lld), loss %.4f; %.0f images/s over %.1f s of training\n",
                100 * test.accuracy, static_cast<long long>(test.correct), static_cast<long long>(test.rows), test.loss,
                static_cast<double>(samples) / seconds, seconds);
}

} // namespace

int main(int count, char** words) {
    try {
        train(read(count, words));
    } catch (const options::usage_error& e) {
        std::fprintf(stderr, "fashion_mnist: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fashion_mnist: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("fashion_mnist");
}
