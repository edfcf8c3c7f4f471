// SPDX-License-Identifier: Apache-2.0
// One side of a comparison of two versions of the library: compiled against each of them, run in turns by pairs.py.
//
//     pair_steps WORK             for each line "COUNT" on standard input so many units of the work, already warm;
//                                 answers "CPU_SECONDS WALL_SECONDS CHECK" of all of them together
//     pair_steps WORK plan        prints the plan instead: every task with its implementation and formats
//
// Works: training steps on the host of small, alexnet, resnet50 and gpt on one device, small2 on two; dispatch and
// dispatch2: runs of 10,000 empty tasks on one device, and on two where each waits for the one before it; proposals
// and proposals_nmt: random proposals of one operator, priced by delta simulation. CHECK is the last loss, or the last
// makespan, and must be the same on both sides. Implementations are chosen by rules of thumb, so that both sides choose
// the same. CPU seconds are those of the whole process: of two devices that spin they say little.
#include "examples/networks.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/transformers.hpp"

#include <tessera/execute/measure/synthetic_batch.hpp>
#include <tessera/host.hpp>
#include <tessera/machine/presets.hpp>
#if __has_include(<tessera/search/mcmc/mcmc.hpp>)
#include <tessera/search/by_hand/baselines.hpp>
#include <tessera/search/mcmc/mcmc.hpp>
#else // before 0.2.0
#include <tessera/search/baselines.hpp>
#include <tessera/search/mcmc.hpp>
#define TESSERA_PAIRS_MACHINE_FIRST
#endif

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

