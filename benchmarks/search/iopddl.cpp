// SPDX-License-Identifier: Apache-2.0
// Problems of the ASPLOS / EuroSys 2025 contest on intra-operator parallelism (IOPDDL): one problem as JSON on standard input. Prints what
// forest descent finds in the time given, and how far that is from the best cost that a team reached in the contest.
// Arguments: seconds, the letter of the benchmark. The problems: github.com/google/iopddl; contest results: asplos-contest/2025,
// misc/iopddl_final_results.csv.
#include "benchmarks/support/timing.hpp"
#include "tessera/io/json.hpp"
#include "tessera/search/forest_descent.hpp"
#include "tessera/search/variable_elimination.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using benchmarks::clock_type;
using benchmarks::milliseconds_since;

struct contest_problem {
    search::additive_problem costs;
    search::timed_usage memory;
};

std::vector<search::cost_t> numbers(const ts::io::json& list) {
    std::vector<search::cost_t> all;
    for (const ts::io::json& x : list.items) {
        all.push_back(x.integer);
    }
    return all;
}

contest_problem read(const std::string& text) {
    const ts::io::json file = ts::io::parse_json(text);
    const ts::io::json& p = *file.find("problem");
    const ts::io::json& nodes = *p.find("nodes");
    const ts::io::json& edges = *p.find("edges");
    contest_problem r;
    for (const ts::io::json& c : nodes.find("costs")->items) {
        r.costs.add_node(numbers(c));
    }
    for (const ts::io::json& i : nodes.find("intervals")->items) {
        r.memory.alive.push_back({i.items[0].integer, i.items[1].integer});
    }
    for (const ts::io::json& u : nodes.find("usages")->items) {
        r.memory.usage.push_back(numbers(u));
    }
    r.memory.limit = p.find("usage_limit")->integer;
    const std::vector<ts::io::json>& tables = edges.find("costs")->items;
    for (std::size_t e = 0; e < tables.size(); ++e) {
        const ts::io::json& ends = edges.find("nodes")->items[e];
        r.costs.add_edge(static_cast<int>(ends.items[0].integer), static_cast<int>(ends.items[1].integer),
                         numbers(tables[e]));
    }
    return r;
}

/// The best of 20 teams in the contest.
struct known {
    const char* name;
    search::cost_t best;
} constexpr contest[] = {{"A", 6548641531},  {"B", 532843},       {"G", 217039},    {"L", 1970993742},
                         {"M", 49928460991}, {"P", 662197407330}, {"S", 1534613444}};

} // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 60;
    const std::string name = count > 2 ? arguments[2] : "";
    const std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    const contest_problem p = read(text);
    const auto start = clock_type::now();
    search::forest_descent descent(p.costs, &p.memory);
    double found_after = 0;
    search::cost_t last = search::forbidden;
    while (milliseconds_since(start) < seconds * 1000) {
        descent.sweep();
        if (descent.best_cost() < last) {
            last = descent.best_cost();
            found_after = milliseconds_since(start) / 1000;
        }
    }
    search::cost_t best_known = 0;
    for (const known& k : contest) {
        best_known = name == k.name ? k.best : best_known;
    }
    std::printf("| %s | %d | %d | %lld | %.1f | ", name.c_str(), p.costs.nodes(), p.costs.edges(),
                static_cast<long long>(descent.sweeps()), found_after);
    if (descent.best().empty()) {
        std::printf("none within the memory | %lld | |\n", static_cast<long long>(best_known));
    } else {
        std::printf("%lld | %lld | %.4f |\n", static_cast<long long>(last), static_cast<long long>(best_known),
                    best_known > 0 ? static_cast<double>(last) / static_cast<double>(best_known) : 0.0);
    }
}
