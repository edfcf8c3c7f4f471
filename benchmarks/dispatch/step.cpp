// SPDX-License-Identifier: Apache-2.0
// What a session adds to its primitives: the time of a step over that of a bare loop which calls the same prepared
// tasks in the same order on the same buffers, on one device; and how often a step goes to the heap, which only oneDNN
// may. And AlexNet on two devices, data parallel, against one device.
//
//     step [--profile FILE] [--estimate]     implementations are measured, or with --estimate chosen by rules of thumb
//
// The sides of a ratio run in turns; the ratio is that of the medians.
#include "benchmarks/support/timing.hpp"
#include "examples/networks.hpp"
#include "support/count_allocations.hpp"
#include "support/same_numbers.hpp"

#include <tessera/host.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;
using session = ts::session<ts::host::backend>;

using benchmarks::median;
using benchmarks::milliseconds;

/// The prepared tasks of a session on one device, called one after the other.
class bare_loop {
public:
    bare_loop(const session& s, const ts::graph_view& g, const std::vector<ts::input_data>& inputs)
        : pointers_(ts::to_size(g.tensor_count), nullptr) {
        const auto& runner = s.training_executor();
        for (std::size_t i = 0; i < runner.bound().order[0].size(); ++i) {
            tasks_.push_back(runner.prepared(0, static_cast<int>(i)));
        }
        std::size_t next = 0;
        for (int t = 0; t < g.tensor_count; ++t) {
            if (g.tensors[t].producer < 0) {
                pointers_[ts::to_size(t)] = inputs[next++].data;
            }
        }
        state_.inputs = pointers_.data();
        state_.learning_rate = s.learning_rate();
    }
    void run() {
        for (const ts::runnable& r : tasks_) {
            r.call(r.context, state_);
        }
        ++state_.step;
    }
    std::size_t tasks() const { return tasks_.size(); }
    const ts::run_state& state() const { return state_; }

private:
    std::vector<ts::runnable> tasks_;
    std::vector<const void*> pointers_;
    ts::run_state state_;
};

/// A line on the heap allocations of one step of a session.
void print_allocations(session& s, const std::vector<ts::input_data>& inputs) {
    const auto n = test_support::counted([&] { s.step(inputs); });
    std::printf(
        "  heap allocations: %ld in a step / %ld inside oneDNN (%ld primitives) / %ld Tessera's own   wanted: 0 own\n",
        n.total, n.inside_onednn, n.executions, n.own());
}

/// What every oneDNN primitive of a session's plan allocates, executed alone; those of equal numbers in one line.
void print_primitives(const session& s, const ts::graph_view& g, const ts::run_state& state) {
    std::map<std::pair<long, std::string>, int> lines;
    for (const ts::task& t : s.training_plan().tasks) {
        const ts::runnable task = s.training_executor().prepared(t.device, t.position);
        const auto n = test_support::counted([&] { task.call(task.context, state); });
        if (n.executions > 0) {
            const char* what =
                t.op >= 0 && t.kind() == ts::task_kind::compute ? ts::to_text(g.ops[t.op].attributes.kind) : "";
            ++lines[{n.inside_onednn, std::string(ts::to_text(t.kind())) + " " + what + " " + ts::to_text(t.what)}];
        }
    }
    for (const auto& [line, tasks] : lines) {
        std::printf("    %ld inside oneDNN for each of %d x %s\n", line.first, tasks, line.second.c_str());
    }
}

template <class Net>
void compare_dispatch(const char* name, ts::index_t batch, int pairs, ts::host::backend& backend,
                      const ts::optimizer& how) {
    const ts::graph network = ts::describe<Net>(batch);
    const ts::graph_view g = network.view();
    ts::workers threads(1);
    session s(g, ts::search::single_device(g), 1, how, {}, backend, threads);
    const test_support::batch_data data(g, 5);
    bare_loop bare(s, g, data.inputs);
    std::vector<double> steps;
    std::vector<double> loops;
    for (int i = 0; i < pairs + 3; ++i) {
        double step = 0;
        double loop = 0;
        const auto run_step = [&] { step = milliseconds([&] { s.step(data.inputs); }); };
        const auto run_loop = [&] { loop = milliseconds([&] { bare.run(); }); };
        if (i % 2 == 0) {
            run_step();
            run_loop();
        } else {
            run_loop();
            run_step();
        }
        if (i >= 3) {
            steps.push_back(step);
            loops.push_back(loop);
        }
    }
    std::printf("%-18s %4zu tasks   step %9.4f ms   bare loop %9.4f ms   ratio %.4f   wanted: at most 1.03\n", name,
                bare.tasks(), median(steps), median(loops), median(steps) / median(loops));
    print_allocations(s, data.inputs);
    print_primitives(s, g, bare.state());
}

