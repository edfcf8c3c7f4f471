// SPDX-License-Identifier: Apache-2.0
// U-Net under data parallelism and pipelines: images per second and peak memory, measured on this host for images of
// 128 to 512 pixels, and simulated for the paper's width up to 2048 pixels on a cluster of GPUs.
//   unet measured [SIZE...]      two devices of this host; default 128 256 512
//   unet simulated               four P100s of one node
//   unet plot FILE.svg           images per second of pipelines of 1 to 16 P100s for several batch sizes, simulated
// Measured: U-Net of width 8, four levels, batch 8 (at 512 pixels 4). "found": by search::fit, and again in three
// quarters of the memory that data parallelism needs. Peak: the fullest device's parameters, state and arena as the
// plan predicts them, which a step writes to the last byte (see memory.cpp).
#include "examples/zoo/unet.hpp"
#include "benchmarks/schedules/support.hpp"
#include "benchmarks/support/by_name.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/reports/svg_plot.hpp"
#include "tessera/search/fit/fit.hpp"

#include <utility>

namespace {

using namespace schedules;

struct method {
    std::string name;
    ts::strategy how;
};

/// What the table compares, for so many devices; `m` micro-batches.
std::vector<method> methods(const ts::graph_view& g, int devices, int m, const ts::device_class& on) {
    std::vector<method> all;
    all.push_back({"one device", ts::search::single_device(g)});
    all.push_back({"data parallel", ts::search::data_parallel(g, devices)});
    const test_support::scheduled pipelines[] = {
        {"model parallel (fill-drain)", benchmarks::schedule_by("gpipe", devices, 1), false},
        {"GPipe, M = " + std::to_string(m), benchmarks::schedule_by("gpipe", devices, m), false},
        {"GPipe, M = " + std::to_string(m) + ", re-materialization", benchmarks::schedule_by("gpipe", devices, m),
         true},
        {"1F1B, M = " + std::to_string(m), benchmarks::schedule_by("1f1b", devices, m), false},
        {"GEMS MAST (M = 2)", benchmarks::schedule_by("gems", devices, 2), false},
        {"GEMS MASTER, M = " + std::to_string(m), benchmarks::schedule_by("gems", devices, m), false}};
    for (const test_support::scheduled& x : pipelines) {
        all.push_back({x.name, test_support::pipeline_of(g, x, on)});
    }
    return all;
}

/// The fastest strategy that search::fit finds, in all of the devices' memory or in `memory` bytes of each.
method found(const ts::graph_view& g, const ts::cluster& on, ts::index_t memory, ts::search::fit_options o) {
    o.lowering.update = ts::sgd{.momentum = 0.9F};
    o.memory = memory;
    o.simulations = 24;
    o.refinements = 12;
    const ts::search::fit_result r = ts::search::fit(g, on, o);
    std::string how = ts::search::to_text(g, r.row.how);
    std::replace(how.begin(), how.end(), '|', '/'); // which ends a cell
    std::string name = memory > 0 ? "found in " + std::to_string(memory / 1'000'000) + " MB: " : "found: ";
    return {name + (r.fits ? "" : "nothing fits, least: ") + how, r.best};
}

template <index_t Size>
void measure(index_t batch) {
    constexpr int devices = 2;
    const ts::graph network = ts::describe<networks::padded_unet<Size, 3, 2, 8, 4>>(batch);
    const ts::graph_view g = network.view();
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    ts::host::backend searched_for(ts::optimizer(ts::sgd{.momentum = 0.9F}));
    const ts::cluster on(ts::host::this_host(searched_for, ts::local_devices(devices)));
    std::vector<method> all = methods(g, devices, 4, on.class_of(0));
    ts::search::fit_options o;
    o.reached = ts::host::reached_here();
    o.overlap = false; // no cores are left for them
    all.push_back(found(g, on, 0, o));
    ts::plan plain = ts::search::bound_plan(g, all[1].how, devices, {.update = searched_for.update()});
    ts::plan_memory(plain);
    all.push_back(found(g, on, peak_of(plain) * 3 / 4, o)); // in less than data parallelism needs
    for (const method& x : all) {
        ts::host::backend b(ts::optimizer(ts::sgd{.momentum = 0.9F}));
        ts::workers threads(devices);
        ts::session<ts::host::backend> run(g, x.how, devices, b.update(), {}, b, threads);
        run.set_learning_rate(0);
        const double ms = step_milliseconds([&] { run.step(data.inputs); }, 1.5);
        std::printf("| %lld | %lld | %s | %.1f | %.2f | %.1f |\n", static_cast<long long>(Size),
                    static_cast<long long>(batch), x.name.c_str(), ms, static_cast<double>(batch) * 1000 / ms,
                    megabytes(peak_of(run.training_plan())));
        std::fflush(stdout);
    }
}

/// Milliseconds of a simulated step, and the plan with its memory.
double simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on, ts::plan& p) {
    ts::lower_options o;
    o.update = ts::sgd{.momentum = 0.9F};
    p = ts::search::bound_plan(g, s, on.devices(), o);
    ts::plan_memory(p);
    return static_cast<double>(simulation::simulate(g, p, on).makespan) * 1e-6;
}

struct simulated_method {
    std::string name;
    double ms = 0;
    bool fits = false;
    bool is_pipeline = false;
};

