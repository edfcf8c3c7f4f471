// SPDX-License-Identifier: Apache-2.0
// What predictions and measurements say together: errors, rank correlations, a scatter plot.
#pragma once

#include "benchmarks/support/timing.hpp"
#include "tessera/base/error.hpp"
#include "tessera/io/reports/svg_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace reality {

inline constexpr int rounds = 2; ///< of a run, in which all strategies take turns

enum model { profiled, roofline_makespan, roofline, additive, bytes, models };
inline const char* to_text(int m) {
    constexpr const char* names[] = {"makespan, measured tasks", "makespan, rooflines", "rooflines, busiest device",
                                     "additive", "bytes moved"};
    return names[m];
}

/// One strategy of one network: milliseconds (bytes: 10^6).
struct result {
    std::string network;
    std::string strategy;
    int devices = 1;
    int tasks = 0;
    double measured = 0; ///< the lower quartile of all steps
    double half[2]{};    ///< of those of every other round
    double of[models]{};
    double seconds_to_build = 0;    ///< to plan, bind and prepare
    double seconds_to_execute = 0;  ///< the same and five steps
    double seconds_to_look_up = 0;  ///< task times of a bound plan
    double seconds_to_simulate = 0; ///< once they are known
};

inline void write(const std::string& file, const std::vector<result>& all) {
    std::ofstream out(file, std::ios::app);
    for (const result& r : all) {
        out << r.network << ',' << r.strategy << ',' << r.devices << ',' << r.tasks << ',' << r.measured;
        for (const double x : r.half) {
            out << ',' << x;
        }
        for (const double x : r.of) {
            out << ',' << x;
        }
        out << ',' << r.seconds_to_build << ',' << r.seconds_to_execute << ',' << r.seconds_to_look_up << ','
            << r.seconds_to_simulate << '\n';
    }
    if (!out) {
        throw tessera::error("cannot write " + file);
    }
}

inline std::vector<result> read(const std::vector<std::string>& files) {
    std::vector<result> all;
    for (const std::string& file : files) {
        std::ifstream in(file);
        if (!in) {
            throw tessera::error("cannot read " + file);
        }
        std::string line;
        while (std::getline(in, line)) {
            std::istringstream fields(line);
            result r;
            std::string field;
            std::getline(fields, r.network, ',');
            std::getline(fields, r.strategy, ',');
            std::vector<double> numbers;
            while (std::getline(fields, field, ',')) {
                numbers.push_back(std::strtod(field.c_str(), nullptr));
            }
            if (numbers.size() != 9 + models) {
                throw tessera::error(file + ": a line of " + std::to_string(numbers.size()) + " numbers");
            }
            r.devices = static_cast<int>(numbers[0]);
            r.tasks = static_cast<int>(numbers[1]);
            r.measured = numbers[2];
            std::copy_n(numbers.begin() + 3, 2, r.half);
            std::copy_n(numbers.begin() + 5, models, r.of);
            r.seconds_to_build = numbers[5 + models];
            r.seconds_to_execute = numbers[6 + models];
            r.seconds_to_look_up = numbers[7 + models];
            r.seconds_to_simulate = numbers[8 + models];
            all.push_back(r);
        }
    }
    return all;
}

/// Of several runs of one strategy, each with a profile of its own, the lower quartile of every figure.
inline std::vector<result> quartiles_of(const std::vector<result>& runs) {
    std::vector<result> all;
    std::vector<std::vector<result>> same;
    for (const result& r : runs) {
        std::size_t i = 0;
        while (i < all.size() &&
               (all[i].network != r.network || all[i].strategy != r.strategy || all[i].devices != r.devices)) {
            ++i;
        }
        if (i == all.size()) {
            all.push_back(r);
            same.emplace_back();
        }
        same[i].push_back(r);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto put = [&](auto member) {
            std::vector<double> values;
            for (result& r : same[i]) {
                values.push_back(member(r));
            }
            member(all[i]) = benchmarks::lower_quartile(values);
        };
        for (int m = 0; m < models; ++m) {
            put([m](result& r) -> double& { return r.of[m]; });
        }
        for (const int h : {0, 1}) {
            put([h](result& r) -> double& { return r.half[h]; });
        }
        for (double result::*which : {&result::measured, &result::seconds_to_build, &result::seconds_to_execute,
                                      &result::seconds_to_look_up, &result::seconds_to_simulate}) {
            put([which](result& r) -> double& { return r.*which; });
        }
    }
    return all;
}

/// How far apart two measurements of one strategy lie that take turns, as a share: what nine of ten strategies stay
/// below.
inline double noise_of(const std::vector<result>& of) {
    std::vector<double> apart;
    for (const result& r : of) {
        apart.push_back(std::max(r.half[0], r.half[1]) / std::min(r.half[0], r.half[1]) - 1);
    }
    std::sort(apart.begin(), apart.end());
    return apart.empty() ? 0 : apart[apart.size() * 9 / 10];
}

