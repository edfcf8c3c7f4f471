// SPDX-License-Identifier: Apache-2.0
// Tofu, Tofu by the simulated step, OptCNN, MCMC, fit and Megatron's strategy side by side on networks of the zoo, on 8 and 64 devices, a few seconds
// for each search: tofu [SECONDS] [NETWORK...].
#include "benchmarks/support/timing.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/searches.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

/// Says after so many seconds that a search is to end with its best so far.
class alarm_clock {
public:
    explicit alarm_clock(double seconds)
        : thread_([this, seconds] {
              std::unique_lock lock(mutex_);
              ended_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return over_; });
              rings_ = true;
          }) {}
    ~alarm_clock() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        ended_.notify_one();
        thread_.join();
    }
    alarm_clock(const alarm_clock&) = delete;
    alarm_clock& operator=(const alarm_clock&) = delete;

    const std::atomic<bool>* flag() const { return &rings_; }

private:
    std::atomic<bool> rings_{false};
    bool over_ = false;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::thread thread_;
};

struct entrant {
    const char* title;
    const char* search;
    const char* option;
    double value;
    bool faithful; ///< what it finds itself, not a baseline that is faster
};

constexpr entrant entrants[] = {
    {"data parallel", "data", nullptr, 0, false},
    {"Tofu", "tofu", nullptr, 0, true},
    {"Tofu, parameters kept", "tofu", "slices", 0, true},
    {"Tofu by the step", "tofu", "tofu-simulations", 1'000'000, true},
    {"OptCNN", "optcnn", nullptr, 0, true},
    {"MCMC", "mcmc", "proposals", 100'000'000, false},
    {"fit", "fit", nullptr, 0, false},
    {"Megatron", "megatron", nullptr, 0, false},
};

void cell(const entrant& e, const ts::graph_view& g, const ts::cluster& on, double seconds) {
    search::search_options o;
    if (e.option != nullptr) {
        o.values.set(e.option, e.value);
    }
    if (e.faithful) {
        o.values.set("faithful", 1);
    }
    try {
        const auto begin = benchmarks::clock_type::now();
        ts::strategy found;
        {
            const alarm_clock clock(seconds);
            o.interrupted = clock.flag();
            found = search::run(search::search_named(e.search), g, on, o).best;
        }
        const double took = benchmarks::milliseconds_since(begin) * 1e-3;
        const search::finished_step s = search::simulate_finished(g, on, found);
        std::printf(" %.1f%s (%.2f GB; %.1f s) |", static_cast<double>(s.makespan) * 1e-6 / found.period,
                    s.fits ? "" : " !", static_cast<double>(s.moved_bytes) * 1e-9 / found.period, took);
    } catch (const ts::error&) {
        std::printf(" none |");
    }
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 3;
    std::vector<const char*> names(arguments + (count > 2 ? 2 : count), arguments + count);
    if (names.empty()) {
        names = {"alexnet",     "vgg16", "resnet50", "inception_v3", "densenet121", "rnnlm",
                 "transformer", "dlrm",  "vit_b_16", "gpt2_124m",    "bert_large",  "moe_8"};
    }
    std::printf("Simulated step in ms (! where it does not fit; GB that cross between devices in a step; seconds that "
                "the search took, ended after "
                "%.0f s where it can be) on 2 and 16 nodes of 4 P100.\n\n| network, batch | devices |",
                seconds);
    for (const entrant& e : entrants) {
        std::printf(" %s |", e.title);
    }
    std::printf("\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const char* name : names) {
        for (const int devices : {8, 64}) {
            const ts::cluster on(ts::machines::p100_nodes(devices / 4));
            const bool long_sequences = std::string(name).find("gpt") == 0 || std::string(name) == "bert_large";
            const index_t batch = index_t{devices} * (long_sequences ? 4 : 16);
            const ts::graph g = networks::describe(name, batch);
            std::printf("| %s, %lld | %d |", name, static_cast<long long>(batch), devices);
            for (const entrant& e : entrants) {
                cell(e, g.view(), on, seconds);
            }
            std::printf("\n");
        }
    }
}