/// How (operator, pass, what is computed) are implemented; more than one entry where shards differ.
std::set<std::string> choices(const ts::plan& p, const ts::graph_view& g) {
    std::set<std::string> all;
    for (const ts::task& t : p.tasks) {
        if (t.kind() == ts::task_kind::compute && t.what != ts::pass::update) {
            all.insert(std::string(g.ops[t.op].name) + " " + ts::to_text(t.what) + " " +
                       ts::host::to_text(static_cast<ts::host::engine_kind>(t.compute().implementation)));
        }
    }
    return all;
}

void print_differences(const std::set<std::string>& on_one, const std::set<std::string>& on_two) {
    for (const std::string& c : on_one) {
        if (on_two.count(c) == 0) {
            std::printf("  only on one device:  %s\n", c.c_str());
        }
    }
    for (const std::string& c : on_two) {
        if (on_one.count(c) == 0) {
            std::printf("  only on two devices: %s\n", c.c_str());
        }
    }
}

struct two_devices {
    const char* name;
    session runs;
    std::vector<double> ms;
};

void compare_devices(int pairs, ts::host::backend& backend, const ts::optimizer& update) {
    constexpr ts::index_t batch = 32;
    const ts::graph network = ts::describe<networks::alexnet_without_dropout>(batch);
    const ts::graph_view g = network.view();
    ts::workers threads(2);
    ts::workers single(1);
    session one(g, ts::search::single_device(g), 1, update, {}, backend, single);
    two_devices both[] = {
        {"data parallel", session(g, ts::search::data_parallel(g, 2), 2, update, {}, backend, threads), {}},
        {"one weird trick", session(g, ts::search::one_weird_trick(g, 2), 2, update, {}, backend, threads), {}}};
    const test_support::batch_data data(g, 5);
    std::vector<double> on_one;
    for (int i = 0; i < pairs + 1; ++i) {
        const double a = milliseconds([&] { one.step(data.inputs); });
        for (two_devices& t : both) {
            const double b = milliseconds([&] { t.runs.step(data.inputs); });
            if (i > 0) {
                t.ms.push_back(b);
            }
        }
        if (i > 0) {
            on_one.push_back(a);
        }
    }
    for (two_devices& t : both) {
        std::printf("alexnet b32        one device %.1f ms   two devices, %s, %.1f ms   ratio %.3f   wanted of the "
                    "better: at least 1.75\n",
                    median(on_one), t.name, median(t.ms), median(on_one) / median(t.ms));
        print_allocations(t.runs, data.inputs);
        print_differences(choices(one.training_plan(), g), choices(t.runs.training_plan(), g));
    }
}

} // namespace

int main(int count, char** values) {
    try {
        std::setvbuf(stdout, nullptr, _IOLBF, 0); // lines appear as they are measured
        ts::host::backend_options options;
        options.how = ts::host::tuning::measure;
        for (int i = 1; i < count; ++i) {
            const std::string name = values[i];
            if (name == "--estimate") {
                options.how = ts::host::tuning::estimate;
            } else if (name == "--profile" && i + 1 < count) {
                options.profile_path = values[++i];
            } else {
                throw ts::error("step: there is no option " + name + "; there are --profile FILE and --estimate");
            }
        }
        // Small steps: the data are noise, and thousands of steps on one batch must not diverge.
        const ts::optimizer how = ts::sgd{1e-4F};
        ts::host::backend backend(how, options);
        {
            const benchmarks::on_first_core
                pinned; // not for the next: new threads inherit the core, and count the cores they have
            compare_dispatch<networks::small_convnet>("small b64", 64, 300, backend, how);
            compare_dispatch<networks::lenet5>("lenet5 b64", 64, 300, backend, how);
            compare_dispatch<networks::alexnet_without_dropout>("alexnet b32", 32, 7, backend, how);
        }
        compare_devices(9, backend, how);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
