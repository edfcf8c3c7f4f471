// SPDX-License-Identifier: Apache-2.0
// All-reduce of 16 MB of floats: over two devices of this process, as a training step does it, against MPI_Allreduce
// between two ranks, in the same run and in turns.
//
//     mpiexec -n 2 --bind-to none allreduce        (as root: --allow-run-as-root)
//
// In the process every device sums its half of both devices' contributions and writes it to both, between the barriers
// at the ends of a run. In a step the optimizer's update is part of it, which reads and writes the weights besides;
// that is timed too. MPI runs in place and out of place; the faster counts.
#include "benchmarks/support/summing_plan.hpp"
#include "benchmarks/support/timing.hpp"

#include <tessera/host.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace ts = tessera;

constexpr int elements = 1 << 22; // 16 MiB
constexpr int rounds = 9;
constexpr int repetitions = 10;

using benchmarks::median;
using benchmarks::milliseconds;
using benchmarks::use_cores;

class in_process {
public:
    in_process()
        : backend_(ts::sgd{}), threads_(2), planned_(benchmarks::summing_plan(elements)), store_(planned_),
          runner_(backend_, threads_, ts::graph_view(), planned_, store_) {
        for (int device = 0; device < 2; ++device) {
            auto* contribution = reinterpret_cast<float*>(runner_.memory()[2 * device]);
            for (int i = 0; i < elements; ++i) {
                contribution[i] = static_cast<float>((device + 1) * (i % 1000));
            }
        }
        state_.learning_rate = -1; // w = 0 + the sum
        runner_.run(state_);
        for (int copy = 1; copy < 4; copy += 2) {
            const auto* sum = reinterpret_cast<const float*>(runner_.memory()[copy]);
            for (int i = 0; i < elements; ++i) {
                if (std::abs(sum[i] - static_cast<float>(3 * (i % 1000))) > 0) {
                    throw ts::error("allreduce: the sum in this process is wrong at element " + std::to_string(i));
                }
            }
        }
        state_.learning_rate = 0; // and the numbers stay as they are
    }
    void run() { runner_.run(state_); }

    /// The reduction alone, in place as MPI's: every device sums its half of both contributions into both.
    void reduce() {
        auto body = [&](int device) {
            const ts::interval slice = ts::even_part(elements, 2, device);
            float* both[2] = {reinterpret_cast<float*>(runner_.memory()[0]) + slice.begin,
                              reinterpret_cast<float*>(runner_.memory()[2]) + slice.begin};
            const float* from[2] = {both[0], both[1]};
            ts::host::kernels::sum_arrays(from, 2, both, 2, static_cast<std::ptrdiff_t>(slice.size()));
        };
        threads_.run(body);
    }
    void clear() { // sums of sums would overflow after a while
        for (int device = 0; device < 2; ++device) {
            auto* contribution = reinterpret_cast<float*>(runner_.memory()[2 * device]);
            std::fill(contribution, contribution + elements, 0.0F);
        }
    }

private:
    ts::host::backend backend_;
    ts::workers threads_;
    ts::plan planned_;
    ts::parameter_store store_;
    ts::executor<ts::host::backend> runner_;
    ts::run_state state_;
};

/// Both ranks meet; who comes first sleeps instead of spinning, so that the core is the other's.
void meet_asleep() {
    MPI_Request request{};
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }
}

void check_sum(const std::vector<float>& sum) {
    for (int i = 0; i < elements; ++i) {
        if (std::abs(sum[ts::to_size(i)] - static_cast<float>(3 * (i % 1000))) > 0) {
            throw ts::error("allreduce: the sum of MPI is wrong at element " + std::to_string(i));
        }
    }
}

void compare(int rank) {
    use_cores(0, static_cast<int>(std::thread::hardware_concurrency()) > 2 ? CPU_SETSIZE - 1 : 1);
    std::unique_ptr<in_process> process;
    if (rank == 0) {
        process = std::make_unique<in_process>();
    }
    use_cores(rank, rank);
    std::vector<float> mine(elements);
    std::vector<float> sum(elements);
    for (int i = 0; i < elements; ++i) {
        mine[ts::to_size(i)] = static_cast<float>((rank + 1) * (i % 1000));
    }
    const auto out_of_place = [&] {
        MPI_Allreduce(mine.data(), sum.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    const auto in_place = [&] {
        MPI_Allreduce(MPI_IN_PLACE, sum.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    out_of_place();
    check_sum(sum);
    std::vector<double> times[4];
    for (int round = 0; round < rounds; ++round) {
        meet_asleep();
        if (process != nullptr) {
            process->run(); // wakes the worker
            for (int i = 0; i < repetitions; ++i) {
                times[0].push_back(milliseconds([&] { process->run(); }));
            }
            process->clear();
            for (int i = 0; i < repetitions; ++i) {
                times[3].push_back(milliseconds([&] { process->reduce(); }));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20)); // and here it falls asleep
        }
        meet_asleep();
        for (int way = 1; way < 3; ++way) {
            std::fill(sum.begin(), sum.end(), 0.0F); // sums of sums would overflow after a while
            for (int i = 0; i < repetitions; ++i) {
                MPI_Barrier(MPI_COMM_WORLD);
                times[way].push_back(way == 1 ? milliseconds(out_of_place) : milliseconds(in_place));
            }
        }
    }
    if (rank == 0) {
        const double here = median(times[3]);
        const double best = std::min(median(times[1]), median(times[2]));
        std::printf("all-reduce of %d floats, medians of %zu in ms\n", elements, times[0].size());
        std::printf("  two devices of one process           %.3f\n", here);
        std::printf("  the same with the SGD update in it   %.3f\n", median(times[0]));
        std::printf("  MPI_Allreduce, out of place          %.3f\n", median(times[1]));
        std::printf("  MPI_Allreduce, in place              %.3f\n", median(times[2]));
        std::printf("  ratio                                %.2f   wanted: at least 5\n", best / here);
    }
}

} // namespace

int main(int count, char** values) {
    int level = 0;
    MPI_Init_thread(&count, &values, MPI_THREAD_FUNNELED, &level);
    int ranks = 0;
    int rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ranks != 2) {
        std::fprintf(stderr, "allreduce: there must be 2 ranks, not %d; run mpiexec -n 2 --bind-to none allreduce\n",
                     ranks);
        MPI_Finalize();
        return 1;
    }
    try {
        compare(rank);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