double seconds_of(clockid_t which) {
    timespec t{};
    clock_gettime(which, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct work {
    virtual ~work() = default;
    virtual double unit() = 0; ///< does one, and returns what both sides must agree on
    virtual void print_plan() const { std::printf("no plan\n"); }
};

/// A training step of a network whose batch is the same each time.
class training : public work {
public:
    training(ts::graph network, int devices)
        : network_(std::move(network)), threads_(devices), backend_(update_),
          session_(network_.view(), search::data_parallel(network_.view(), devices), devices, update_, {}, backend_,
                   threads_),
          batch_(network_.view()) {}
    double unit() override { return session_.step(batch_.inputs); }
    void print_plan() const override {
        const ts::plan& p = session_.training_plan();
        const auto print_tiles = [&](const char* what, const std::vector<int>& tiles) {
            std::printf(" %s", what);
            for (const int t : tiles) {
                const ts::tile& x = p.tiles[ts::to_size(t)];
                std::printf(" %s:%d:%lld", ts::to_text(x.kind), static_cast<int>(x.format),
                            static_cast<long long>(x.bytes));
            }
        };
        for (const ts::task& t : p.tasks) {
            std::printf("%d.%d %s %s %s", t.device, t.position, ts::to_text(t.kind()), ts::to_text(t.what),
                        t.op >= 0 ? ts::path_of(network_.view(), t.op).c_str() : "-");
            if (t.kind() == ts::task_kind::compute) {
                std::printf(" by %s",
                            ts::host::to_text(static_cast<ts::host::engine_kind>(t.compute().implementation)));
            }
            print_tiles("reads", t.reads);
            print_tiles("writes", t.writes);
            std::printf(" waits %zu\n", t.waits.size());
        }
        for (const ts::index_t bytes : p.arena_bytes) {
            std::printf("arena %lld\n", static_cast<long long>(bytes));
        }
    }

private:
    // Small steps: the data are noise, and thousands of steps on one batch must not diverge.
    ts::optimizer update_ = ts::sgd{.learning_rate = 1e-4F};
    ts::graph network_;
    ts::workers threads_;
    ts::host::backend backend_;
    ts::session<ts::host::backend> session_;
    ts::detail::synthetic_batch<ts::graph_view> batch_;
};

struct idle_backend {
    void bind(ts::plan&, const ts::graph_view&, const ts::parameter_store*) {}
    void start(int) {}
    ts::runnable prepare(const ts::plan&, int, const ts::graph_view&, const ts::addresses&) {
        return {[](void*, const ts::run_state&) {}, nullptr};
    }
};

/// A run of 10,000 tasks that do nothing, dealt out to the devices in turns, each waiting for the one before it.
class empty_tasks : public work {
public:
    explicit empty_tasks(int devices)
        : threads_(devices), runner_(backend_, threads_, ts::graph_view(), make(devices), store_) {}
    double unit() override {
        runner_.run(state_);
        return 0;
    }

private:
    static ts::plan make(int devices) {
        ts::plan p;
        p.devices = devices;
        p.arena_bytes.assign(ts::to_size(devices), 0);
        p.persistent_bytes.assign(ts::to_size(devices), 0);
        constexpr int count = 10'000;
        p.tasks.resize(count);
        for (int i = 0; i < count; ++i) {
            p.tasks[ts::to_size(i)].become(ts::task_kind::copy);
            p.tasks[ts::to_size(i)].device = i % devices;
        }
        ts::number_tasks(p);
        for (int i = 1; devices > 1 && i < count; ++i) {
            p.tasks[ts::to_size(i)].waits.push_back({(i - 1) % devices, (i - 1) / devices + 1});
        }
        return p;
    }

    idle_backend backend_;
    ts::workers threads_;
    const ts::parameter_store store_;
    ts::executor<idle_backend> runner_;
    const ts::run_state state_;
};

/// A random proposal of one operator from data parallelism on P100s, priced by delta simulation; every other is taken.
class proposals : public work {
public:
    proposals(ts::graph network, int devices)
        : network_(std::move(network)), on_(ts::machines::p100_nodes(devices / 4)),
#ifdef TESSERA_PAIRS_MACHINE_FIRST
          delta_(on_, network_.view(), start(devices)), propose_(on_, network_.view(), single())
#else
          delta_(network_.view(), on_, start(devices)), propose_(network_.view(), on_, single())
#endif
    {
    }
    double unit() override {
        search::proposal p;
        while (p.empty()) {
            p = propose_.next(delta_.current(), pick_);
        }
        const ts::index_t found = delta_.propose(p);
        if (++made_ % 2 == 0) {
            delta_.accept();
        } else {
            delta_.reject();
        }
        return static_cast<double>(found);
    }

private:
    static search::proposal_options single() {
        search::proposal_options o;
        o.groups = false; // as FlexFlow's paper: one operator at a time
        return o;
    }
    ts::strategy start(int devices) const { return search::data_parallel(network_.view(), devices); }

    ts::graph network_;
    ts::cluster on_;
    ts::simulation::delta_simulation delta_;
    search::proposer propose_;
    search::random_numbers pick_{1};
    int made_ = 0;
};

/// 4 layers of 256 channels and 8 heads, 64 tokens, 2,000 words.
struct small_gpt : networks::gpt_parts<4, 256, 8, 64, 2000>::network {};

std::unique_ptr<work> make(const std::string& name) {
    if (name == "small" || name == "small2") {
        return std::make_unique<training>(ts::describe<networks::small_convnet>(64), name == "small" ? 1 : 2);
    }
    if (name == "alexnet") {
        return std::make_unique<training>(ts::describe<networks::alexnet>(4), 1);
    }
    if (name == "resnet50") {
        return std::make_unique<training>(ts::describe<networks::resnet50>(2), 1);
    }
    if (name == "gpt") {
        return std::make_unique<training>(ts::describe<small_gpt>(8), 1);
    }
    if (name == "dispatch" || name == "dispatch2") {
        return std::make_unique<empty_tasks>(name == "dispatch" ? 1 : 2);
    }
    if (name == "proposals") {
        return std::make_unique<proposals>(ts::describe<networks::inception_v3>(256), 4);
    }
    if (name == "proposals_nmt") {
        return std::make_unique<proposals>(ts::describe<networks::nmt_parts<10>::network>(256), 4);
    }
    throw ts::error("pair_steps: there is no work " + name + "; the source's head lists what there is");
}

} // namespace

int main(int count, char** arguments) {
    try {
        if (count < 2 || count > 3 || (count == 3 && arguments[2] != std::string("plan"))) {
            throw ts::error("pair_steps: it takes a work, and 'plan' after it or nothing");
        }
        const std::unique_ptr<work> does = make(arguments[1]);
        if (count == 3) {
            does->print_plan();
            return 0;
        }
        does->unit(); // what a first step alone does is no part of steps
        for (char line[32]; std::fgets(line, sizeof line, stdin) != nullptr;) {
            const long units = std::atol(line);
            if (units < 1) {
                throw ts::error("pair_steps: a line is a number of units of at least 1");
            }
            double check = 0;
            const double wall = seconds_of(CLOCK_MONOTONIC);
            const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            for (long i = 0; i < units; ++i) {
                check = does->unit();
            }
            const double cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            std::printf("%.9f %.9f %.17g\n", cpu_seconds, seconds_of(CLOCK_MONOTONIC) - wall, check);
            std::fflush(stdout);
        }
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
