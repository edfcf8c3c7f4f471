// SPDX-License-Identifier: Apache-2.0
// GPipe (Huang et al. 2019, arXiv 1811.06965, tables 1 to 3) and torchgpipe's reproductions (kakaobrain/torchgpipe,
// docs/benchmarks.rst) in the simulator, as Markdown. Usage: gpipe_tables [--all: the largest models too | --explain:
// only why rows of table 1 deviate]
#include "benchmarks/papers/gpipe_memory.hpp"
#include "examples/zoo/residual.hpp"

namespace {

using namespace papers;

constexpr int stage_counts[] = {2, 4, 8};
constexpr int batches[] = {1, 4, 32};

/// The cells of an AmoebaNet as GPipe and torchgpipe cut it: the stem's convolution, every cell, the classifier. A cell
/// ends with a concatenation of at least three states.
std::vector<int> cells_of(const ts::graph_view& g) {
    std::vector<int> cell;
    int now = 0;
    for (int op = 0; op < g.op_count; ++op) {
        cell.push_back(now);
        const ts::op_node& x = g.ops[op];
        now += op == 1 || (x.attributes.kind == ts::op_kind::concat && x.inputs.size() > 2) ? 1 : 0;
    }
    return cell;
}

/// Stages of whole cells, the slowest as fast as can be.
std::vector<int> stages_of_cells(const std::vector<int>& cell, const std::vector<index_t>& times, int stages) {
    std::vector<index_t> of_cell(ts::to_size(cell.back()) + 1, 0);
    for (std::size_t op = 0; op < cell.size(); ++op) {
        of_cell[ts::to_size(cell[op])] += times[op];
    }
    const std::vector<int> of = schedule::balance_stages(of_cell, stages);
    std::vector<int> stage;
    for (const int c : cell) {
        stage.push_back(of[ts::to_size(c)]);
    }
    return stage;
}

/// Stages of so many cells each.
std::vector<int> stages_given(const std::vector<int>& cell, const std::vector<int>& balance) {
    std::vector<int> of;
    for (std::size_t s = 0; s < balance.size(); ++s) {
        of.insert(of.end(), ts::to_size(balance[s]), static_cast<int>(s));
    }
    std::vector<int> stage;
    for (const int c : cell) {
        stage.push_back(of.at(ts::to_size(c)));
    }
    return stage;
}

using maker = std::vector<int> (*)(const ts::graph_view&, const ts::device_class&, int);
std::vector<int> by_cells(const ts::graph_view& g, const ts::device_class& c, int stages) {
    return stages_of_cells(cells_of(g), search::operator_times(g, c), stages);
}
std::vector<int> by_operators(const ts::graph_view& g, const ts::device_class& c, int stages) {
    return schedule::balance_stages(search::operator_times(g, c), stages);
}

/// One network on K of some devices: plans are lowered once, and simulated with any time for starting a task.
class measured {
public:
    measured(const ts::graph& g, ts::device_class c, ts::device_graph (*make)(const ts::device_class&, int), maker cut)
        : g_(g.view()), class_(std::move(c)), make_(make), cut_(cut) {}

    double ms(int stages, int micro_batches, index_t launch) {
        entry& e = of(stages, micro_batches);
        ts::device_class c = class_;
        c.launch = launch;
        return step_ms(g_, e.plan, ts::cluster(make_(c, stages)));
    }
    double relative(int stages, int micro_batches, index_t launch) {
        return ms(2, base_, launch) / ms(stages, micro_batches, launch);
    }
    void relative_to(int micro_batches) { base_ = micro_batches; }

private:
    struct entry {
        int stages = 0, micro_batches = 0;
        ts::plan plan;
    };
    entry& of(int stages, int micro_batches) {
        for (entry& e : known_) {
            if (e.stages == stages && e.micro_batches == micro_batches) {
                return e;
            }
        }
        const ts::strategy s = gpipe(g_, cut_(g_, class_, stages), stages, micro_batches);
        known_.push_back({stages, micro_batches, ts::lower(g_, s.view(), stages)});
        return known_.back();
    }

