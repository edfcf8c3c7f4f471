// SPDX-License-Identifier: Apache-2.0
// Simulation of equal parts (search/equal_parts.hpp): first random strategies of random networks, from two parts and as
// a whole, which must be the same number by number; then seconds and memory of large cases. Fails if anything differs.
// Usage: folded [strategies of each network [networks]], or: folded large DEVICES [TENSOR]
#include "examples/zoo/llama.hpp"
#include "support/random_parts.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/fit/policies.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>

namespace {

namespace ts = tessera;

/// As many parameters as LLaMA 2 of 70 billion, with a key and a value for each head.
struct llama_70b : ts::with_precision<ts::bf16, networks::llama_parts<80, 8192, 64, 22016, 4096, 32000>::network> {};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double peak_gigabytes() {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_maxrss) * 1024e-9;
}

int large(int devices, int tensor) {
    const ts::index_t samples = 4;
    const ts::graph g = ts::describe_at_run_time<llama_70b>(samples * devices / tensor);
    double parameters = 0;
    for (const ts::parameter_node& p : g.parameters) {
        parameters += static_cast<double>(p.extents.volume());
    }
    double start = seconds();
    const ts::cluster on(ts::machines::h100_nodes((devices + 7) / 8));
    ts::strategy s = tensor > 1 ? ts::search::mesh(g.view(), devices / tensor, tensor)
                                : ts::search::data_parallel(g.view(), devices);
    s.micro_batches = 4;
    s.sync = ts::search::synchronization_of(g.view(), devices, ts::search::speed_of(on), ts::schedule::zero_3_record);
    const double made = seconds() - start;
    start = seconds();
    ts::lower_options lowering;
    lowering.update = ts::adamw{};
    const ts::search::equal_parts x = ts::search::equal_parts_of(g.view(), on, s, lowering);
    if (x.parts == 1) {
        std::printf("%d devices: %s\n", devices, x.whole.c_str());
        return 1;
    }
    const ts::search::parts_step r = ts::search::simulate_planned_parts(on, x, {}, lowering);
    const double took = seconds() - start;
    std::printf("%.1f billion parameters, ZeRO 3, 4 micro-batches, %d devices, tensor parallel %d: %s\n",
                parameters * 1e-9, devices, tensor,
                r.whole.empty() ? ("two of " + std::to_string(r.parts) + " parts").c_str() : r.whole.c_str());
    std::printf(
        "  machine and strategy %.3f s, planned and simulated in %.3f s, %.2f GB; a step of %.3f ms, %.1f GB at "
        "most on a device\n",
        made, took, peak_gigabytes(), static_cast<double>(r.step.makespan) * 1e-6,
        r.step.peak_bytes.empty()
            ? 0.0
            : static_cast<double>(*std::max_element(r.step.peak_bytes.begin(), r.step.peak_bytes.end())) * 1e-9);
    return r.whole.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 2 && std::strcmp(argv[1], "large") == 0) {
        return large(std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 1);
    }
    const int each = argc > 1 ? std::atoi(argv[1]) : 2000;
    const int networks = argc > 2 ? std::atoi(argv[2]) : 30;
    if (each < 1 || networks < 1) {
        std::fprintf(stderr, "usage: folded [strategies of each network [networks]], or: folded large DEVICES\n");
        return 2;
    }
    test_support::coverage seen;
    test_support::parts_findings found;
    std::size_t told = 0;
    for (int n = 1; n <= networks; ++n) {
        const test_support::random_case network(static_cast<std::uint64_t>(n));
        for (int k = 0; k < each; ++k) {
            test_support::try_parts(network, static_cast<std::uint64_t>(n) * 100000 + static_cast<std::uint64_t>(k),
                                    seen, found);
        }
        for (; told < found.wrong.size(); ++told) {
            std::printf("WRONG %s\n", found.wrong[told].c_str());
            std::fflush(stdout);
        }
    }
    std::printf("%d strategies of %d networks, %d of them illegal; %d from two parts and as a whole (parts of 1 device "
                "%d, of 2 %d, of more %d; pipelines %d, ZeRO 3 %d), %zu differ\n",
                found.drawn, networks, found.illegal, found.folded, found.by_parts[0], found.by_parts[1],
                found.by_parts[2], found.by_parts[3], found.by_parts[4], found.wrong.size());
    for (const auto& [why, times] : found.whole) {
        std::printf("  %6d as a whole: %s\n", times, why.c_str());
    }
    return found.wrong.empty() ? 0 : 1;
}