struct agreement {
    int pairs = 0;
    double kendall =
        0; ///< (concordant - discordant) / pairs, over pairs whose measured times differ by more than the noise
};

inline agreement kendall_of(const std::vector<result>& of, int m, double noise) {
    agreement a;
    int sum = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const double ratio = of[i].measured / of[j].measured;
            if (ratio <= 1 + noise && 1 / ratio <= 1 + noise) {
                continue;
            }
            ++a.pairs;
            const double difference = of[i].of[m] - of[j].of[m];
            sum += difference == 0 ? 0 : (difference > 0) == (ratio > 1) ? 1 : -1;
        }
    }
    a.kendall = a.pairs > 0 ? static_cast<double>(sum) / a.pairs : 0;
    return a;
}

inline double mean_error(const std::vector<result>& of, int m) {
    double sum = 0;
    for (const result& r : of) {
        sum += std::abs(r.of[m] / r.measured - 1);
    }
    return 100 * sum / static_cast<double>(of.size());
}

/// Prints the tables of all runs' lower quartiles as Markdown and writes the scatter plot.
inline int table(const std::string& svg, const std::vector<std::string>& files) {
    const std::vector<result> all = quartiles_of(read(files));
    std::vector<std::string> names;
    for (const result& r : all) {
        if (std::find(names.begin(), names.end(), r.network) == names.end()) {
            names.push_back(r.network);
        }
    }
    tessera::io::scatter_chart chart;
    chart.title = "Step time on this host, predicted and measured";
    chart.x_label = "measured, ms";
    chart.y_label = "predicted, ms";
    std::printf("| network | strategies | noise | pairs beyond it | mean error | largest | tau: measured tasks | "
                "rooflines, makespan | "
                "rooflines, busiest | additive | bytes |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    bool passed = true;
    for (const std::string& name : names) {
        std::vector<result> of;
        std::copy_if(all.begin(), all.end(), std::back_inserter(of),
                     [&](const result& r) { return r.network == name; });
        const double noise = noise_of(of);
        double largest = 0;
        tessera::io::plot_series points{name, {}, {}};
        for (const result& r : of) {
            largest = std::max(largest, 100 * std::abs(r.of[profiled] / r.measured - 1));
            points.x.push_back(r.measured);
            points.y.push_back(r.of[profiled]);
        }
        chart.series.push_back(points);
        const agreement best = kendall_of(of, profiled, noise);
        std::printf("| %s | %zu | %.1f %% | %d | %.1f %% | %.1f %% | %.3f | %.3f | %.3f | %.3f | %.3f |\n",
                    name.c_str(), of.size(), 100 * noise, best.pairs, mean_error(of, profiled), largest, best.kendall,
                    kendall_of(of, roofline_makespan, noise).kendall, kendall_of(of, roofline, noise).kendall,
                    kendall_of(of, additive, noise).kendall, kendall_of(of, bytes, noise).kendall);
        passed = passed && mean_error(of, profiled) <= 10 && best.kendall >= 0.8;
    }
    std::printf("\n| network | mean error: measured tasks | rooflines, makespan | rooflines, busiest | additive | "
                "tasks | to build and "
                "run 5 steps, ms | to look up times, ms | to simulate, ms | ratio of a step to its simulation | "
                "ratio of execution to simulation |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const std::string& name : names) {
        std::vector<result> of;
        std::copy_if(all.begin(), all.end(), std::back_inserter(of),
                     [&](const result& r) { return r.network == name; });
        std::vector<double> execute;
        std::vector<double> look_up;
        std::vector<double> simulate;
        std::vector<double> steps;
        std::vector<double> whole;
        double tasks = 0;
        for (const result& r : of) {
            execute.push_back(r.seconds_to_execute * 1e3);
            look_up.push_back(r.seconds_to_look_up * 1e3);
            simulate.push_back(r.seconds_to_simulate * 1e3);
            steps.push_back(r.measured / (r.seconds_to_simulate * 1e3));
            whole.push_back(r.seconds_to_execute / r.seconds_to_simulate);
            tasks += r.tasks;
        }
        std::printf("| %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.0f | %.1f | %.3f | %.4f | %.0f | %.0f |\n",
                    name.c_str(), mean_error(of, profiled), mean_error(of, roofline_makespan), mean_error(of, roofline),
                    mean_error(of, additive), tasks / static_cast<double>(of.size()), benchmarks::median(execute),
                    benchmarks::median(look_up), benchmarks::median(simulate), benchmarks::median(steps),
                    benchmarks::median(whole));
    }
    std::ofstream(svg) << tessera::io::scatter_svg(chart);
    return passed ? 0 : 1;
}

} // namespace reality
