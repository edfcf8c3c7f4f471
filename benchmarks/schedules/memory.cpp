// SPDX-License-Identifier: Apache-2.0
// Memory of pipelines on this host: the arena that a plan predicts for the fullest device, and how much of the arenas a
// step really writes (patterns before the step, and 1 MiB of room behind every arena that must stay as it is).
//   memory [MICRO-BATCHES]     default 8
// Ends with 1 where a device's last byte written is not among the last 64 bytes predicted, or, where scratch memory
// that oneDNN has asked for comes last, not in that.
#include "benchmarks/schedules/support.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/unet.hpp"
#include "support/host_scratch.hpp"
#include "support/networks.hpp"

namespace {

using namespace schedules;

struct wide {
    struct fc1 : ts::linear<512> {};
    struct fc2 : ts::linear<512> {};
    struct fc3 : ts::linear<512> {};
    struct fc4 : ts::linear<512> {};
    struct fc5 : ts::linear<10> {};
};
struct mlp : ts::sequential<ts::features<512>, wide::fc1, ts::relu, wide::fc2, ts::relu, wide::fc3, ts::relu, wide::fc4,
                            ts::relu, wide::fc5, ts::cross_entropy> {};

bool row(const std::string& network, const ts::graph_view& g, const std::string& how, const ts::strategy& s,
         int devices, double alone, double& own) {
    roomy_backend b(ts::optimizer(ts::sgd{.momentum = 0.9F}));
    ts::workers threads(devices);
    session run(g, s, devices, b.update(), {}, b, threads);
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    const std::vector<index_t> touched = test_support::touched_bytes(
        run, [&] { run.step(data.inputs); }, beyond);
    const ts::plan& p = run.training_plan();
    bool exact = true;
    index_t most = 0;
    index_t written = 0;
    index_t persistent = 0;
    for (std::size_t d = 0; d < touched.size(); ++d) {
        const test_support::arena_end end =
            test_support::end_of_arena(p, static_cast<int>(d), test_support::is_onednn_scratch);
        exact = exact && end.agrees(touched[d]) && end.last() <= p.arena_bytes[d] &&
                p.arena_bytes[d] - end.last() < ts::arena_alignment;
        most = std::max(most, p.arena_bytes[d]);
        written = std::max(written, touched[d]);
        persistent = std::max(persistent, p.persistent_bytes[d]);
    }
    own = megabytes(most);
    std::printf("| %s | %d | %s | %.3f | %.3f | %s | %.2f | %.3f |\n", network.c_str(), devices, how.c_str(),
                megabytes(most), megabytes(written), exact ? "yes" : "NO", alone > 0 ? own / alone : 1.0,
                megabytes(persistent));
    std::fflush(stdout);
    return exact;
}

} // namespace

int main(int count, char** arguments) {
    try {
        const int micro_batches = count > 1 ? std::atoi(arguments[1]) : 8;
        std::printf("| network, batch | devices | schedule | arena predicted, MB | written up to, MB | equal | of one "
                    "device's | parameters and state, MB |\n|---|---|---|---|---|---|---|---|\n");
        const ts::device_class on = ts::machines::this_host(2).classes[0];
        bool good = true;
        const std::pair<const char*, ts::graph> networks[] = {
            {"U-Net 64x64, 16", ts::describe<networks::padded_unet<64, 3, 2, 8, 3>>(16)},
            {"residual net, 64", ts::describe<test_networks::residual_net::network>(64)},
            {"MLP, 512", ts::describe<mlp>(512)}};
        for (const auto& [name, network] : networks) {
            const ts::graph_view g = network.view();
            double alone = 0;
            double own = 0;
            good = row(name, g, "one device", ts::strategy(g), 1, 0, alone) && good;
            for (const int devices : {2, 4}) {
                good =
                    row(name, g, "data parallel", ts::search::data_parallel(g, devices), devices, alone, own) && good;
                for (const test_support::scheduled& x : test_support::all_schedules(devices, micro_batches)) {
                    if (x.order.stages <= g.op_count) {
                        good = row(name, g, x.name, test_support::pipeline_of(g, x, on), devices, alone, own) && good;
                    }
                }
            }
        }
        return good ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