    ts::graph_view g_;
    ts::device_class class_;
    ts::device_graph (*make_)(const ts::device_class&, int);
    maker cut_;
    int base_ = 1;
    std::vector<entry> known_;
};

void table_2(const char* name, measured& cut_as_published, measured* cut_anywhere, const double (&paper)[3][3],
             index_t launch, bool fitted) {
    for (std::size_t m = 0; m < 3; ++m) {
        for (std::size_t k = 0; k < 3; ++k) {
            const int stages = stage_counts[k];
            const int micro_batches = batches[m];
            std::printf("| %s | %d | %d | %.2f | %.2f | %.2f%s |", name, micro_batches, stages, paper[m][k],
                        cut_as_published.relative(stages, micro_batches, 5000),
                        cut_as_published.relative(stages, micro_batches, launch),
                        fitted && m == 2 && k == 0 ? " (fitted)" : "");
            if (cut_anywhere != nullptr) {
                std::printf(" %.2f |", cut_anywhere->relative(stages, micro_batches, launch));
            } else {
                std::printf(" |");
            }
            std::printf(" %.2f | %.2f |\n", late_recompute(stages, micro_batches),
                        early_recompute(stages, micro_batches));
            std::fflush(stdout);
        }
    }
}

void table_3(const char* name, measured& m, const double (&paper)[3]) {
    std::printf("| %s |", name);
    for (std::size_t k = 0; k < 3; ++k) {
        std::printf(" %.1f | %.2f |", paper[k], m.relative(stage_counts[k], 32, 5000));
    }
    std::printf("\n");
    std::fflush(stdout);
}

struct size_row {
    const char* name;
    ts::graph (*describe)(index_t);
    int stages; ///< 0: without a pipeline and without re-materialization
    double parameters, parameter_gb, activation_gb;
};

void size(const size_row& r, index_t batch, int micro_batches, index_t limit, bool cells) {
    const ts::graph g = r.describe(batch);
    const ts::graph_view v = g.view();
    ts::strategy s = search::single_device(v);
    const int stages = r.stages > 0 ? r.stages : 1;
    if (r.stages > 0) {
        const ts::device_class c = cells ? tpu_v2() : tpu_v3();
        s = gpipe(v, cells ? by_cells(v, c, stages) : by_operators(v, c, stages), stages, micro_batches);
    }
    const memory_use m = memory_of(v, s, stages, ts::optimizer(ts::adam{}));
    std::printf("| %s | %s | %.0f / %.0f | %.2f / %.2f | %.2f / %.2f | %.2f | %s |\n", r.name,
                r.stages > 0 ? std::to_string(r.stages).c_str() : "1, keeps all", r.parameters * 1e-6,
                static_cast<double>(parameters_of(v)) * 1e-6, r.parameter_gb, in_gb(m.persistent), r.activation_gb,
                in_gb(m.arena), in_gb(m.most), m.most <= limit ? "yes" : "no");
    std::fflush(stdout);
}

/// torchgpipe's rows: the throughput of a pipeline of given cells, batch and chunks, in samples a second.
double samples_per_second(ts::graph (*describe)(index_t), index_t batch, int chunks, const std::vector<int>& balance,
                          schedule::rematerialize which) {
    const auto stages = static_cast<int>(balance.size());
    const ts::graph g = describe(batch);
    const ts::graph_view v = g.view();
    const ts::strategy s = gpipe(v, stages_given(cells_of(v), balance), stages, chunks, which);
    return static_cast<double>(batch) / step_ms(v, s, ts::cluster(pcie_node(p40(), stages))) * 1000;
}

void torchgpipe_amoebanet() {
    struct row {
        int stages, chunks;
        index_t batch;
        std::vector<int> balance;
        double paper;
    };
    const std::vector<row> rows = {
        {2, 1, 96, {7, 17}, 1.00},
        {2, 4, 256, {9, 15}, 1.54},
        {2, 32, 1280, {9, 15}, 1.77},
        {4, 1, 160, {3, 4, 5, 12}, 1.00},
        {4, 4, 360, {3, 6, 7, 8}, 1.67},
        {4, 32, 1152, {3, 6, 7, 8}, 2.71},
        {8, 1, 196, {2, 2, 2, 2, 2, 3, 4, 7}, 0.93},
        {8, 4, 480, {2, 2, 2, 3, 3, 4, 4, 4}, 2.62},
        {8, 32, 1280, {2, 2, 2, 3, 3, 4, 4, 4}, 4.95},
    };
    double one = 0;
    for (const row& r : rows) {
        const double rate =
            samples_per_second(ts::describe<networks::amoebanet_d<18, 256>>, r.batch, r.chunks, r.balance,
                               r.chunks == 1 ? schedule::rematerialize::all : schedule::rematerialize::except_last);
        one = one > 0 ? one : rate;
        std::printf("| %d | %d | %lld | %.2f | %.2f |\n", r.stages, r.chunks, static_cast<long long>(r.batch), r.paper,
                    rate / one);
        std::fflush(stdout);
    }
}

/// Long pipelines of equal micro-batches: every further micro-batch takes as long as the one before. Two short ones say
/// how long.
double long_pipeline_ms(ts::graph (*describe)(index_t), index_t samples, int chunks, int stages) {
    const auto ms = [&](int count) {
        const ts::graph g = describe(samples * count);
        const ts::graph_view v = g.view();
        const ts::cluster on(pcie_node(p40(), stages));
        const ts::strategy s =
            gpipe(v, by_operators(v, on.class_of(0), stages), stages, count, schedule::rematerialize::except_last);
        return step_ms(v, s, on);
    };
    const int some = 2 * stages;
    if (chunks <= 2 * some) {
        return ms(chunks);
    }
    const double first = ms(some);
    const double second = ms(2 * some);
    return second + (second - first) / some * (chunks - 2 * some);
}

void torchgpipe_resnet() {
    const ts::graph alone = ts::describe<networks::resnet101>(118);
    const double one =
        118 / step_ms(alone.view(), search::single_device(alone.view()), ts::cluster(pcie_node(p40(), 1)));
    std::printf("| 1, without | 118 | 1 | 1.000 | 1.000 | %.1f (95.9) |\n", one * 1000);
    const struct {
        int stages, chunks;
        index_t batch;
        double paper;
    } rows[] = {{1, 2, 220, 0.853}, {2, 1667, 25000, 1.414}, {4, 256, 5632, 2.774}, {8, 150, 5400, 4.294}};
    for (const auto& r : rows) {
        const index_t samples = (r.batch + r.chunks - 1) / r.chunks;
        const double rate = static_cast<double>(samples * r.chunks) /
                            long_pipeline_ms(ts::describe<networks::resnet101>, samples, r.chunks, r.stages);
        std::printf("| %d | %lld | %d | %.3f | %.3f | %.1f |\n", r.stages, static_cast<long long>(r.batch), r.chunks,
                    r.paper, rate / one, rate * 1000);
        std::fflush(stdout);
    }
}

} // namespace

