// SPDX-License-Identifier: Apache-2.0
// Ranks whose clocks run differently measure implementations, tasks and strategies, and choose alike; the numbers are
// those of one device. The clocks are made so: every rank adds pseudo-random times of its own between two looks at the
// clock. Usage: mpirun -n RANKS agree DEVICES_EACH [RANKS_OF_NODE [WHO CALLS]], the last two to kill rank WHO after so
// many looks at the clock in refine().
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/host/refine.hpp"
#include "tessera/host.hpp"
#include "tessera/ranks/mpi.hpp"

#include <sys/syscall.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

using namespace test_support;

namespace {

std::atomic<int> rank_of_clock{-1}; ///< -1: the clock is as it is
std::atomic<std::uint64_t> looks{0};
std::atomic<std::int64_t> added{0}; ///< ns
std::atomic<std::int64_t> looks_left{-1};

} // namespace

/// In the place of the system's.
extern "C" int clock_gettime(clockid_t which, timespec* t) noexcept {
    const auto result = static_cast<int>(syscall(SYS_clock_gettime, which, t));
    const int rank = rank_of_clock.load();
    if (which == CLOCK_MONOTONIC && rank >= 0) {
        const std::uint64_t random = tessera::op::mix(++looks * 64 + static_cast<std::uint64_t>(rank));
        const std::int64_t more = added.fetch_add(static_cast<std::int64_t>(random % 30'000U)) + t->tv_nsec;
        t->tv_sec += more / 1'000'000'000;
        t->tv_nsec = more % 1'000'000'000;
        if (looks_left.load() > 0 && --looks_left == 0) {
            std::raise(SIGKILL);
        }
    }
    return result;
}

namespace {

int wrong = 0;
void check(bool good, const std::string& what, int rank) {
    if (!good) {
        ++wrong;
        std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what.c_str());
    }
}

/// By MPI alone, not by what is tested.
bool is_same_on_all(const ts::mpi::environment& mpi, const void* bytes, std::size_t count) {
    std::uint64_t hash = count;
    for (std::size_t i = 0; i < count; ++i) {
        hash = ts::op::mix(hash ^ static_cast<const unsigned char*>(bytes)[i]);
    }
    std::vector<std::uint64_t> all(ts::to_size(mpi.size()));
    MPI_Allgather(&hash, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (const std::uint64_t h : all) {
        if (h != hash) {
            return false;
        }
    }
    return true;
}
template <class T>
bool is_same_on_all(const ts::mpi::environment& mpi, const std::vector<T>& values) {
    return is_same_on_all(mpi, values.data(), values.size() * sizeof(T));
}

template <class Net>
void measure_implementations(const ts::mpi::environment& mpi, const ts::local_devices& devices, ts::index_t batch,
                             const std::string& folder) {
    const ts::graph g = ts::describe<Net>(batch);
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    const ts::strategy s = ts::search::data_parallel(g.view(), devices.count());
    // Each rank has a file of its own, with what it has measured alone, of which the second time that of rank 0 is
    // known to all.
    const std::string file = folder + "/" + std::to_string(mpi.rank());
    {
        ts::host::backend backend(how, ts::session_options{.measure = true, .profile = file});
        ts::workers here(devices.count());
        const ts::session<ts::host::backend> alone(g.view(), s, devices.count(), how, {.measure = true}, backend, here);
    }
    const std::string before = ts::files::read_if_there(file);
    check(!before.empty() && !is_same_on_all(mpi, before.data(), before.size()), "ranks alone measure the same",
          mpi.rank());
    for (const bool again : {false, true}) {
        ts::host::backend backend(how, ts::session_options{.measure = true, .profile = again ? file : ""});
        ts::session<ts::host::backend> over(g.view(), s, devices.count(), how, {.measure = true}, backend,
                                            devices.threads());
        const std::uint64_t hash = over.training_plan().hash;
        check(is_same_on_all(mpi, &hash, sizeof hash), "plans of measured implementations differ", mpi.rank());
        const std::size_t known = backend.measured().size();
        check(known > 10 && is_same_on_all(mpi, &known, sizeof known), "what is known differs", mpi.rank());

        ts::host::backend alone(how);
        ts::workers one(1);
        ts::session<ts::host::backend> here(g.view(), ts::strategy(g.view()), 1, how, {}, alone, one);
        for (std::uint64_t step = 0; step < 3; ++step) {
            const batch_data data(g.view(), step);
            const double loss = over.step(data.inputs);
            check(std::abs(loss - here.step(data.inputs)) < 1e-4, "the loss of measured implementations", mpi.rank());
        }
        // A short batch is another plan, which is measured when it comes.
        const ts::graph fewer = ts::describe<Net>(batch - 1);
        const batch_data data(fewer.view(), 7);
        const double loss = over.evaluate(data.inputs).loss;
        check(std::abs(loss - here.evaluate(data.inputs).loss) < 1e-4, "an evaluation", mpi.rank());
        check(is_same_on_all(mpi, &loss, sizeof loss), "evaluations differ", mpi.rank());
    }
    const bool written = ts::files::read_if_there(file) != before;
    check(written == (mpi.rank() == 0), "rank 0 alone writes its profile", mpi.rank());
}

void times_of_tasks(const ts::mpi::environment& mpi, const ts::local_devices& devices) {
    const ts::graph g = ts::describe<test_networks::lenet5::network>(16);
    const ts::optimizer how(ts::sgd{.learning_rate = 0});
    ts::host::backend backend(how);
    ts::session<ts::host::backend> session(g.view(), ts::search::data_parallel(g.view(), devices.count()),
                                           devices.count(), how, {}, backend, devices.threads());
    const ts::plan& p = session.training_plan();
    ts::host::task_clock clock(backend, devices.threads(), {.rounds = 3});
    check(clock.learn(p, session.planned_graph()) > 0, "tasks are known before", mpi.rank());
    std::vector<ts::index_t> times;
    for (const auto& t : clock.times(p, session.planned_graph()).tasks) {
        times.push_back(t.alone);
        times.push_back(t.pressed);
    }
    check(is_same_on_all(mpi, times), "times of tasks differ", mpi.rank());
    const batch_data data(g.view(), 1);
    for (int i = 0; i < 3; ++i) {
        ts::simulation::timeline measured;
        session.step(data.inputs, measured);
        std::vector<ts::index_t> spans{measured.makespan};
        bool all_run = true;
        for (const ts::simulation::task_span& s : measured.tasks) {
            spans.push_back(s.start);
            spans.push_back(s.end);
            all_run = all_run && s.end > s.start && s.end <= measured.makespan;
        }
        spans.insert(spans.end(), measured.device_busy.begin(), measured.device_busy.end());
        check(is_same_on_all(mpi, spans), "timelines differ", mpi.rank());
        check(all_run, "a task is not in the timeline", mpi.rank());
    }
}

template <class Net>
void refine(const ts::mpi::environment& mpi, const ts::local_devices& devices, ts::index_t batch, int who, int calls) {
    struct planned {
        ts::strategy how;
        int devices;
        ts::index_t batch;
        ts::strategy_view view() const { return how.view(); }
    };
    const ts::graph g = ts::describe<Net>(batch);
    const planned found{ts::search::data_parallel(g.view(), devices.count()), devices.count(), batch};
    if (mpi.rank() == who) {
        looks_left = calls;
    }
    const ts::refined_strategy best = ts::refine<Net, ts::host::backend>(
        found, devices, ts::sgd{}, {.measure = true}, {.turns = 2, .turn_seconds = 0.002, .proposals = 200});
    std::vector<double> rows;
    std::string names;
    int ran = 0;
    for (const ts::tried_strategy& t : best.tried) {
        names += t.name + ": " + t.refused + "\n";
        rows.insert(rows.end(), {t.milliseconds, t.predicted, static_cast<double>(t.moved_bytes)});
        ran += t.refused.empty() && t.predicted > 0 ? 1 : 0;
    }
    check(ran >= 3, "fewer than three strategies were measured and predicted: " + names, mpi.rank());
    check(is_same_on_all(mpi, rows), "the times of strategies differ", mpi.rank());
    check(is_same_on_all(mpi, names.data(), names.size()), "the strategies differ", mpi.rank());
    const std::uint64_t hash = ts::hash_of(ts::strategy(best.view()));
    check(is_same_on_all(mpi, &hash, sizeof hash), "the fastest strategy differs", mpi.rank());

    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F});
    ts::host::backend backend(how);
    ts::session<ts::host::backend> over(g.view(), ts::strategy(best.view()), devices.count(), how, {}, backend,
                                        devices.threads());
    const std::uint64_t plan = over.training_plan().hash;
    check(is_same_on_all(mpi, &plan, sizeof plan), "plans of the fastest strategy differ", mpi.rank());
    ts::workers one(1);
    ts::host::backend alone(how);
    ts::session<ts::host::backend> here(g.view(), ts::strategy(g.view()), 1, how, {}, alone, one);
    for (std::uint64_t step = 0; step < 3; ++step) {
        const batch_data data(g.view(), step);
        check(std::abs(over.step(data.inputs) - here.step(data.inputs)) < 1e-4, "the loss after refine", mpi.rank());
    }
    if (mpi.rank() == 0) {
        std::printf("%s", to_text(best).c_str());
    }
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 2 && argc != 3 && argc != 5) {
        std::fprintf(stderr, "usage: agree DEVICES_EACH [RANKS_OF_NODE [WHO CALLS]]\n");
        return 2;
    }
    const ts::local_devices devices = ts::mpi::ranks(
        mpi, {.devices_each = std::atoi(argv[1]), .patience = 60, .ranks_of_node = argc > 2 ? std::atoi(argv[2]) : 0});
    rank_of_clock = mpi.rank();
    const double begin = ts::seconds_now();
    for (int i = 0; i < 20; ++i) {
        ts::seconds_now();
    }
    const double passed = ts::seconds_now() - begin;
    check(mpi.size() == 1 || !is_same_on_all(mpi, &passed, sizeof passed), "clocks are alike", mpi.rank());
    if (argc == 5) {
        refine<test_networks::mlp::network>(mpi, devices, 16, std::atoi(argv[3]), std::atoi(argv[4]));
        return 0;
    }
    char folder[] = "/tmp/tessera-agree-XXXXXX";
    check(mpi.rank() != 0 || mkdtemp(folder) != nullptr, "no folder", mpi.rank());
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    measure_implementations<test_networks::lenet5::network>(mpi, devices, 16, folder);
    times_of_tasks(mpi, devices);
    refine<test_networks::mlp::network>(mpi, devices, 16, -1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mpi.rank() == 0) {
        std::filesystem::remove_all(folder);
    }
    if (mpi.rank() == 0 && wrong == 0) {
        std::printf("%d ranks of %s devices agree\n", mpi.size(), argv[1]);
    }
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); }, 60);
}
