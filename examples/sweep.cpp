// SPDX-License-Identifier: Apache-2.0
// Enumerations composed with range-v3: every combination of batch size and splits of two layers, predicted on four
// GPUs, the fastest printed; and batches of a data set in groups, with the learning rate that each step takes. Nothing
// is trained.
#include "examples/output.hpp"

#include <tessera/io/data/range_v3.hpp>
#include <tessera/machine/presets.hpp>
#include <tessera/search/finished_step.hpp>
#include <tessera/strategy/operand_layout.hpp>
#include <tessera/tessera.hpp>

#include <range/v3/action/sort.hpp>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/cartesian_product.hpp>
#include <range/v3/view/chunk.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/join.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>
#include <range/v3/view/zip.hpp>

#include <array>
#include <cstdio>
#include <optional>

namespace ts = tessera;
namespace views = ranges::views;

namespace {

struct fc1 : ts::linear<4096> {};
struct fc2 : ts::linear<1000> {};
struct network : ts::sequential<ts::features<1024>, fc1, ts::relu, fc2, ts::cross_entropy> {};
constexpr int devices = 4;

constexpr std::array batches{64, 1024};
constexpr std::array<std::optional<ts::loop_name>, 4> splits{std::nullopt, ts::sample, ts::channel, ts::reduction};

std::string text_of(const std::optional<ts::loop_name>& split) { return split ? to_text(*split) : "-"; }

void divide(ts::strategy& s, const ts::graph_view& g, int op, const std::optional<ts::loop_name>& split) {
    const int l = split ? g.describe(op).find_loop(*split) : -1;
    if (l >= 0) { // a relu has no reduction: it stays whole, and adds the summands up
        s.ops[ts::to_size(op)].degree[l] = devices;
    }
}

struct row {
    int batch = 0;
    std::string first;
    std::string second;
    ts::redistributed between; ///< the relu and fc2
    ts::index_t step = 0;      ///< ns
};

row predicted(int batch, const std::optional<ts::loop_name>& first, const std::optional<ts::loop_name>& second,
              const ts::cluster& on) {
    const ts::graph graph = ts::describe<network>(batch);
    const ts::graph_view g = graph.view();
    ts::strategy s(g);
    divide(s, g, 0, first);
    divide(s, g, 1, first);
    divide(s, g, 2, second);
    divide(s, g, 3, second == ts::sample ? second : std::nullopt);
    const auto layout = [&](int op, int operand) {
        return ts::layout_of_operand(g.describe(op), operand, s.ops[ts::to_size(op)], s.pool.data(),
                                     ts::operand_tensor::value);
    };
    ts::plan p = ts::search::bound_plan(g, s, devices);
    ts::finish(g, p);
    return {batch, text_of(first), text_of(second),
            ts::redistribute(layout(1, g.describe(1).output()),
                             layout(2, g.describe(2).find_operand(ts::operand_kind::input))),
            ts::simulation::simulate(g, p, on).makespan};
}

void show_strategies() {
    const ts::cluster on(ts::machines::p100_nodes(1));
    auto rows = views::cartesian_product(batches, splits, splits) | views::transform([&](const auto& choice) {
                    const auto& [batch, first, second] = choice;
                    return predicted(batch, first, second, on);
                }) |
                ranges::to<std::vector>();
    rows |= ranges::actions::sort(std::less<>(), [](const row& r) { return std::pair(r.batch, r.step); });
    std::printf("batch  fc1        fc2        in front of fc2              step\n");
    const auto fastest = rows | views::chunk(splits.size() * splits.size()) | views::transform(views::take(4));
    for (const row& r : fastest | views::join) {
        std::printf("%5d  %-9s  %-9s  %-14s %9lld B %8.3f ms\n", r.batch, r.first.c_str(), r.second.c_str(),
                    to_text(r.between.kind), static_cast<long long>(r.between.bytes),
                    static_cast<double>(r.step) * 1e-6);
    }
}

void show_batches() {
    // Ten samples of one number, which is their label too.
    const auto numbers = views::iota(0, 10);
    const ts::io::sample_set set(numbers | views::transform([](int i) { return static_cast<float>(i); }) |
                                     ranges::to<std::vector>(),
                                 numbers | ranges::to<std::vector<std::int32_t>>());
    const auto rates = views::iota(1) | views::transform([](int step) { return 0.1 / step; });
    const ts::io::batch_options shuffled{.shuffle_seed = 1};
    std::printf("\nshuffled, in batches of 2, two batches for an update\n");
    for (auto&& [rate, group] : views::zip(rates, set.batches(2, shuffled) | views::chunk(2))) {
        std::printf("rate %.3f:", rate);
        for (const ts::io::batch& b : group) {
            for (const std::int32_t label : b.labels) {
                std::printf(" %d", label);
            }
            std::printf(" |");
        }
        std::printf("\n");
    }
}

} // namespace

int main() {
    try {
        show_strategies();
        show_batches();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "sweep: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("sweep");
}
