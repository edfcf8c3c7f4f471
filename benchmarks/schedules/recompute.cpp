// SPDX-License-Identifier: Apache-2.0
// What recomputation costs and saves on this host: for each network a step that keeps everything, one that computes
// again what is cheap, and one that computes whole blocks again, on one device.
//   recompute [ROUNDS [NETWORK...]]     default 7 rounds, all networks: gpt llama resnet unet
// In every round the kinds of tasks of all three are measured anew by themselves, which is the profile that the steps
// are predicted from, and then the three take turns, for the speed of a machine that others use comes and goes. Times
// are seconds of the processor, of each round the lower quartile, and of all rounds the median; a rise is the median of
// each round's ratio to the step that keeps everything. "again": what the tasks take that compute again, by the
// profile, in that step's time. Arenas: what the plan predicts, and up to where a step writes (see memory.cpp).
// Ends with 1 where a step that is predicted from the one that keeps everything is wrong by more than 10 %, or an arena
// is not what it should be.
#include "benchmarks/schedules/support.hpp"
#include "examples/zoo/llama.hpp"
#include "examples/zoo/residual.hpp"
#include "examples/zoo/transformers.hpp"
#include "examples/zoo/unet.hpp"
#include "support/host_scratch.hpp"
#include "tessera/search/by_hand/recomputed.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

namespace {

using namespace schedules;

/// 4 layers of 256 channels and 8 heads, 256 positions, 2,000 words.
struct small_gpt : networks::gpt_parts<4, 256, 8, 256, 2000>::network {};
struct small_llama : networks::llama_parts<4, 256, 8, 688, 256, 2000>::network {};

double processor_milliseconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

/// What is known of a rule's steps, in each round.
struct figures {
    std::string rule;
    std::vector<double> measured; ///< milliseconds of the processor
    std::vector<double> clock;    ///< the same by the clock on the wall
    std::vector<double> predicted;
    std::vector<double> again; ///< of the tasks that compute again
    index_t predicted_arena = 0;
    index_t written = 0;
    bool exact = true;
};

/// A rule's training, in one round.
struct training {
    ts::owned<session> run;
    std::vector<double> times;
    std::vector<double> clock;
};

void predict(figures& of, const session& run, const ts::host::task_clock& clock,
             const simulation::thread_costs& around) {
    const ts::plan& p = run.training_plan();
    const ts::host::plan_times t = clock.times(p, run.planned_graph());
    double again = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        again += p.tasks[i].what == ts::pass::recompute ? static_cast<double>(t.tasks[i].alone) * 1e-6 : 0;
    }
    of.again.push_back(again);
    of.predicted.push_back(static_cast<double>(simulation::simulate(p, t.tasks, around).makespan) * 1e-6);
}

template <class Data>
void find_arena(figures& of, session& run, const Data& data) {
    const ts::plan& p = run.training_plan();
    of.written = test_support::touched_bytes(
        run, [&] { run.step(data.inputs); }, beyond)[0];
    const test_support::arena_end end = test_support::end_of_arena(p, 0, test_support::is_onednn_scratch);
    of.predicted_arena = p.arena_bytes[0];
    of.exact =
        end.agrees(of.written) && end.last() <= p.arena_bytes[0] && p.arena_bytes[0] - end.last() < ts::arena_alignment;
}

/// Steps in turns, every other time the other way round; before each a step to fill the caches.
template <class Data>
void take_turns(std::vector<training>& all, const Data& data) {
    for (int turn = 0; turn < 4; ++turn) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            training& x = all[turn % 2 == 0 ? i : all.size() - 1 - i];
            x.run->step(data.inputs);
            for (int k = 0; k < 2; ++k) {
                const double begin = ts::seconds_now();
                const double cpu = processor_milliseconds();
                x.run->step(data.inputs);
                x.times.push_back(processor_milliseconds() - cpu);
                x.clock.push_back(1e3 * (ts::seconds_now() - begin));
            }
        }
    }
}

