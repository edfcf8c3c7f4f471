// SPDX-License-Identifier: Apache-2.0
// What the planner prints and writes.
#include "examples/plan/plan.hpp"

#include <tessera/base/nearest.hpp>
#include <tessera/io/reports/report_network.hpp>
#include <tessera/io/reports/waiting.hpp>
#include <tessera/search/by_hand/baselines.hpp>
#include <tessera/search/certified/bound.hpp>
#include <tessera/search/explain/print.hpp>
#include <tessera/search/same_places.hpp>

#include <range/v3/algorithm/max.hpp>
#include <range/v3/view/enumerate.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/zip_with.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace planner {

namespace views = ranges::views;

namespace {

/// The device that has least room left, and by how much its plan is too large, or "".
std::string lacking(const problem& p, const ts::plan& plan) {
    const auto needed = views::zip_with(std::plus<>(), plan.arena_bytes, plan.persistent_bytes);
    const ts::index_t least = ranges::max(needed);
    for (const auto& [d, needs] : views::enumerate(needed)) {
        const ts::index_t has = p.on.class_of(static_cast<int>(d)).memory_bytes;
        if (has > 0 && needs > has) {
            return "device " + std::to_string(d) + " needs " + ts::io::detail::bytes_text(static_cast<double>(needs)) +
                   " and has " + ts::io::detail::bytes_text(static_cast<double>(has)) + "; with --memory " +
                   std::to_string(least) + " it fits";
        }
    }
    return "";
}

/// At least so wide, at the left, or at the right where the width is negative.
std::string in_column(const std::string& text, int width = 28) {
    const std::string spaces(ts::to_size(std::max(std::abs(width) - static_cast<int>(text.size()), 0)), ' ');
    return width < 0 ? spaces + text : text + spaces;
}

using sayer = std::function<void(const std::string&)>;

/// What a step is worth beside its time: tokens or samples a second, and the shares of the machine's peak.
std::string figures_text(const problem& p, const ts::simulation::step_figures& f, ts::precision math, bool estimated) {
    const bool tokens = f.tokens_per_second > 0;
    const double rate = tokens ? f.tokens_per_second : f.samples_per_second;
    const char* what = tokens ? "tokens/s" : "samples/s";
    char text[160];
    std::snprintf(text, sizeof text, "  %.*f %s, %.*f %s/GPU, MFU %.1f %%", rate < 100 ? 1 : 0, rate, what,
                  rate < 1000 ? 1 : 0, rate / p.on.devices(), what, 100 * f.model_share);
    std::string all = text;
    if (!estimated) {
        std::snprintf(text, sizeof text, ", HFU %.1f %%", 100 * f.device_share);
        all += text;
    }
    return all + " of the peak in " + ts::to_text(math) + "\n";
}

std::string memory_text(const ts::simulation::memory_split& m, int device) {
    const auto bytes = [](ts::index_t n) { return ts::io::detail::bytes_text(static_cast<double>(n)); };
    return "  memory of device " + std::to_string(device) + ": parameters " + bytes(m.parameters) + ", gradients " +
           bytes(m.gradients) + ", optimizer state " + bytes(m.optimizer_state) + ", activations " +
           bytes(m.activations) + ", buffers " + bytes(m.buffers) + "\n";
}

/// The figures and the memory of what was found.
void present_figures(const problem& p, const ts::io::shown_run& r, presented& line, const sayer& say) {
    const ts::simulation::model_work w = ts::simulation::work_of_model(p.network);
    line.figures =
        figures_of(w, ts::simulation::recomputed_flops(p.network, r.plan), p.on, line.step_ns / r.plan.steps_per_plan);
    say(figures_text(p, line.figures, w.math, false));
    int fullest = 0;
    for (int d = 1; d < r.plan.devices; ++d) {
        const auto bytes = [&](int of) {
            return r.plan.arena_bytes[ts::to_size(of)] + r.plan.persistent_bytes[ts::to_size(of)];
        };
        fullest = bytes(d) > bytes(fullest) ? d : fullest;
    }
    line.memory = ts::simulation::split_of_memory(p.network, r.plan, fullest);
    say(memory_text(line.memory, fullest));
}

presented present_line(const problem& p, ts::search::strategy_bounds& bounds, const std::string& name,
                       const ts::io::shown_run& r, const sayer& say) {
    presented line;
    line.step_ns = r.simulated.makespan;
    line.peak_bytes = r.simulated.peak_bytes.empty() ? 0 : ranges::max(r.simulated.peak_bytes);
    line.moved_bytes = r.plan.moved_bytes;
    line.bound = to_text(bounds.of(r.how));
    const auto bytes = [](ts::index_t n) { return ts::io::detail::bytes_text(static_cast<double>(n)); };
    char text[40];
    std::snprintf(text, sizeof text, " %12.3f ms a step, ", static_cast<double>(line.step_ns) * 1e-6);
    say(in_column(name) + text + in_column(bytes(line.moved_bytes), -9) + " move, at most " +
        in_column(bytes(line.peak_bytes), -9) + " on a device" +
        (lacking(p, r.plan).empty() ? "" : ", which is too much") + "\n  " + line.bound + "\n");
    return line;
}

/// A strategy that everybody knows, unless it is what was found.
void present_baseline(const problem& p, ts::search::strategy_bounds& bounds, const std::string& name,
                      const ts::strategy& s, const ts::io::shown_run& found, const sayer& say) {
    if (!ts::search::difference(p.network, s, found.how).any()) {
        present_line(p, bounds, name, found, say);
        return;
    }
    try {
        present_line(p, bounds, name, run_of(p, s), say);
    } catch (const ts::error& e) { // a baseline may be out of reach where what was found is not
        say(in_column(name) + " not simulated: " + e.what() + "\n");
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
        if (names[ts::to_size(op)] == name) {
            return op;
        }
    }
    throw ts::error("the network has no layer '" + name + "'" + ts::did_you_mean(name, names) +
                    "; --table lists its layers");
}

namespace {

/// Step and memory of a plan that is too large to be simulated as a whole: of equal parts simulated, else what a search
/// estimates.
presented present_large(const problem& p, const ts::strategy& how, const ts::search::finished_step& step,
                        bool simulated, const std::string& about, const std::string& called, const request& r,
                        const sayer& say) {
    if (!r.report_out.empty() || !r.trace_out.empty() || !r.compare.empty() || !r.explain.empty()) {
        throw ts::error("the plan of this strategy is too large to be simulated as a whole, and a report, a trace, a "
                        "comparison or an explanation shows what is simulated; leave it out, or use fewer devices "
                        "or --micro-batches");
    }
    say(about + "\n");
    presented line;
    line.step_ns = step.makespan;
    line.moved_bytes = step.moved_bytes;
    line.peak_bytes = ranges::max(step.peak_bytes);
    line.bound = simulated ? "no bound; two of the equal parts that do the same were planned and simulated for all"
                           : "no bound: the plan is too large to be simulated as a whole; step and memory are the "
                             "search's estimate";
    char text[60];
    std::snprintf(text, sizeof text, " %12.3f ms a step, at most ", static_cast<double>(line.step_ns) * 1e-6);
    say(in_column(called) + text + ts::io::detail::bytes_text(static_cast<double>(line.peak_bytes)) +
        " on a device\n  " + line.bound + "\n");
    const ts::simulation::model_work w = ts::simulation::work_of_model(p.network);
    line.figures = figures_of(w, 0, p.on, line.step_ns);
    say(figures_text(p, line.figures, w.math, true));
    if (r.table) {
        say("\n" + to_text(p.network, how.view()));
    }
    return line;
}

} // namespace

presented present(const problem& p, const ts::search::search_found& answer, const std::string& called, const request& r,
                  const sayer& say) {
    const ts::strategy& found = answer.best;
    const ts::index_t batch = p.network.tensors[0].extents[0];
    const std::string about = r.network + ", batch " + std::to_string(batch) + ", on " + p.on.graph().name + " (" +
                              std::to_string(p.on.devices()) + " devices), " + called;
    if (is_large(p, found)) {
        const ts::search::finished_step step = step_of_parts(p, found);
        if (step.makespan > 0) {
            const presented line = present_large(p, found, step, true, about, called, r, say);
            if (!step.fits) {
                throw ts::error("the strategy does not fit: a device needs " +
                                ts::io::detail::bytes_text(static_cast<double>(line.peak_bytes)) +
                                "; use more devices, a smaller batch, another search, or --memory 0");
            }
            return line;
        }
        if (answer.step > 0) {
            return present_large(p, found, {answer.step, 0, {answer.most_bytes}}, false, about, called, r, say);
        }
    }
    const ts::io::shown_run run = run_of(p, found);
    std::string notes;
    for (const std::string& layer : r.explain) {
        notes += explanation_of(p, found, layer) + "\n";
    }
    say(about + "\n");
    ts::search::bound_options how;
    how.most_work = 400'000'000; // a second or two
    how.states = p.update.state_count();
    ts::search::strategy_bounds bounds(p.network, p.on, how);
    presented line = present_line(p, bounds, called, run, say);
    present_figures(p, run, line, say);
    if (r.compare.empty()) {
        present_baseline(p, bounds, "data parallel", ts::search::data_parallel(p.network, p.on.devices()), run, say);
        present_baseline(p, bounds, "one device", ts::search::single_device(p.network), run, say);
    } else {
        const ts::strategy other =
            is_file_name(r.compare) ? strategy_in(p, r.compare) : find_strategy(p, r.compare, r).best;
        present_line(p, bounds, r.compare, run_of(p, other), say);
        const std::string text = text_of_difference(p, found, other, called, r.compare);
        say("\n" + text);
        notes += text;
    }
    if (r.table) {
        say("\n" + to_text(p.network, found.view()));
    }
    if (!r.explain.empty()) {
        say("\n" + notes.substr(0, notes.find_last_not_of('\n') + 1) + "\n");
    }
    if (const std::string missing = lacking(p, run.plan); !missing.empty()) {
        throw ts::error("the strategy does not fit: " + missing +
                        "; use more devices, a smaller batch, another search, or --memory 0");
    }
    const ts::io::waiting sign("writing files");
    write_files(p, run, r, about, notes);
    return line;
}

} // namespace planner
