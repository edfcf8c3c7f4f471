// SPDX-License-Identifier: Apache-2.0
// Random networks under random strategies, schedules and policies over ranks with GPUs of their own, which do not
// exist: CUDA's libraries are make-believe, NCCL works between the processes. Bit for bit what one process computes
// that has as many devices on as many GPUs.
// Usage: mpirun -n RANKS gpus FIRST COUNT DEVICES_EACH GPUS_EACH [RANKS_OF_NODE], the last as if so many ranks had a
// node of their own.
#include "support/cuda_fake.hpp"
#include "support/random_oracle.hpp"
#include "support/random_pair.hpp"

#include "tessera/cuda.hpp"
#include "tessera/io/checkpoint.hpp"
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

/// What differs, or nothing.
std::string difference(const training_record& a, const training_record& b) {
    return std::string(a.losses == b.losses ? "" : " losses") + (a.gradients == b.gradients ? "" : " gradients") +
           (a.change == b.change ? "" : " parameters") +
           (a.rows == b.rows && a.least_correct == b.least_correct ? "" : " evaluations");
}

struct tally {
    int equal = 0;
    int refused = 0;
    int wrong = 0;
    int connected = 0; ///< in which GPUs sent each other something
};

training_record record_of(const random_case& c, const batch_data& data, const random_pair& pair,
                          const std::vector<int>& gpus, ts::workers& threads, int& exchanges) {
    const int before = cuda_fake::here().exchanges;
    ts::cuda::backend backend(c.how, {.gpus = gpus, .measure = c.seed % 2 == 0, .most_workspace = 65536});
    ts::session_options options;
    options.seed = c.seed;
    options.keep_gradients = true;
    ts::session<ts::cuda::backend> session(c.network.view(), pair.how, pair.devices, c.how, options, backend, threads);
    const training_record found = train(session, c, data, pair.how.period);
    exchanges = cuda_fake::here().exchanges - before;
    return found;
}

void compare(std::uint64_t number, const setting& x, ts::workers& over_ranks, ts::workers& here, tally& all) {
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    const batch_data data(g, number + 1);
    coverage seen;
    random_pair pair = draw_pair(g, c.how, number * 64, seen);
    if (pair.devices > over_ranks.all_devices() || pair.how.period > 1) {
        return;
    }
    std::string said[2]; // by ranks, and by one process
    training_record found[2];
    int exchanges = 0;
    for (int k = 1; k >= 0; --k) {
        try {
            found[k] =
                record_of(c, data, pair, gpus_of(x, k == 0 ? 1 : x.mpi->size()), k == 0 ? over_ranks : here, exchanges);
        } catch (const std::exception& e) {
            said[k] = e.what();
            if (over_ranks.group()->failed()) {
                throw;
            }
        }
    }
    const std::string differs = difference(found[0], found[1]);
    if (said[0] != said[1] || (said[0].empty() && !differs.empty())) {
        std::fprintf(stderr, "wrong on rank %d: network %llu, %s:%s; '%s' and '%s'\n", x.mpi->rank(),
                     static_cast<unsigned long long>(number), pair.what.c_str(), differs.c_str(), said[0].c_str(),
                     said[1].c_str());
        ++all.wrong;
        return;
    }
    ++(said[0].empty() ? all.equal : all.refused);
    all.connected += exchanges > 0 ? 1 : 0;
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