void measure(const ts::graph_view& g, std::vector<figures>& all) {
    const ts::optimizer update = ts::sgd{.momentum = 0.9F};
    const ts::local_devices devices(1);
    roomy_backend b(update);
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    std::vector<training> trained;
    for (const figures& of : all) {
        ts::strategy s(g);
        ts::search::recompute(s, g, ts::search::recompute_rule_of(of.rule));
        training x;
        x.run.reset(new session(g, s, 1, update, {}, b, devices.threads()));
        x.run->set_learning_rate(0);
        trained.push_back(std::move(x));
    }
    ts::host::task_clock clock(b, devices.threads(), {.rounds = 5, .of_processor = true});
    for (const training& x : trained) { // their fused networks differ, for what is made again fuses with its like
        clock.learn(x.run->training_plan(), x.run->planned_graph());
    }
    take_turns(trained, data);
    const simulation::thread_costs around = ts::host::thread_costs_of(b, devices, 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
        predict(all[i], *trained[i].run, clock, around);
        all[i].measured.push_back(benchmarks::lower_quartile(trained[i].times));
        all[i].clock.push_back(benchmarks::lower_quartile(trained[i].clock));
        if (all[i].written == 0) {
            find_arena(all[i], *trained[i].run, data);
        }
    }
}

/// The median of what the rounds have of one to the other.
double ratio(const std::vector<double>& of, const std::vector<double>& to) {
    std::vector<double> all;
    for (std::size_t i = 0; i < of.size(); ++i) {
        all.push_back(of[i] / to[i]);
    }
    return benchmarks::median(all);
}

bool print(const std::string& network, const std::vector<figures>& all) {
    using benchmarks::median;
    bool good = true;
    for (const figures& x : all) {
        const double measured = ratio(x.measured, all[0].measured);
        const double said = ratio(x.predicted, all[0].predicted);
        good = good && x.exact && std::abs(said / measured - 1) <= 0.1;
        std::printf("| %s | %s | %.2f | %.2f | %.2f | %.1f %% | %.1f %% | %.1f %% | %+.1f %% | %.3f | %.3f | %s | %.2f "
                    "|\n",
                    network.c_str(), x.rule.c_str(), median(x.measured), median(x.clock), median(x.predicted),
                    100 * (measured - 1), 100 * (said - 1), 100 * ratio(x.again, all[0].predicted),
                    100 * (said / measured - 1), megabytes(x.predicted_arena), megabytes(x.written),
                    x.exact ? "yes" : "NO",
                    static_cast<double>(x.predicted_arena) / static_cast<double>(all[0].predicted_arena));
    }
    std::fflush(stdout);
    return good;
}

bool compare(const std::string& name, const ts::graph& network, int rounds) {
    std::vector<figures> all;
    for (const char* rule : {"none", "selective", "full"}) {
        all.push_back({});
        all.back().rule = rule;
    }
    for (int round = 0; round < rounds; ++round) {
        measure(network.view(), all);
    }
    return print(name, all);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const int rounds = count > 1 ? std::atoi(arguments[1]) : 7;
        if (rounds < 1) {
            throw ts::error("recompute: the number of rounds must be at least 1");
        }
        const std::vector<std::string> only(arguments + std::min(count, 2), arguments + count);
        const std::pair<const char*, ts::graph> networks[] = {
            {"gpt", ts::describe<small_gpt>(4)},
            {"llama", ts::describe<small_llama>(4)},
            {"resnet", ts::describe<networks::resnet_v2<3>>(32)},
            {"unet", ts::describe<networks::padded_unet<64, 3, 2, 16, 3>>(8)}};
        std::printf(
            "| network | again for backward | step, ms of the processor | by the clock | predicted | rises by | "
            "predicted | again | predicted / measured | arena predicted, MB | written up to, MB | equal | of "
            "that of none |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        bool good = true;
        for (const auto& [name, network] : networks) {
            if (only.empty() || std::find(only.begin(), only.end(), name) != only.end()) {
                good = compare(name, network, rounds) && good;
            }
        }
        return good ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
