// SPDX-License-Identifier: Apache-2.0
// Predicted beside published steps: every run of a table (benchmarks/search/published), with the presets' rates and
// without them; memory beside the card's; mean and worst errors, rank correlations of configurations of one model.
// published [TABLE.csv [whole]]
#include "examples/zoo/measured_runs.hpp"

#include "tessera/machine/presets.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

namespace {

namespace ts = tessera;
using networks::measured_run;

constexpr const char* tables = "benchmarks/search/published/";

struct predicted {
    const measured_run* run = nullptr;
    double before = 0; ///< relative error without rates by size
    double after = 0;
    double time = 0; ///< ns
    bool fitted = false;
    bool fits = true;
};

ts::device_graph machine_of(const measured_run& r) {
    const int nodes = (r.gpus + 7) / 8;
    if (r.gpu != "h100_80gb" && r.gpu != "a100_80gb") {
        throw ts::error("there is no machine for '" + r.gpu + "'; known are a100_80gb and h100_80gb");
    }
    return r.gpu == "h100_80gb" ? ts::machines::h100_nodes(nodes) : ts::machines::a100_nodes(nodes);
}

predicted predict(const measured_run& r, const std::vector<std::string>& fitted, bool whole) {
    predicted x;
    x.run = &r;
    const ts::device_graph on = machine_of(r);
    const ts::simulation::measured_step s = step_of(r, on, whole);
    x.time = predicted_time(s, on.classes[0].rates);
    x.before = predicted_time(s, {}) / r.nanoseconds - 1;
    x.after = x.time / r.nanoseconds - 1;
    x.fitted = std::find(fitted.begin(), fitted.end(), to_text(r)) != fitted.end();
    const ts::index_t bytes = memory_of(r, on, whole);
    x.fits = bytes <= on.classes[0].memory_bytes;
    std::printf("| %s%s | %s%s | %.0f | %.0f | %+.1f | %+.1f | %.1f%s | %s |\n", to_text(r).c_str(),
                r.recomputes ? ", recomputing" : "", r.precision.c_str(), x.fitted ? ", fitted" : "",
                r.nanoseconds * 1e-6, x.time * 1e-6, 100 * x.after, 100 * x.before, static_cast<double>(bytes) * 1e-9,
                x.fits ? "" : " **above the card's**", r.parameters > 0 ? "" : "parameters not said");
    std::fflush(stdout);
    return x;
}

/// Spearman's rank correlation of tokens per second and device, measured and predicted.
double rank_correlation(const std::vector<predicted>& all) {
    const auto ranks = [&](bool measured) {
        std::vector<std::size_t> order(all.size());
        std::vector<double> rank(all.size());
        const auto speed = [&](std::size_t i) {
            const measured_run& r = *all[i].run;
            return static_cast<double>(r.micro * r.times * r.network.sequence) /
                   (measured ? r.nanoseconds : all[i].time);
        };
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = i;
        }
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return speed(a) < speed(b); });
        for (std::size_t i = 0; i < order.size(); ++i) {
            rank[order[i]] = static_cast<double>(i);
        }
        return rank;
    };
    const std::vector<double> a = ranks(true);
    const std::vector<double> b = ranks(false);
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        squares += (a[i] - b[i]) * (a[i] - b[i]);
    }
    const auto n = static_cast<double>(a.size());
    return 1 - 6 * squares / (n * (n * n - 1));
}

struct errors {
    double sum = 0, worst = 0, sum_before = 0, worst_before = 0;
    int count = 0;
    void add(const predicted& x) {
        ++count;
        sum += std::abs(x.after);
        worst = std::max(worst, std::abs(x.after));
        sum_before += std::abs(x.before);
        worst_before = std::max(worst_before, std::abs(x.before));
    }
    void print(const char* what, double correlation) const {
        char rank[20] = "-"; // of so few rows there is none
        if (correlation <= 1) {
            std::snprintf(rank, sizeof rank, "%.3f", correlation);
        }
        std::printf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %s |\n", what, count, 100 * sum / count, 100 * worst,
                    100 * sum_before / count, 100 * worst_before, rank);
    }
};

void summarize(const std::vector<predicted>& all) {
    errors outside;
    std::map<std::string, std::vector<predicted>> models;
    int too_large = 0;
    for (const predicted& x : all) {
        too_large += x.fits ? 0 : 1;
        models[x.run->gpu + ", " + x.run->model].push_back(x);
        if (!x.fitted) {
            outside.add(x);
        }
    }
    std::printf("\n| rows outside the fit | rows | mean error %% | worst %% | mean before %% | worst before %% | rank "
                "correlation |\n|---|---|---|---|---|---|---|\n");
    for (const auto& [model, rows] : models) {
        errors e;
        for (const predicted& x : rows) {
            if (!x.fitted) {
                e.add(x);
            }
        }
        if (e.count > 0) {
            e.print(model.c_str(), rows.size() > 2 ? rank_correlation(rows) : 2);
        }
    }
    outside.print("all", 2);
    std::printf("\n%d rows predicted; %d of the runs, all of which were measured, are said not to fit\n",
                static_cast<int>(all.size()), too_large);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const std::string table = count > 1 ? arguments[1] : std::string(tables) + "mpt.csv";
        const bool whole = count > 2 && std::strcmp(arguments[2], "whole") == 0;
        std::vector<std::string> fitted;
        for (const char* name : {"fit_a100.csv", "fit_h100.csv"}) {
            for (const measured_run& r : networks::read_runs(std::string(tables) + name)) {
                fitted.push_back(to_text(r));
            }
        }
        const std::vector<measured_run> runs = networks::read_runs(table);
        std::printf("| run | precision | measured ms | predicted ms | error %% | before %% | GB of 80 | |\n"
                    "|---|---|---|---|---|---|---|---|\n");
        const auto start = std::chrono::steady_clock::now();
        std::vector<predicted> all;
        for (const measured_run& r : runs) {
            all.push_back(predict(r, fitted, whole));
        }
        summarize(all);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%.1f s\n", took.count());
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "published: %s\n", e.what());
        return 1;
    }
}
