// SPDX-License-Identifier: Apache-2.0
// How long a training over slow links takes to a stated accuracy or loss, data parallel under each policy, and by the
// strategy that OptCNN's search finds for the link, each from the same initial values and with the same batches: LeNet
// on Fashion-MNIST, or a small GPT on the bytes of a text.
//
//     tests/ranks/links.py --mpi ompi-c --nodes 2 build/release/benchmarks/ranks/time_to_accuracy [MB/S [SECONDS
//         [PERCENT [SVG]]]]
//     tests/ranks/links.py --mpi ompi-c --nodes 2 build/release/benchmarks/ranks/time_to_accuracy gpt [MB/S [SECONDS
//         [NATS [SVG]]]]
//
// Each node has one device, and a core of the machine. The clock stands while the network is tried on unseen samples
// (2,048 images every 96 steps, 128 windows of text every 32); a training ends with what is wanted or after so many
// seconds. A table goes to standard output, curves over wall time to a file.
#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/links.hpp"
#include "benchmarks/support/timing.hpp"
#include "examples/texts.hpp"
#include "examples/zoo/llama.hpp"

#include <tessera/backend/host/measure/this_host.hpp>
#include <tessera/host.hpp>
#include <tessera/io/data/fashion_mnist.hpp>
#include <tessera/io/files/file.hpp>
#include <tessera/io/reports/svg_plot.hpp>
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

constexpr int steps_per_plan = 8; // steps that are taken together

/// What is trained: the samples, the optimizer, and what is read off a trial.
struct images_task {
    using network = ::network;
    using sample = float;
    static constexpr index_t batch = 64;
    static constexpr int evaluate_every = 96; // steps, a multiple of period
    static constexpr double rate = 0.02;
    static constexpr bool by_loss = false;
    static ts::optimizer how() { return ts::sgd{.learning_rate = static_cast<float>(rate), .momentum = 0.9F}; }

    ts::io::image_set known = ts::io::fashion_mnist("train");
    ts::io::image_set unseen = ts::io::fashion_mnist("test");
    static constexpr int trials = 32; // batches
};
struct text_task {
    struct network : networks::llama_parts<4, 128, 4, 352, 64, 256>::network {};
    using sample = std::int32_t;
    static constexpr index_t batch = 16;
    static constexpr int evaluate_every = 32;
    static constexpr double rate = 2e-3;
    static constexpr bool by_loss = true;
    static ts::optimizer how() { return ts::adamw{.learning_rate = static_cast<float>(rate), .weight_decay = 0.1F}; }

    explicit text_task(const texts::parts& text)
        : known(ts::io::byte_tokens(text.known), 64), unseen(ts::io::byte_tokens(text.unseen), 64) {}
    text_task() : text_task(texts::cut(texts::find().contents)) {}
    ts::io::text_set known;
    ts::io::text_set unseen;
    static constexpr int trials = 8;
};

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
        c.how.steps_per_plan = steps_per_plan;
    }
    return all;
}

/// A batch that stays, whatever its range does.
template <class Task>
struct kept_batch {
    using view_type = ts::io::basic_batch<typename Task::sample>;
    std::vector<typename Task::sample> inputs;
    std::vector<std::int32_t> labels;
    std::int64_t size;

    explicit kept_batch(const view_type& b)
        : inputs(b.inputs.begin(), b.inputs.end()), labels(b.labels.begin(), b.labels.end()), size(b.size) {}
    view_type view() const { return {inputs, labels, size}; }
};