/// What the rows of one size come to, so that the page says what they do.
void conclude(index_t size, const std::vector<simulated_method>& all) {
    std::string fit;
    int count = 0;
    const simulated_method* slowest = nullptr;
    const simulated_method* fastest = nullptr;
    for (const simulated_method& x : all) {
        if (!x.fits) {
            continue;
        }
        fastest = fastest == nullptr || x.ms < fastest->ms ? &x : fastest;
        if (x.is_pipeline) {
            fit += (count++ > 0 ? ", " : "") + x.name;
            slowest = slowest == nullptr || x.ms > slowest->ms ? &x : slowest;
        }
    }
    std::printf("\nAt %lld pixels %d of the %d pipelines written by hand fit 16 GB%s%s.", static_cast<long long>(size),
                count,
                static_cast<int>(std::count_if(all.begin(), all.end(), [](const auto& x) { return x.is_pipeline; })),
                count > 0 ? ": " : "", fit.c_str());
    if (fastest != nullptr) {
        std::printf(" The fastest strategy that fits is \"%s\"", fastest->name.c_str());
        slowest != nullptr
            ? std::printf(", at %.1f times the speed of \"%s\".\n", slowest->ms / fastest->ms, slowest->name.c_str())
            : std::printf(".\n");
    }
}

template <index_t Size>
void simulate_size(bool concludes = false) {
    std::vector<simulated_method> rows;
    const ts::cluster on(ts::machines::p100_nodes(1, 4));
    const ts::device_class& gpu = on.class_of(0);
    const index_t batch = 8;
    const ts::graph network = ts::describe<networks::padded_unet<Size>>(batch);
    const ts::graph_view g = network.view();
    std::vector<method> all = methods(g, on.devices(), static_cast<int>(batch), gpu);
    const ts::search::fit_options everything;
    all.push_back(found(g, on, 0, everything));
    for (const method& x : all) {
        ts::plan p;
        const double ms = simulated(g, x.how, on, p);
        const index_t peak = peak_of(p);
        std::printf("| %lld | %lld | %s | %.1f | %.2f | %.2f | %s |\n", static_cast<long long>(Size),
                    static_cast<long long>(batch), x.name.c_str(), ms, static_cast<double>(batch) * 1000 / ms,
                    megabytes(peak) * 1e-3, gpu.memory_bytes == 0 || peak <= gpu.memory_bytes ? "yes" : "no");
        std::fflush(stdout);
        const bool by_hand = x.how.schedule.stages > 0 && x.name.rfind("found", 0) != 0;
        rows.push_back({x.name, ms, gpu.memory_bytes == 0 || peak <= gpu.memory_bytes, by_hand});
    }
    if (concludes) {
        conclude(Size, rows);
    }
}

int plot(const std::string& file) {
    ts::io::line_chart chart;
    chart.title = "U-Net 256 x 256, GPipe, one image a micro-batch: how the batch limits the pipeline";
    chart.x_label = "stages (P100s)";
    chart.y_label = "images per second, simulated";
    const std::vector<int> lengths = {1, 2, 4, 6, 8, 12, 16};
    for (const int batch : {32, 16, 8, 4, 2, 1}) {
        const ts::graph network = ts::describe<networks::padded_unet<256>>(batch);
        const ts::graph_view g = network.view();
        ts::io::plot_series curve{"batch " + std::to_string(batch), {}, {}};
        for (const int k : lengths) {
            const ts::cluster on(ts::machines::p100_nodes((k + 3) / 4, k < 4 ? k : 4));
            const test_support::scheduled x{"", benchmarks::schedule_by("gpipe", k, batch), false};
            ts::strategy s = test_support::pipeline_of(g, x, on.class_of(0));
            ts::plan p;
            const double ms = simulated(g, s, on, p);
            curve.x.push_back(k);
            curve.y.push_back(batch * 1000.0 / ms);
        }
        std::printf("batch %2d:", batch);
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            std::printf("  K = %d %.1f/s", lengths[i], curve.y[i]);
        }
        std::printf("\n");
        std::fflush(stdout);
        chart.series.push_back(std::move(curve));
    }
    ts::io::write_file_atomically(file, ts::io::to_svg(chart));
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    try {
        const std::vector<std::string> a(arguments + 1, arguments + count);
        if (!a.empty() && a[0] == "measured") {
            std::printf("| pixels | batch | method | step, ms | images/s | peak of a device, MB |\n"
                        "|---|---|---|---|---|---|\n");
            const auto wanted = [&](const char* size) {
                return a.size() == 1 || std::find(a.begin() + 1, a.end(), size) != a.end();
            };
            if (wanted("128")) {
                measure<128>(8);
            }
            if (wanted("256")) {
                measure<256>(8);
            }
            if (wanted("512")) {
                measure<512>(4);
            }
            return 0;
        }
        if (a.size() == 1 && a[0] == "simulated") {
            std::printf("| pixels | batch | method | step, ms | images/s | peak of a device, GB | fits 16 GB |\n"
                        "|---|---|---|---|---|---|---|\n");
            simulate_size<256>();
            simulate_size<512>();
            simulate_size<1024>();
            simulate_size<2048>(true);
            return 0;
        }
        if (a.size() == 2 && a[0] == "plot") {
            return plot(a[1]);
        }
        std::fprintf(stderr, "unet measured [SIZE...] | simulated | plot FILE.svg\n");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
