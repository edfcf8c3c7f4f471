// SPDX-License-Identifier: Apache-2.0
// Families of generated graphs, some to train on and some held out, and tables of what is made of the held-out ones.
#pragma once

#include "benchmarks/support/placing.hpp"

#include <deque>

namespace benchmarks {

/// The members of a family, to train on and held out.
struct family_members {
    std::deque<placing> training;
    std::deque<placing> held_out;

    family_members(tessera::learned::family of, int devices) {
        const tessera::learned::family_split split = tessera::learned::split_family();
        for (const int i : split.training) {
            training.emplace_back(of, i, devices);
        }
        for (const int i : split.held_out) {
            held_out.emplace_back(of, i, devices);
        }
    }
};

/// One row of a family's table: means over the graphs of each seed, of costs, which memory that is missing makes
/// higher.
struct family_row {
    std::string name;
    std::vector<double> cost{}; ///< by seed
    int fit = 0;
    int all = 0;

    void begin() { cost.push_back(0); }
    void add(const placing& p, const tessera::search::placement::found& f, std::size_t graphs) {
        cost.back() += p.cost(f) / static_cast<double>(graphs);
        fit += f.feasible() ? 1 : 0;
        ++all;
    }
};

/// Rows with a column for each of so many seeds.
inline void print_rows(const std::deque<family_row>& all, int trainings) {
    std::printf("| held out |");
    for (int seed = 1; seed <= trainings; ++seed) {
        std::printf(" seed %d |", seed);
    }
    std::printf(" mean | fit |\n|---|");
    for (int i = 0; i < trainings + 2; ++i) {
        std::printf("---|");
    }
    std::printf("\n");
    for (const family_row& c : all) {
        std::printf("| %s |", c.name.c_str());
        double mean = 0;
        for (const double x : c.cost) {
            std::printf(" %.3f |", x);
            mean += x / trainings;
        }
        std::printf(" %.3f | %d of %d |\n", mean, c.fit, c.all);
    }
}

} // namespace benchmarks
