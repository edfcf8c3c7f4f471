// SPDX-License-Identifier: Apache-2.0
// How long a training over slow links takes to a stated accuracy: LeNet on Fashion-MNIST, data parallel under each policy, and the strategy that
// OptCNN's search finds for the link, each from the same initial values and with the same batches.
//
//     tests/ranks/links.py --mpi ompi-c --nodes 2 build/release/benchmarks/ranks/time_to_accuracy [MB/S [SECONDS [PERCENT [SVG]]]]
//
// Each node has one device, and a core of the machine. The clock stands while accuracy is measured, on the first 2,048 images of the test set every 96 steps;
// a training ends with the accuracy or after so many seconds. A table goes to standard output, curves over wall time to a file.
#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/links.hpp"
#include "benchmarks/support/timing.hpp"

#include <tessera/backend/host/measure/this_host.hpp>
#include <tessera/host.hpp>
#include <tessera/io/fashion_mnist.hpp>
#include <tessera/io/file.hpp>
#include <tessera/io/svg_plot.hpp>
#include <tessera/ranks/mpi.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::index_t;

namespace {

struct conv1 : ts::conv2d<20, ts::window<5>> {};
struct conv2 : ts::conv2d<50, ts::window<5>> {};
struct fc1 : ts::linear<500> {};
struct fc2 : ts::linear<10> {};
/// Caffe's LeNet, 431,080 parameters, most of them in one layer.
struct network : ts::sequential<ts::image<1, 28, 28>, conv1, ts::max_pool<2>, ts::relu, conv2, ts::max_pool<2>,
                                ts::relu, ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

constexpr index_t batch = 64;
constexpr int period = 8;          // steps that are taken together
constexpr int evaluate_every = 96; // steps, a multiple of period
constexpr double rate = 0.02;

struct candidate {
    std::string name;
    ts::strategy how;
};

std::vector<candidate> candidates(const ts::graph_view& g, int devices, double bytes_per_second, double milliseconds) {
    const std::vector<ts::schedule::ready_gradient> gradients = ts::schedule::gradients_of(g);
    const ts::strategy data = ts::search::data_parallel(g, devices);
    const auto by = [&](const ts::strategy& s, const char* name, benchmarks::by_name_options options = {}) {
        return benchmarks::with(s, benchmarks::policy_by(name, gradients, devices, options));
    };
    const ts::strategy found =
        benchmarks::found_by("optcnn", g, benchmarks::nodes_that_take(g, milliseconds, bytes_per_second, devices));
    std::vector<candidate> all = {{"blocking", by(data, "blocking-all-reduce")},
                                  {"ring, fused (Horovod)", by(data, "tensor-fusion")},
                                  {"servers", by(data, "parameter-server")},
                                  {"ByteScheduler", by(data, "byte-scheduler")},
                                  {"P3", by(data, "p3")},
                                  {"8 bits", by(data, "eight-bit-gradients")},
                                  {"1 bit", by(data, "one-bit-gradients")},
                                  {"top k", by(data, "top-k-gradients")},
                                  {"late by 2 steps", by(data, "stale-gradients", {{"staleness", 2}})},
                                  {"OptCNN", by(found, "blocking-all-reduce")},
                                  {"OptCNN, P3", by(found, "p3")}};
    for (candidate& c : all) {
        c.how.period = period;
    }
    return all;
}

/// A batch that stays, whatever its range does.
struct kept_batch {
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;