int main(int count, char** arguments) {
    const bool all = count > 1 && std::string(arguments[1]) == "--all";
    const auto explain = [] {
        explain_table_1(cells_of, [](const ts::graph_view& g, int stages) { return by_cells(g, tpu_v2(), stages); });
    };
    if (count > 1 && std::string(arguments[1]) == "--explain") {
        explain();
        return 0;
    }
    std::printf(
        "## GPipe\n\nBatches of 128 images and 32 texts. Everything is computed again for backward. Throughput "
        "relative to K=2, M=1 "
        "(paper's table 2), simulated on TPU cores\n(AmoebaNet: v2, Transformer: v3): with 5 us to start an "
        "operator, with that time fitted on one row, and, so fitted, with cuts anywhere\ninstead of between the cells. "
        "Beside them the "
        "closed models: recomputation that waits for the next stage's gradient, and that does not.\n\n"
        "| network | M | K | paper | simulated | fitted | cut anywhere | MK/(M+K-1) | early recompute "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
    index_t launch = 0;
    constexpr double amoebanet[3][3] = {{1, 1.13, 1.38}, {1.07, 1.26, 1.72}, {1.21, 1.84, 3.48}};
    constexpr double transformer[3][3] = {{1, 1.07, 1.3}, {1.7, 3.2, 4.8}, {1.8, 3.4, 6.3}};
    {
        const ts::graph g = ts::describe<networks::amoebanet_d<18, 256>>(128);
        measured cells(g, tpu_v2(), tpu_cores, by_cells);
        measured anywhere(g, tpu_v2(), tpu_cores, by_operators);
        // The one fitted constant: what starting an operator on a micro-batch costs, from the row K=2, M=32.
        launch = static_cast<index_t>(fit(1e3, 1e6, amoebanet[2][0], false,
                                          [&](double x) { return cells.relative(2, 32, static_cast<index_t>(x)); }));
        table_2("AmoebaNet-D(18,256)", cells, &anywhere, amoebanet, launch, true);
    }
    {
        const ts::graph g = ts::describe<networks::gpipe_transformer<48>>(32);
        measured m(g, tpu_v3(), tpu_cores, by_operators);
        table_2("Transformer-48", m, nullptr, transformer, launch, false);
    }
    std::printf("\nFitted: %.1f us to start an operator on a micro-batch (AmoebaNet, K=2, M=32: 1.21); it predicts the "
                "other rows of both networks.\n",
                static_cast<double>(launch) * 1e-3);
    std::printf("\nP100s without fast links (table 3), M=32, relative to K=2; nothing fitted.\n\n"
                "| network | K=2 | simulated | K=4 | simulated | K=8 | simulated |\n|---|---|---|---|---|---|---|\n");
    {
        const ts::graph g = ts::describe<networks::amoebanet_d<18, 128>>(128);
        measured m(g, p100_pcie(), pcie_node, by_cells);
        m.relative_to(32);
        table_3("AmoebaNet-D(18,128)", m, {1, 1.7, 2.7});
    }
    {
        const ts::graph g = ts::describe<networks::gpipe_transformer<24>>(32);
        measured m(g, p100_pcie(), pcie_node, by_operators);
        m.relative_to(32);
        table_3("Transformer-24", m, {1, 1.8, 3.3});
    }
    std::printf("\nTable 1: the paper's largest models. Paper / here: parameters in millions; GB of parameters with "
                "two states each (12 bytes "
                "each, as the paper's RMSProp); peak of everything else,\nall devices together. The planner keeps f32. "
                "The last columns: "
                "the fullest device, and whether that fits (AmoebaNet, batch 128: 8 GB; Transformer, batch 32: 16 GB). "
                "M = 32.\n\n"
                "| network | stages | parameters, M | parameters, GB | activations, GB | fullest device, GB | fits "
                "|\n|---|---|---|---|---|---|---|\n");
    const size_row images[] = {
        {"AmoebaNet-D(18,208)", ts::describe<networks::amoebanet_d<18, 208>>, 0, 82e6, 1.05, 6.26},
        {"AmoebaNet-D(18,416)", ts::describe<networks::amoebanet_d<18, 416>>, 1, 318e6, 3.8, 3.46},
        {"AmoebaNet-D(18,544)", ts::describe<networks::amoebanet_d<18, 544>>, 2, 542e6, 6.45, 8.11},
        {"AmoebaNet-D(36,544)", ts::describe<networks::amoebanet_d<36, 544>>, 4, 1.05e9, 12.53, 15.21},
        {"AmoebaNet-D(72,512)", ts::describe<networks::amoebanet_d<72, 512>>, 8, 1.8e9, 24.62, 26.24},
    };
    for (const size_row& r : images) {
        if (r.stages < 4 || all) {
            size(r, 128, 32, 8'000'000'000, true);
        }
    }
    const size_row texts[] = {
        {"Transformer-3", ts::describe<networks::gpipe_transformer<3>>, 0, 282.2e6, 11.7, 3.15},
        {"Transformer-13", ts::describe<networks::gpipe_transformer<13>>, 1, 785.8e6, 8.8, 6.4},
        {"Transformer-103", ts::describe<networks::gpipe_transformer<103>>, 8, 5.3e9, 59.5, 50.9},
    };
    for (const size_row& r : texts) {
        if (r.stages < 4 || all) {
            size(r, 32, 32, 16'000'000'000, false);
        }
    }
    explain();
    std::printf("\ntorchgpipe's AmoebaNet-D(18,256) on P40s over PCIe, its batches, chunks and cuts; relative to K=2, "
                "M=1; nothing fitted.\n\n"
                "| K | M | batch | torchgpipe | simulated |\n|---|---|---|---|---|\n");
    torchgpipe_amoebanet();
    std::printf(
        "\ntorchgpipe's ResNet-101, its batches and chunks, our balance; relative to one P40 without pipeline.\n\n"
        "| K | batch | M | torchgpipe | simulated | images/s |\n|---|---|---|---|---|---|\n");
    torchgpipe_resnet();
    std::printf("\nWhat differs: recomputation begins before the next stage's gradient arrives, as the paper says, "
                "because a device's list goes on. "
                "With 4 micro-batches the paper's\nAmoebaNet gains far less than any model says, its Transformer more "
                "(the paper adapts batch sizes to "
                "the memory; whether that is why is not said). On torchgpipe's\nown batches, chunks and cuts the "
                "simulator is nearer.\n");
}
