// SPDX-License-Identifier: Apache-2.0
// A LLaMA-like network of 8 billion parameters on a mesh of 8 x 8 GPUs with limits of memory, every dimension split
// over whole axes of the mesh: the seconds that tables and search take, and how far from the best possible the result
// is at most. llm_planner [samples]
#include "tessera/search/certified/optimum.hpp"

#include "benchmarks/support/timing.hpp"
#include "examples/zoo/llama.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

/// Widths of LLaMA 3 8B, with keys and values as wide as queries, and half of its context.
struct llama_8b : networks::llama_parts<32, 4096, 32, 14336, 4096, 128256>::network {};

void plan(const ts::graph_view& g, const char* links, ts::device_graph machine, ts::index_t gigabytes) {
    for (ts::device_class& c : machine.classes) {
        c.memory_bytes = gigabytes * 1'000'000'000;
    }
    const ts::cluster on(machine);
    const auto start = benchmarks::clock_type::now();
    const auto problem = search::make_optcnn_problem(g, on, {.powers_of = 8});
    const auto usages = search::detail::most_resident(g, problem, 2); // Adam's
    const double tables = benchmarks::milliseconds_since(start);
    const search::modelled_choice found =
        search::solve_modelled(problem.costs, usages, gigabytes > 0 ? gigabytes * 1'000'000'000 : search::no_limit);
    const double all = benchmarks::milliseconds_since(start);
    std::printf("%-10s %3d GB: tables %6.0f ms, all %6.0f ms: ", links, static_cast<int>(gigabytes), tables, all);
    if (found.choice.empty()) {
        std::printf("%s; %.1f GB would do\n",
                    found.state == search::status::infeasible ? "proved not to fit" : "nothing found",
                    static_cast<double>(found.least_used) * 1e-9);
        return;
    }
    std::printf("%9.2f ms a step by the model, at most %.2f %% above the best possible, %.1f GB\n",
                static_cast<double>(found.cost) * 1e-6,
                100 * static_cast<double>(found.cost - found.bound) / static_cast<double>(found.bound),
                static_cast<double>(found.used) * 1e-9);
}

} // namespace

int main(int count, char** arguments) {
    const ts::index_t samples = count > 1 ? std::atoll(arguments[1]) : 16;
    if (samples < 1) {
        std::fprintf(stderr, "llm_planner [samples]\n");
        return 2;
    }
    const ts::graph g = ts::describe<llama_8b>(samples);
    ts::index_t parameters = 0;
    for (const ts::parameter_node& p : g.parameters) {
        parameters += p.extents.volume();
    }
    std::printf("%d operators, %.2f billion parameters, %d samples of 4096 tokens, Adam, 8 nodes of 8 H100\n",
                g.view().op_count, static_cast<double>(parameters) * 1e-9, static_cast<int>(samples));
    const ts::device_graph nodes = ts::machines::h100_nodes(8);
    for (const ts::index_t gigabytes : {0, 80, 70, 60, 40}) {
        plan(g.view(), "8 x 8", nodes, gigabytes);
        plan(g.view(), "all alike", ts::fully_linked(ts::uniform_machine(ts::cluster(nodes))), gigabytes);
    }
}
