// SPDX-License-Identifier: Apache-2.0
// Machines that nobody here has: what a step of AlexNet takes on P100 nodes under strategies designed by hand and under
// a searched one, and what a pipeline of VGG-16 takes in time and memory under two schedules, all predicted from the
// very plans that an executor would run, bound by a cost model, which adds the workspaces that it assumes.
// Usage: predict [GPUs, a multiple of 4 up to 16] [proposals]
#include "examples/networks.hpp"
#include "examples/output.hpp"

#include <tessera/tessera.hpp>

#include <tessera/machine/presets.hpp>
#include <tessera/schedule/schedules.hpp>
#include <tessera/schedule/stages.hpp>
#include <tessera/search/finished_step.hpp>
#include <tessera/search/mcmc/mcmc.hpp>
#include <tessera/search/pipeline.hpp>
#include <tessera/search/quick_searches.hpp>
#include <tessera/search/run.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ts = tessera;

namespace {

ts::simulation::timeline predict(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    ts::plan p = ts::search::bound_plan(g, s, on.devices());
    ts::finish(g, p);
    return ts::simulation::simulate(g, p, on);
}

void print(const char* name, const ts::simulation::timeline& t) {
    std::printf("%-28s %9.3f ms a step, at most %6.2f GB on a device\n", name, static_cast<double>(t.makespan) * 1e-6,
                static_cast<double>(*std::max_element(t.peak_bytes.begin(), t.peak_bytes.end())) * 1e-9);
}

void strategies(const ts::cluster& on, int proposals) {
    const int devices = on.devices();
    const ts::graph network = ts::describe<networks::alexnet_without_dropout>(32 * devices);
    const ts::graph_view g = network.view();
    std::printf("AlexNet, batch %d, on %d P100s\n", 32 * devices, devices);
    std::vector<ts::search::named_strategy> known;
    for (const char* name : {"single", "data", "model", "one-weird-trick", "optcnn"}) {
        const ts::search::search_record& r = ts::search::quick_search_named(name);
        ts::search::search_options o;
        if (ts::find_option(r, ts::search::faithful_option.name) != nullptr) {
            o.values.set(ts::search::faithful_option.name, 1); // what it finds, even where another is faster
        }
        known.push_back({std::string(r.title), ts::search::run(r, g, on, o).best});
    }
    for (const ts::search::named_strategy& s : known) {
        print(s.name.c_str(), predict(g, s.value, on));
    }
    ts::search::mcmc_options how;
    how.budget = proposals;
    const ts::search::mcmc_result found = ts::search::mcmc(g, on, known, how);
    print(("searched, from " + found.start).c_str(), predict(g, found.best, on));
}

void pipelines(const ts::cluster& on) {
    constexpr int stages = 4;
    constexpr int micro_batches = 8;
    const ts::graph network = ts::describe<networks::vgg16>(64);
    const ts::graph_view g = network.view();
    const std::vector<int> stage = ts::schedule::balance_stages(ts::search::operator_times(g, on.class_of(0)), stages);
    std::printf("VGG-16, batch 64 in %d micro-batches through %d stages\n", micro_batches, stages);
    print("one device", predict(g, ts::search::single_device(g), on));
    const auto by_name = [&](const char* name) {
        const ts::schedule::schedule_record& r = ts::schedule::schedule_named(name);
        return ts::search::pipeline(g, stage,
                                    ts::schedule::make({&r, stages, micro_batches, {}, usual_rematerialization(r)}));
    };
    ts::strategy gpipe = by_name("gpipe");
    print("GPipe", predict(g, gpipe, on));
    for (ts::configuration& c : gpipe.ops) {
        c.recompute = true;
    }
    print("GPipe, recomputing", predict(g, gpipe, on));
    print("one forward, one backward", predict(g, by_name("1f1b"), on));
}

} // namespace

int main(int count, char** arguments) {
    try {
        const int devices = count > 1 ? std::atoi(arguments[1]) : 4;
        const int proposals = count > 2 ? std::atoi(arguments[2]) : 2000;
        if (devices < 4 || devices > 16 || devices % 4 != 0 || proposals < 1) {
            throw ts::error("the GPUs are 4, 8, 12 or 16, the proposals at least 1");
        }
        const ts::cluster on(ts::machines::p100_nodes(devices / 4));
        strategies(on, proposals);
        pipelines(on);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "predict: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("predict");
}