    explicit kept_batch(const ts::io::batch& b)
        : pixels(b.inputs.begin(), b.inputs.end()), labels(b.labels.begin(), b.labels.end()) {}
    ts::io::batch view() const { return {pixels, labels, static_cast<std::int64_t>(labels.size())}; }
};

std::vector<kept_batch> first_batches(const ts::io::image_set& set, int count, const ts::io::batch_options& options) {
    std::vector<kept_batch> all;
    for (const auto& b : set.batches(batch, options)) {
        if (static_cast<int>(all.size()) == count) {
            break;
        }
        all.emplace_back(b);
    }
    return all;
}

struct settings {
    double bytes_per_second;
    double seconds;
    double accuracy;
};

/// Seconds and accuracy, up to the accuracy that is wanted.
ts::io::plot_series train(const candidate& c, const settings& wanted, const ts::local_devices& over,
                          const ts::io::image_set& images, const std::vector<kept_batch>& unseen) {
    ts::trainer<network> trainer(over, c.how, batch,
                                 ts::sgd{.learning_rate = static_cast<float>(rate), .momentum = 0.9F});
    std::vector<ts::io::batch> test;
    for (const kept_batch& b : unseen) {
        test.push_back(b.view());
    }
    ts::io::plot_series curve;
    curve.name = c.name;
    double seconds = 0;
    for (std::uint64_t epoch = 0, step = 0;; ++epoch) {
        std::vector<kept_batch> some;
        for (const auto& b : images.batches(batch, {.shuffle_seed = 7, .epoch = epoch, .drop_last = true})) {
            some.emplace_back(b);
            if (some.size() < static_cast<std::size_t>(period)) {
                continue;
            }
            std::vector<ts::io::batch> views;
            for (const kept_batch& k : some) {
                views.push_back(k.view());
            }
            MPI_Barrier(MPI_COMM_WORLD);
            seconds += 1e-3 * benchmarks::milliseconds([&] {
                           trainer.steps(views);
                           MPI_Barrier(MPI_COMM_WORLD);
                       });
            some.clear();
            step += period;
            if (step % evaluate_every != 0) {
                continue;
            }
            curve.x.push_back(benchmarks::of_first(seconds));
            curve.y.push_back(trainer.evaluate(test).accuracy);
            if (curve.y.back() >= wanted.accuracy || curve.x.back() > wanted.seconds) {
                return curve;
            }
        }
    }
}

int program(const ts::mpi::environment& mpi, const settings& wanted, const std::string& picture) {
    benchmarks::bytes_sent();
    benchmarks::run_on(mpi.rank(), 1);
    const ts::local_devices over = ts::mpi::ranks(mpi);
    if (over.threads().group()->nodes() != mpi.size() || mpi.size() < 2) {
        throw ts::error(
            "usage: links.py --nodes 2 time_to_accuracy [MB/S [SECONDS [PERCENT [SVG]]]], a rank on each node");
    }
    const bool first = mpi.rank() == 0;
    const ts::io::image_set images = ts::io::fashion_mnist("train");
    const ts::io::image_set test = ts::io::fashion_mnist("test");
    const std::vector<kept_batch> unseen = first_batches(test, 32, {});
    const ts::graph described = ts::describe<network>(batch);
    const ts::graph_view g = described.view();

    // What a step takes without links, for the search: blocking sums on links without a limit.
    double milliseconds = 0;
    {
        const kept_batch one = first_batches(images, 1, {}).front();
        ts::trainer<network> trainer(over, ts::search::data_parallel(g, mpi.size()), batch,
                                     ts::sgd{.learning_rate = 0});
        std::vector<double> times;
        for (int i = 0; i < 20; ++i) {
            times.push_back(benchmarks::milliseconds([&] { trainer.step(one.view()); }));
        }
        milliseconds = benchmarks::of_first(benchmarks::median(times));
    }
    const std::vector<candidate> all = candidates(g, mpi.size(), wanted.bytes_per_second, milliseconds);
    benchmarks::set_rate(wanted.bytes_per_second);
    if (first) {
        std::printf("%d nodes of one device, %.1f MB/s, batch %d; a step takes %.1f ms without links\n\n"
                    "| policy | seconds to %.1f %% | steps | ms a step | highest accuracy |\n|---|---|---|---|---|\n",
                    mpi.size(), wanted.bytes_per_second * 1e-6, static_cast<int>(batch), milliseconds,
                    100 * wanted.accuracy);
    }
    ts::io::line_chart chart;
    chart.title = "Accuracy over wall time";
    chart.x_label = "seconds of training";
    chart.y_label = "accuracy on 2,048 unseen images";
    for (const candidate& c : all) {
        const ts::io::plot_series curve = train(c, wanted, over, images, unseen);
        if (!first) {
            continue;
        }
        const double highest = *std::max_element(curve.y.begin(), curve.y.end());
        const auto steps = static_cast<double>(evaluate_every) * static_cast<double>(curve.x.size());
        const std::string when =
            highest >= wanted.accuracy ? std::to_string(curve.x.back()) : "not in " + std::to_string(curve.x.back());
        std::printf("| %s | %s | %.0f | %.1f | %.4f |\n", c.name.c_str(), when.c_str(), steps,
                    1e3 * curve.x.back() / steps, highest);
        std::fflush(stdout);
        chart.series.push_back(curve);
    }
    if (first && !picture.empty()) {
        ts::io::write_file_atomically(picture, ts::io::to_svg(chart));
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](const ts::mpi::environment& mpi) {
        const auto number = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
        const settings wanted{1e6 * number(1, 50), number(2, 120), 0.01 * number(3, 90)};
        if (!(wanted.bytes_per_second > 0 && wanted.seconds > 0 && wanted.accuracy > 0 && wanted.accuracy <= 1)) {
            throw ts::error("time_to_accuracy: MB/s, seconds and percent must be above 0, percent at most 100");
        }
        return program(mpi, wanted, argc > 4 ? argv[4] : "");
    });
}
