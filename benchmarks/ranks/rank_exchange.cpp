// SPDX-License-Identifier: Apache-2.0
// What two ranks of one device each exchange as tasks of a plan, against MPI's own calls, in one run:
//
//     mpirun -n 2 --bind-to core rank_exchange [ROUNDS]
//
// The sum of 16 MiB of floats: a task on each rank sums its half of both contributions and writes it to both, the
// rank's barriers around the run included, against MPI_Allreduce in place; and an update task, which sums and steps the
// parameter's copies, against MPI_Allreduce and the same step. Four bytes: a chain of copies to and fro, each waiting
// for the one before, in one run, against MPI_Send and MPI_Recv.
#include "benchmarks/support/summing_plan.hpp"
#include "benchmarks/support/timing.hpp"

#include <tessera/host.hpp>
#include <tessera/ranks/mpi.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace ts = tessera;

namespace {

constexpr int elements = 1 << 22;
constexpr int hops = 1000;

/// A float goes to and fro.
ts::plan hopping() {
    ts::plan p;
    p.devices = 2;
    for (int device = 0; device < 2; ++device) {
        p.tiles.push_back(benchmarks::tile_of(ts::tile_kind::activation, device, -1, 1));
        p.arena_bytes.push_back(64);
        p.persistent_bytes.push_back(0);
    }
    for (int i = 0; i < hops; ++i) {
        ts::task t;
        t.become(ts::task_kind::copy);
        t.device = (i + 1) % 2;
        t.reads = {i % 2};
        t.writes = {(i + 1) % 2};
        t.mutable_copy().segments.push_back({i % 2, p.tiles[0].region, true});
        p.tasks.push_back(t);
    }
    ts::number_tasks(p);
    ts::set_waits(p);
    return p;
}

struct runner {
    runner(ts::plan p, const ts::local_devices& over)
        : backend(ts::sgd{}), arenas(over.threads().group()->memory()), store(p, over.threads().group()->memory()) {
        arenas.grow(p.arena_bytes);
        executor.reset(new ts::executor<ts::host::backend>(backend, over.threads(), ts::graph_view(), std::move(p),
                                                           store, arenas));
    }
    double milliseconds() {
        return benchmarks::milliseconds([&] { executor->run(state); });
    }
    ts::host::backend backend;
    ts::shared_arenas arenas;
    ts::parameter_store store;
    ts::owned<ts::executor<ts::host::backend>> executor;
    ts::run_state state;
};

float* numbers_of(const runner& r, int tile) { return reinterpret_cast<float*>(r.executor->memory()[tile]); }

int program(const ts::mpi::environment& mpi, int rounds) {
    if (mpi.size() != 2 || rounds < 1) {
        throw ts::error("usage: mpirun -n 2 rank_exchange [ROUNDS]");
    }
    const ts::local_devices over = ts::mpi::ranks(mpi);
    runner sum(benchmarks::summing_plan(elements, true), over);
    runner step(benchmarks::summing_plan(elements), over);
    runner hop(hopping(), over);
    auto* const mine = numbers_of(sum, 2 * mpi.rank());
    auto* const stepped = numbers_of(step, 2 * mpi.rank());
    for (int i = 0; i < elements; ++i) {
        mine[i] = stepped[i] = static_cast<float>((mpi.rank() + 1) * (i % 1000));
    }
    if (mpi.rank() == 0) {
        *numbers_of(hop, 0) = 7;
    }
    step.state.learning_rate = -1; // w = 0 + the sum
    sum.executor->run(sum.state);
    step.executor->run(step.state);
    hop.executor->run(hop.state);
    for (const float* all :
         {numbers_of(sum, 0), numbers_of(sum, 2), numbers_of(step, 1), numbers_of(step, 3)}) { // of both ranks
        for (int i = 0; i < elements; ++i) {
            if (all[i] != static_cast<float>(3 * (i % 1000))) {
                throw ts::error("rank_exchange: the sum is wrong at element " + std::to_string(i));
            }
        }
    }
    if (*numbers_of(hop, 1) != 7) {
        throw ts::error("rank_exchange: the float did not arrive");
    }
    over.threads().group()->barrier(ts::barrier_point::end_run);
    std::fill(mine, mine + elements, 0.0F); // sums of sums would overflow after a while
    step.state.learning_rate = 0;
    std::vector<float> own(elements, 1.0F);
    std::vector<float> total(elements);
    std::vector<float> weights(elements);
    struct pair {
        std::vector<double> ours, theirs;
    } summed, stepping, hopped;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 5; ++i) {
            summed.ours.push_back(sum.milliseconds());
        }
        for (int i = 0; i < 5; ++i) {
            std::fill(total.begin(), total.end(), 0.0F);
            MPI_Barrier(MPI_COMM_WORLD);
            summed.theirs.push_back(benchmarks::milliseconds(
                [&] { MPI_Allreduce(MPI_IN_PLACE, total.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }));
        }
        for (int i = 0; i < 5; ++i) {
            stepping.ours.push_back(step.milliseconds());
        }
        for (int i = 0; i < 5; ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            stepping.theirs.push_back(benchmarks::milliseconds([&] {
                MPI_Allreduce(own.data(), total.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                for (int k = 0; k < elements; ++k) {
                    weights[ts::to_size(k)] -= 0.1F * total[ts::to_size(k)];
                }
            }));
        }
        for (int i = 0; i < 5; ++i) {
            hopped.ours.push_back(hop.milliseconds() * 1000 / hops);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        float x = 0;
        hopped.theirs.push_back(benchmarks::milliseconds([&] {
                                    for (int i = 0; i < hops; ++i) {
                                        i % 2 == mpi.rank()
                                            ? MPI_Send(&x, 1, MPI_FLOAT, 1 - mpi.rank(), 0, MPI_COMM_WORLD)
                                            : MPI_Recv(&x, 1, MPI_FLOAT, 1 - mpi.rank(), 0, MPI_COMM_WORLD,
                                                       MPI_STATUS_IGNORE);
                                    }
                                }) *
                                1000 / hops);
    }
    if (mpi.rank() == 0) {
        const auto print = [](const char* what, const pair& all) {
            const double ours = benchmarks::median(all.ours);
            const double theirs = benchmarks::median(all.theirs);
            std::printf("%s of %d floats over two ranks: tasks of a plan %.3f ms, MPI_Allreduce %.3f ms; ratio %.2f "
                        "(wanted: at least 4)\n",
                        what, elements, ours, theirs, theirs / ours);
        };
        print("sum in place", summed);
        print("sum and step", stepping);
        std::printf(
            "4 bytes from rank to rank: tasks of a plan %.3f us (wanted: under 2), MPI_Send and MPI_Recv %.3f us\n",
            benchmarks::median(hopped.ours), benchmarks::median(hopped.theirs));
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](const ts::mpi::environment& mpi) { return program(mpi, argc > 1 ? std::atoi(argv[1]) : 9); });
}
