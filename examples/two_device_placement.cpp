// SPDX-License-Identifier: Apache-2.0
// A placement over two devices: the convolutions on both, each with half of the samples,
// and the fully connected layers with the labels on device 0 alone. The activations are gathered to device 0, and of
// the gradients only the convolutions' are reduced over the devices. The same network is trained on one device from the
// same seed, and both loss curves are drawn over each other.
// Usage: two_device_placement [epochs [chart.svg]]
#include "examples/options.hpp"
#include "examples/output.hpp"

#include <tessera/host.hpp>

#include <tessera/io/data/fashion_mnist.hpp>
#include <tessera/io/files/file.hpp>
#include <tessera/io/reports/svg_plot.hpp>
#include <tessera/io/train.hpp>
#include <tessera/plan/print.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct drop : ts::channel_dropout<20> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct network : ts::sequential<ts::image<1, 28, 28>,                   //
                                conv1, ts::max_pool<2>, ts::relu,       //
                                conv2, drop, ts::max_pool<2>, ts::relu, //
                                ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

constexpr ts::index_t batch = 64;
using halves = ts::split<ts::sample, 2>;
// What is not named runs whole on device 0: flatten, fc1, its relu, fc2 and the loss.
using placement = ts::strategy_of<network, 2, batch, ts::on<conv1, halves>, ts::on<conv2, halves>, ts::on<drop, halves>,
                                  ts::on<ts::max_pool<2>, halves>, ts::on<ts::instance<ts::relu, 0>, halves>,
                                  ts::on<ts::instance<ts::relu, 1>, halves>>;
// A step moves the activations before flatten and their gradients, 2 * 32 * 320 floats, and halves of the gradients and
// of the new weights of the convolutions in both directions, 2 * (260 + 5020) floats: 124160 bytes.
using one_device = ts::strategy_of<network, 1, batch>;

struct outcome {
    std::vector<double> losses;
    double accuracy = 0;
};

template <class Strategy>
outcome train(const char* name, const ts::io::image_set& images, const ts::io::image_set& unseen, int epochs) {
    ts::trainer<network> trainer(ts::host::devices(Strategy::devices), Strategy{},
                                 ts::sgd{.learning_rate = 0.01F, .momentum = 0.5F}, {.seed = 7});
    std::printf("%s: %lld bytes moved between devices in a step\n%s", name,
                static_cast<long long>(trainer.training_plan().moved_bytes),
                to_text(trainer.graph(), Strategy::view()).c_str());
    outcome result;
    ts::io::train(trainer, images, {.epochs = epochs, .after_epoch = [&](const ts::io::epoch_record& e) {
                                        result.losses.insert(result.losses.end(), e.losses.begin(), e.losses.end());
                                        std::printf("  epoch %d: loss %.4f, %.0f images/s\n", e.epoch, e.loss,
                                                    e.samples_per_second());
                                        std::fflush(stdout);
                                    }});
    result.accuracy = trainer.evaluate(unseen.batches(batch)).accuracy;
    std::printf("  test accuracy %.2f %%\n", 100 * result.accuracy);
    return result;
}

/// Means of 50 steps, so that the curve and not its noise is seen.
ts::io::plot_series curve(const char* name, const std::vector<double>& losses) {
    constexpr std::size_t together = 50;
    ts::io::plot_series series{name, {}, {}};
    for (std::size_t first = 0; first < losses.size(); first += together) {
        const std::size_t end = std::min(first + together, losses.size());
        double sum = 0;
        for (std::size_t i = first; i < end; ++i) sum += losses[i];
        series.x.push_back(static_cast<double>(first + end) / 2);
        series.y.push_back(sum / static_cast<double>(end - first));
    }
    return series;
}

void compare(int epochs, const std::string& path) {
    if (epochs < 1) throw options::usage_error("the number of epochs must be at least 1");
    const auto images = ts::io::fashion_mnist("train");
    const auto unseen = ts::io::fashion_mnist("test");
    const outcome one = train<one_device>("one device", images, unseen, epochs);
    const outcome two = train<placement>("two devices", images, unseen, epochs);
    double largest = 0;
    for (std::size_t i = 0; i < one.losses.size(); ++i)
        largest = std::max(largest, std::abs(one.losses[i] - two.losses[i]));
    const auto a = curve("one device", one.losses);
    const auto b = curve("convolutions on two devices", two.losses);
    double apart = 0;
    for (std::size_t i = 0; i < a.y.size(); ++i) apart = std::max(apart, std::abs(a.y[i] - b.y[i]));
    ts::io::write_file_atomically(
        path, ts::io::to_svg({.title = "Fashion-MNIST, " + std::to_string(epochs) + " epochs, batches of 64",
                              .x_label = "step",
                              .y_label = "training loss, mean of 50 steps",
                              .series = {a, b}}));
    std::printf(
        "largest difference of the loss of one step %.3g, of the mean of 50 steps %.3g; the first 10 steps %.3g\n",
        largest, apart, [&] {
            double first = 0;
            for (std::size_t i = 0; i < std::min<std::size_t>(10, one.losses.size()); ++i)
                first = std::max(first, std::abs(one.losses[i] - two.losses[i]));
            return first;
        }());
    std::printf("the curves are in %s\n", path.c_str());
}

} // namespace

int main(int count, char** words) {
    try {
        if (count > 3) throw options::usage_error("there are two settings: the number of epochs and the chart's file");
        compare(count > 1 ? options::whole_number<int>("the number of epochs", words[1]) : 5,
                count > 2 ? words[2] : "two_device_placement.svg");
    } catch (const options::usage_error& e) {
        std::fprintf(stderr, "two_device_placement: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "two_device_placement: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("two_device_placement");
}
