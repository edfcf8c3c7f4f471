// SPDX-License-Identifier: Apache-2.0
// Which search when: the library's searches side by side on networks of the zoo, on 4 to 64 devices, a few seconds for
// each: the simulated step, the seconds, and how far from the best possible the strategy is at most under the additive
// model. which_search SECONDS FILE.csv FILE.svg [NETWORK...]: rows that the CSV file has already are taken from it, so
// that a run that was ended goes on.
#include "benchmarks/support/timing.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/io/data/rows.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/reports/svg_plot.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/best.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
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
    {"Megatron", "megatron", nullptr, 0, false},
    {"Tofu", "tofu", "slices", 0, true},
    {"Tofu by the step", "tofu", "tofu-simulations", 1'000'000, true},
    {"OptCNN", "optcnn", nullptr, 0, true},
    {"optimum", "optimum", nullptr, 0, true},
    {"fit", "fit", nullptr, 0, false},
    {"MCMC", "mcmc", "proposals", 100'000'000, false},
};

/// What a search found for a network on a machine, as a row of the CSV file.
struct cell {
    std::string network;
    std::int64_t batch = 0;
    std::int64_t devices = 0;
    std::string search;
    double step_ms = 0; ///< simulated; 0: it found nothing
    bool fits = true;
    double moved_gb = 0; ///< between devices, in a step
    double seconds = 0;
    double model_ms = 0; ///< under the additive model; 0: that does not price it
    double bound_ms = 0; ///< no strategy takes less under it
    std::string bound;   ///< in words

    template <class See>
    static constexpr void each_field(See&& see) {
        see("network", &cell::network, ts::field_facts{});
        see("batch", &cell::batch, ts::field_facts{});
        see("devices", &cell::devices, ts::field_facts{});
        see("search", &cell::search, ts::field_facts{});
        see("step_ms", &cell::step_ms, ts::field_facts{});
        see("fits", &cell::fits, ts::field_facts{});
        see("moved_gb", &cell::moved_gb, ts::field_facts{});
        see("seconds", &cell::seconds, ts::field_facts{});
        see("model_ms", &cell::model_ms, ts::field_facts{});
        see("bound_ms", &cell::bound_ms, ts::field_facts{});
        see("bound", &cell::bound, ts::field_facts{});
    }
};

cell searched(const entrant& e, const char* network, const ts::graph_view& g, const ts::cluster& on, double seconds) {
    cell c;
    c.network = network;
    c.batch = g.tensors[0].extents[0];
    c.devices = on.devices();
    c.search = e.title;
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
        c.seconds = benchmarks::milliseconds_since(begin) * 1e-3;
        const search::finished_step s = search::simulate_finished(g, on, found);
        c.step_ms = static_cast<double>(s.makespan) * 1e-6 / found.steps_per_plan;
        c.moved_gb = static_cast<double>(s.moved_bytes) * 1e-9 / found.steps_per_plan;
        c.fits = s.fits;
        const search::strategy_bound b = search::bound_of(g, on, found, {.most_work = 400'000'000});
        c.bound = to_text(b);
        if (b.none.empty()) {
            c.model_ms = static_cast<double>(b.cost) * 1e-6;
            c.bound_ms = static_cast<double>(b.bound) * 1e-6;
            if (b.bound > b.cost) {
                throw std::logic_error("the bound is above the cost of what was found: " + c.bound);
            }
        }
    } catch (const ts::error& why) {
        c.bound = why.what();
    }
    return c;
}

void print(const cell& c) {
    if (c.step_ms <= 0) {
        std::printf(" none |");
    } else if (c.bound_ms > 0) {
        std::printf(" %.1f%s (%.1f s; %.1f %%) |", c.step_ms, c.fits ? "" : " !", c.seconds,
                    100 * (c.model_ms / c.bound_ms - 1));
    } else {
        std::printf(" %.1f%s (%.1f s) |", c.step_ms, c.fits ? "" : " !", c.seconds);
    }
    std::fflush(stdout);
}

/// For every search how many times as long as the fastest found its steps take, in rising order.
ts::io::line_chart profile(const std::vector<cell>& all) {
    ts::io::line_chart chart;
    chart.title = "Steps over the fastest found, in rising order";
    chart.x_label = "networks and machines";
    chart.y_label = "times as long";
    for (const entrant& e : entrants) {
        ts::io::plot_series line;
        line.name = e.title;
        for (const cell& c : all) {
            if (c.search != e.title || c.step_ms <= 0 || !c.fits) {
                continue;
            }
            double least = c.step_ms;
            for (const cell& other : all) {
                const bool same = other.network == c.network && other.devices == c.devices;
                least = same && other.step_ms > 0 && other.fits ? std::min(least, other.step_ms) : least;
            }
            line.y.push_back(std::min(4.0, c.step_ms / least));
        }
        std::sort(line.y.begin(), line.y.end());
        for (std::size_t i = 0; i < line.y.size(); ++i) {
            line.x.push_back(static_cast<double>(i + 1));
        }
        if (!line.y.empty()) {
            chart.series.push_back(line);
        }
    }
    return chart;
}

void run(double seconds, const char* csv, const char* svg, const std::vector<const char*>& names) {
    std::printf("Simulated step in ms (! where it does not fit; seconds that the search took, ended after %.0f s where "
                "it can be; at most how far above the best possible under the additive model) on nodes of 4 P100.\n\n"
                "| network, batch | devices |",
                seconds);
    for (const entrant& e : entrants) {
        std::printf(" %s |", e.title);
    }
    std::printf("\n|---|---|---|---|---|---|---|---|---|---|\n");
    std::vector<cell> before;
    if (const std::string text = ts::files::read_if_there(csv); !text.empty()) {
        before = ts::io::rows_of<cell>(ts::io::csv_table(text, csv));
    }
    std::vector<cell> all;
    for (const char* name : names) {
        for (const int devices : {4, 8, 64}) {
            const ts::cluster on(ts::machines::p100_nodes(devices / 4));
            const bool long_sequences = std::string(name).find("gpt") == 0 || std::string(name) == "bert_large";
            const index_t batch = index_t{devices} * (long_sequences ? 4 : 16);
            const ts::graph g = networks::describe(name, batch);
            std::printf("| %s, %lld | %d |", name, static_cast<long long>(batch), devices);
            for (const entrant& e : entrants) {
                const auto known = std::find_if(before.begin(), before.end(), [&](const cell& c) {
                    return c.network == name && c.batch == batch && c.devices == devices && c.search == e.title;
                });
                all.push_back(known != before.end() ? *known : searched(e, name, g.view(), on, seconds));
                print(all.back());
                ts::io::write_csv(csv, all); // so that nothing is lost
            }
            std::printf("\n");
        }
    }
    ts::io::write_file_atomically(svg, to_svg(profile(all)));
}

} // namespace

int main(int count, char** arguments) {
    if (count < 4 || std::atof(arguments[1]) <= 0) {
        std::fprintf(stderr, "which_search SECONDS FILE.csv FILE.svg [NETWORK...]\n");
        return 2;
    }
    std::vector<const char*> names(arguments + 4, arguments + count);
    if (names.empty()) {
        names = {"alexnet",     "vgg16", "resnet50", "inception_v3", "densenet121", "rnnlm",
                 "transformer", "dlrm",  "vit_b_16", "gpt2_124m",    "bert_large",  "moe_8"};
    }
    try {
        run(std::atof(arguments[1]), arguments[2], arguments[3], names);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "which_search: %s\n", e.what());
        return 1;
    }
}
