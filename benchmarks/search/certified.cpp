// SPDX-License-Identifier: Apache-2.0
// Solves files of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism and prints cost, bound and memory,
// beside the best known costs:
//   certified [seconds [threads [file...]]]
// With TESSERA_CHOICES=folder the choices go to files there, for contest_check.py; with TESSERA_NO_MESSAGES=1 there is
// no dual ascent by messages.
#include "tessera/search/certified/certified.hpp"
#include "tessera/execute/local/search_threads.hpp"
#include "tessera/io/exchange/contest_file.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace {

namespace ts = tessera;

struct known {
    const char* name; ///< the end of the problem's name
    double cost;      ///< the best of the contest, of its organizers and of later work
    double bound;     ///< the best published
};

/// From the results that are published with "Soft Constraints, Strong Solutions" (ti2-group/iopddl_experiments,
/// February 2026); of P the contest's organizers'.
constexpr known best_known[] = {{"iopddl-A", 6548642000.0, 6513810000.0},
                                {"iopddl-B", 532843, 532843},
                                {"iopddl-G", 217039, 216931},
                                {"iopddl-L", 1970994000.0, 1918620000.0},
                                {"iopddl-M", 49928160000.0, 49407400000.0},
                                {"iopddl-P", 651833115436.0, 616246000000.0},
                                {"iopddl-S", 1511378000.0, 1511240000.0}};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void solve(const char* path, double seconds, int threads) {
    const auto start = std::chrono::steady_clock::now();
    const ts::io::contest_problem file = ts::io::read_contest_problem(path);
    const double read = seconds_since(start);
    double first = -1, first_cost = 0;
    ts::search::certified_options options;
    options.rounds = 1'000'000;
    options.lanes = threads > 1 ? threads - 1 : 1;
    options.threads = ts::search_threads(threads);
    options.messages = std::getenv("TESSERA_NO_MESSAGES") == nullptr;
    const auto late = [&] { return seconds_since(start) > seconds - 0.5; };
    const auto report = [&](const ts::search::certified_progress& p) {
        if (p.fits && first < 0) {
            first = seconds_since(start);
            first_cost = static_cast<double>(p.cost);
        }
    };
    options.stop = late;
    options.report = report;
    const ts::search::certified_result r = ts::search::solve_certified(file.problem, options);
    const std::string& name = file.name;
    std::printf("%s: read in %.2f s; ", name.c_str(), read);
    if (r.choice.empty()) {
        std::printf("nothing that fits after %.1f s, bound %lld\n", seconds_since(start),
                    static_cast<long long>(r.bound));
        return;
    }
    if (const char* folder = std::getenv("TESSERA_CHOICES")) {
        std::ofstream out(std::string(folder) + "/" + name + ".txt");
        for (const ts::search::choice_t c : r.choice) {
            out << c << '\n';
        }
    }
    std::printf("first that fits after %.1f s (%.6g); after %.1f s cost %lld, bound %lld (gap %.2f %%), peak %.2f %% "
                "of the limit",
                first, first_cost, seconds_since(start), static_cast<long long>(r.value.cost),
                static_cast<long long>(r.bound), 100 * r.gap(),
                100.0 * static_cast<double>(r.value.peak) / static_cast<double>(file.problem.limit));
    for (const known& k : best_known) {
        if (name.ends_with(k.name)) {
            std::printf("; best known %.7g: ratio %.4f, published bound %.6g: ratio %.4f", k.cost,
                        static_cast<double>(r.value.cost) / k.cost, k.bound, static_cast<double>(r.bound) / k.bound);
        }
    }
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const double seconds = count > 1 ? std::atof(arguments[1]) : 60;
        const int threads = count > 2 ? std::atoi(arguments[2]) : 2;
        for (int i = 3; i < count; ++i) {
            solve(arguments[i], seconds, threads);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