template <class Task, class Set>
std::vector<kept_batch<Task>> first_batches(const Set& set, int count) {
    std::vector<kept_batch<Task>> all;
    for (const auto& b : set.batches(Task::batch, {.drop_last = true})) {
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
    double wanted; ///< accuracy, or loss

    template <class Task>
    bool reached(double x) const {
        return Task::by_loss ? x <= wanted : x >= wanted;
    }
};

/// Seconds and accuracy or loss, up to what is wanted.
template <class Task>
ts::io::plot_series train(const candidate& c, const settings& wanted, const ts::local_devices& over, const Task& task) {
    ts::trainer<typename Task::network> trainer(over, c.how, Task::batch, Task::how());
    const std::vector<kept_batch<Task>> unseen = first_batches<Task>(task.unseen, Task::trials);
    std::vector<typename kept_batch<Task>::view_type> test;
    for (const kept_batch<Task>& b : unseen) {
        test.push_back(b.view());
    }
    ts::io::plot_series curve;
    curve.name = c.name;
    double seconds = 0;
    for (std::uint64_t epoch = 0, step = 0;; ++epoch) {
        std::vector<kept_batch<Task>> some;
        for (const auto& b : task.known.batches(Task::batch, {.shuffle_seed = 7, .epoch = epoch, .drop_last = true})) {
            some.emplace_back(b);
            if (some.size() < ts::to_size(steps_per_plan)) {
                continue;
            }
            std::vector<typename kept_batch<Task>::view_type> views;
            for (const kept_batch<Task>& k : some) {
                views.push_back(k.view());
            }
            MPI_Barrier(MPI_COMM_WORLD);
            seconds += 1e-3 * benchmarks::milliseconds([&] {
                           trainer.steps(views);
                           MPI_Barrier(MPI_COMM_WORLD);
                       });
            some.clear();
            step += steps_per_plan;
            if (step % Task::evaluate_every != 0) {
                continue;
            }
            curve.x.push_back(benchmarks::of_first(seconds));
            const ts::scores found = trainer.evaluate(test);
            curve.y.push_back(Task::by_loss ? found.loss : found.accuracy);
            if (wanted.reached<Task>(curve.y.back()) || curve.x.back() > wanted.seconds) {
                return curve;
            }
        }
    }
}

template <class Task>
int program(const ts::mpi::environment& mpi, const settings& wanted, const std::string& picture) {
    benchmarks::bytes_sent();
    benchmarks::run_on(mpi.rank(), 1);
    const ts::local_devices over = ts::mpi::ranks(mpi);
    if (over.threads().group()->nodes() != mpi.size() || mpi.size() < 2) {
        throw ts::error(
            "usage: links.py --nodes 2 time_to_accuracy [gpt] [MB/S [SECONDS [WANTED [SVG]]]], a rank on each node");
    }
    const bool first = mpi.rank() == 0;
    const Task task;
    const ts::graph described = ts::describe<typename Task::network>(Task::batch);
    const ts::graph_view g = described.view();

    // What a step takes without links, for the search: blocking sums on links without a limit.
    double milliseconds = 0;
    {
        const kept_batch<Task> one = first_batches<Task>(task.known, 1).front();
        ts::trainer<typename Task::network> trainer(over, ts::search::data_parallel(g, mpi.size()), Task::batch,
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
                    "| policy | seconds to %s of %.3f | steps | ms a step | %s |\n|---|---|---|---|---|\n",
                    mpi.size(), wanted.bytes_per_second * 1e-6, static_cast<int>(Task::batch), milliseconds,
                    Task::by_loss ? "a loss" : "an accuracy", wanted.wanted,
                    Task::by_loss ? "lowest loss" : "highest accuracy");
    }
    ts::io::line_chart chart;
    chart.title = Task::by_loss ? "Loss over wall time" : "Accuracy over wall time";
    chart.x_label = "seconds of training";
    chart.y_label = Task::by_loss ? "nats a byte, of unseen text" : "accuracy on 2,048 unseen images";
    for (const candidate& c : all) {
        const ts::io::plot_series curve = train(c, wanted, over, task);
        if (!first) {
            continue;
        }
        const double best = Task::by_loss ? *std::min_element(curve.y.begin(), curve.y.end())
                                          : *std::max_element(curve.y.begin(), curve.y.end());
        const auto steps = static_cast<double>(Task::evaluate_every) * static_cast<double>(curve.x.size());
        char when[32];
        std::snprintf(when, sizeof when, wanted.reached<Task>(best) ? "%.1f" : "not in %.1f", curve.x.back());
        std::printf("| %s | %s | %.0f | %.1f | %.4f |\n", c.name.c_str(), when, steps, 1e3 * curve.x.back() / steps,
                    best);
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
        const bool text = argc > 1 && std::string(argv[1]) == "gpt";
        const int at = text ? 2 : 1;
        const auto number = [&](int i, double otherwise) {
            return argc > at + i ? std::atof(argv[at + i]) : otherwise;
        };
        const settings wanted{1e6 * number(0, 50), number(1, 120), text ? number(2, 2.4) : 0.01 * number(2, 90)};
        if (!(wanted.bytes_per_second > 0 && wanted.seconds > 0 && wanted.wanted > 0 && (text || wanted.wanted <= 1))) {
            throw ts::error("time_to_accuracy: MB/s, seconds, nats and percent must be above 0, percent at most 100");
        }
        const std::string picture = argc > at + 3 ? argv[at + 3] : "";
        return text ? program<text_task>(mpi, wanted, picture) : program<images_task>(mpi, wanted, picture);
    });
}
