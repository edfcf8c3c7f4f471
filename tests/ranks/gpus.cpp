// SPDX-License-Identifier: Apache-2.0
// Random networks under random strategies, schedules and policies over ranks with GPUs of their own, which do not
// exist: CUDA's libraries are make-believe, NCCL works between the processes. Bit for bit what one process computes
// that has as many devices on as many GPUs.
// Usage: mpirun -n RANKS gpus FIRST COUNT DEVICES_EACH GPUS_EACH [RANKS_OF_NODE], the last as if so many ranks had a
// node of their own.
#include "support/cuda_fake.hpp"
#include "support/over_ranks.hpp"

#include "tessera/cuda.hpp"
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/ranks/mpi.hpp"

#include <cstdio>
#include <cstdlib>

extern template class tessera::session<tessera::cuda::backend>; // in support/cuda_gpu_instances.cpp

using namespace test_support;

namespace {

struct setting {
    int devices_each = 1;
    int gpus_each = 1;
    ts::mpi::environment* mpi = nullptr;
};

/// Of a rank's devices as it counts its GPUs, or of all devices for one process.
std::vector<int> gpus_of(const setting& x, int ranks) {
    std::vector<int> gpus;
    for (int d = 0; d < ranks * x.devices_each; ++d) {
        gpus.push_back(d / x.devices_each * x.gpus_each + d % x.devices_each % x.gpus_each);
    }
    return gpus;
}

struct tally : ranks_tally {
    int connected = 0; ///< in which GPUs sent each other something
};

void compare(std::uint64_t number, const setting& x, ts::workers& over_ranks, ts::workers& here, tally& all) {
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    const batch_data data(g, number + 1);
    coverage seen;
    const random_pair pair = draw_pair(g, c.how, number * 64, seen);
    if (pair.devices > over_ranks.all_devices() || pair.how.steps_per_plan > 1) {
        return;
    }
    int exchanges = 0; // over ranks, which are last
    const auto train = [&](ts::workers& threads) {
        const int before = cuda_fake::here().exchanges;
        ts::cuda::backend backend(c.how, {.gpus = gpus_of(x, &threads == &over_ranks ? 1 : x.mpi->size()),
                                          .measure = c.seed % 2 == 0,
                                          .most_workspace = 65536});
        const training_record found = record_of(backend, c, data, pair, threads);
        exchanges = cuda_fake::here().exchanges - before;
        return found;
    };
    if (trains_alike(number, pair, here, over_ranks, train, all)) {
        all.connected += exchanges > 0 ? 1 : 0;
    }
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 5 && argc != 6) {
        std::fprintf(stderr, "usage: gpus FIRST COUNT DEVICES_EACH GPUS_EACH [RANKS_OF_NODE]\n");
        return 2;
    }
    const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
    const setting x{std::atoi(argv[3]), std::atoi(argv[4]), &mpi};
    const ts::local_devices devices = ts::mpi::ranks(
        mpi, {.devices_each = x.devices_each, .patience = 120, .ranks_of_node = argc > 5 ? std::atoi(argv[5]) : 0});
    if (mpi.rank() > 0) { // measures otherwise: what rank 0 measures counts
        cuda_fake::here().third_wants = 1024;
    }
    ts::workers here(devices.count());
    tally all;
    for (std::uint64_t number = first; number < first + count; ++number) {
        compare(number, x, devices.threads(), here, all);
    }
    if (mpi.rank() == 0) {
        std::printf(
            "%d ranks of %d devices on %d GPUs each, on %d nodes: %d equal, %d refused by both, %d wrong; in %d "
            "GPUs sent each other something\n",
            mpi.size(), x.devices_each, x.gpus_each, devices.threads().group()->nodes(), all.equal, all.refused,
            all.wrong, all.connected);
    }
    return all.wrong == 0 && all.equal > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); });
}
