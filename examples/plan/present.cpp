// SPDX-License-Identifier: Apache-2.0
// What the planner prints and writes.
#include "examples/plan/plan.hpp"

#include <tessera/base/nearest.hpp>
#include <tessera/io/report_network.hpp>
#include <tessera/io/waiting.hpp>
#include <tessera/search/by_hand/baselines.hpp>
#include <tessera/search/explain/print.hpp>
#include <tessera/search/same_places.hpp>

#include <range/v3/algorithm/max.hpp>
#include <range/v3/view/enumerate.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/zip_with.hpp>

#include <cstdio>
#include <functional>

namespace planner {

namespace views = ranges::views;

namespace {

/// The device that has least room left, and by how much its plan is too large, or "".
std::string lacking(const problem& p, const ts::plan& plan) {
    const auto needed = views::zip_with(std::plus<>(), plan.arena_bytes, plan.persistent_bytes);
    for (const auto& [d, needs] : views::enumerate(needed)) {
        const ts::index_t has = p.on.class_of(static_cast<int>(d)).memory_bytes;
        if (has > 0 && needs > has) {
            return "device " + std::to_string(d) + " needs " + ts::io::detail::bytes_text(static_cast<double>(needs)) +
                   " and has " + ts::io::detail::bytes_text(static_cast<double>(has));
        }
    }
    return "";
}

void print_line(const problem& p, const std::string& name, const ts::io::shown_run& r) {
    const ts::index_t peak = r.simulated.peak_bytes.empty() ? 0 : ranges::max(r.simulated.peak_bytes);
    const std::string missing = lacking(p, r.plan);
    std::printf("%-28s %12.3f ms a step, %9s move, at most %9s on a device%s\n", name.c_str(),
                static_cast<double>(r.simulated.makespan) * 1e-6,
                ts::io::detail::bytes_text(static_cast<double>(r.plan.moved_bytes)).c_str(),
                ts::io::detail::bytes_text(static_cast<double>(peak)).c_str(),
                missing.empty() ? "" : ", which is too much");
}

/// A strategy that everybody knows, unless it is what was found.
void print_baseline(const problem& p, const std::string& name, const ts::strategy& s, const ts::io::shown_run& found) {
    if (!ts::search::difference(p.network, s, found.how).any()) {
        print_line(p, name, found);
        return;
    }
    try {
        print_line(p, name, run_of(p, s));
    } catch (const ts::error& e) { // a baseline may be out of reach where what was found is not
        std::printf("%-28s not simulated: %s\n", name.c_str(), e.what());
    }
}

/// In what they differ, with the second one's devices renumbered where that makes no difference on this machine.
std::string text_of_difference(const problem& p, const ts::strategy& found, const ts::strategy& other,
                               const std::string& called, const std::string& name) {
    const std::vector<int> order = ts::search::same_places(p.network, p.on, found, other);
    const ts::strategy moved = ts::search::in_old_numbers(p.network, other, order);
    const auto elsewhere = [](const auto& device) { return device.second != static_cast<int>(device.first); };
    std::string renumbered;
    for (const auto& [d, is] : views::enumerate(order) | views::filter(elsewhere)) {
        if (renumbered.size() < 200) {
            renumbered += (renumbered.empty() ? "" : ", ") + std::to_string(d) + " is " + std::to_string(is);
        }
    }
    return (renumbered.empty() ? "" : "devices of " + name + ", renumbered to match: " + renumbered + "\n") +
           to_text(p.network, ts::search::difference(p.network, found, moved), found, moved, called, name);
}

} // namespace

int find_layer(const ts::graph_view& g, const std::string& name) {
    const std::vector<std::string> names = ts::paths_of(g).ops;
    for (int op = 0; op < g.op_count; ++op) {
        if (names[static_cast<std::size_t>(op)] == name) {
            return op;
        }
    }
    throw ts::error("the network has no layer '" + name + "'" + ts::did_you_mean(name, names) +
                    "; --table lists its layers");
}

void present(const problem& p, const ts::strategy& found, const std::string& called, const request& r) {
    const ts::index_t batch = p.network.tensors[0].extents[0];
    const std::string about = r.network + ", batch " + std::to_string(batch) + ", on " + p.on.graph().name + " (" +
                              std::to_string(p.on.devices()) + " devices), " + called;
    const ts::io::shown_run run = run_of(p, found);
    std::string notes;
    for (const std::string& layer : r.explain) {
        notes += explanation_of(p, found, layer) + "\n";
    }
    std::printf("%s\n", about.c_str());
    print_line(p, called, run);
    if (r.compare.empty()) {
        print_baseline(p, "data parallel", ts::search::data_parallel(p.network, p.on.devices()), run);
        print_baseline(p, "one device", ts::search::single_device(p.network), run);
    } else {
        const ts::strategy other = is_file_name(r.compare) ? strategy_in(p, r.compare) : find_strategy(p, r.compare, r);
        print_line(p, r.compare, run_of(p, other));
        const std::string text = text_of_difference(p, found, other, called, r.compare);
        std::printf("\n%s", text.c_str());
        notes += text;
    }
    if (r.table) {
        std::printf("\n%s", to_text(p.network, found.view()).c_str());
    }
    if (!r.explain.empty()) {
        std::printf("\n%s", notes.substr(0, notes.find_last_not_of('\n') + 1).c_str());
        std::printf("\n");
    }
    if (const std::string missing = lacking(p, run.plan); !missing.empty()) {
        throw ts::error("the strategy does not fit: " + missing +
                        "; use more devices, a smaller batch, another search, or --memory 0");
    }
    const ts::io::waiting sign("writing files");
    write_files(p, run, r, about, notes);
}

} // namespace planner
