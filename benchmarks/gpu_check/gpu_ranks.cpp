// SPDX-License-Identifier: Apache-2.0
// Random networks under random strategies, schedules and policies over ranks whose GPUs NCCL connects, beside one
// process that has as many devices on its GPU, where nothing is NCCL's:
//
//     mpirun -n RANKS gpu_ranks [--first NUMBER] [--count NUMBER] [--devices EACH] [--limit SECONDS]
//
// Ranks may have one GPU: each names itself a node of its own to NCCL, which then connects them over sockets. That
// shows numbers and order, not speed. Exit: 0 all well, 1 something differs, 77 no GPU.
#ifdef TESSERA_MAKE_BELIEVE
#include "support/cuda_fake.hpp"
#endif
#include "benchmarks/gpu_check/options.hpp"
#include "support/over_ranks.hpp"

#include "tessera/cuda.hpp"
#include "tessera/ranks/mpi.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace test_support;

struct settings {
    std::uint64_t first = 0;
    std::uint64_t count = 40;
    int devices_each = 1;
    double limit = 300;
};

/// Throws tessera::error for an option that there is not, or a value that is none.
settings read(int argc, char** argv) {
    settings s;
    for (int i = 1; i < argc; i += 2) {
        const std::string word = argv[i];
        char* end = nullptr;
        const double value = i + 1 < argc ? std::strtod(argv[i + 1], &end) : -1;
        if (value < 0 || end == argv[i + 1] || *end != '\0') {
            throw ts::error(word + " takes a number from 0 on");
        }
        if (word == "--first") {
            s.first = static_cast<std::uint64_t>(value);
        } else if (word == "--count") {
            s.count = static_cast<std::uint64_t>(value);
        } else if (word == "--devices" && value >= 1) {
            s.devices_each = static_cast<int>(value);
        } else if (word == "--limit") {
            s.limit = value;
        } else {
            throw ts::error("there is no option " + word +
                            " of this value; there are --first, --count, --devices and --limit");
        }
    }
    return s;
}

struct tally {
    int trained = 0;
    int same_bits = 0;
    int refused = 0;
    int wrong = 0;
    record_difference worst;
};

/// Sums of two summands are the same bits in any order; of more they are not, and Adam makes much of little.
constexpr double allowed[3] = {1e-4, 1e-3, 1e-2};

void compare(std::uint64_t number, const settings& o, ts::workers& here, ts::workers& over_ranks, tally& all) {
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    const batch_data data(g, number + 1);
    coverage seen;
    const random_pair pair = draw_pair(g, c.how, number * 64, seen);
    if (pair.devices > over_ranks.all_devices() || pair.devices < 2 || pair.how.steps_per_plan > 1) {
        return;
    }
    std::string said[2];
    training_record found[2];
    for (int k = 0; k < 2; ++k) {
        ts::workers& threads = k == 0 ? here : over_ranks;
        const int devices = k == 0 ? here.all_devices() : o.devices_each;
        try {
            ts::cuda::backend backend(
                c.how, {.gpus = std::vector<int>(ts::to_size(devices), 0), .measure = false, .patience = 60});
            found[k] = record_of(backend, c, data, pair, threads);
        } catch (const std::exception& e) {
            said[k] = e.what();
            if (over_ranks.group()->failed()) {
                throw;
            }
        }
    }
    const int rank = over_ranks.group()->rank();
    if (!said[0].empty() && said[0] == said[1]) {
        ++all.refused;
        return;
    }
    const bool trained = said[0].empty() && said[1].empty();
    const record_difference d = trained ? difference_of(g, found[1], found[0]) : record_difference{};
    const bool good = trained && d.loss <= allowed[0] && d.gradient <= allowed[1] && d.change <= allowed[2];
    if (!good) {
        std::printf("wrong on rank %d: network %llu, %s: losses %g, gradients %g, changes %g; '%s' in one process and "
                    "'%s'\n",
                    rank, static_cast<unsigned long long>(number), pair.what.c_str(), d.loss, d.gradient, d.change,
                    said[0].c_str(), said[1].c_str());
        std::fflush(stdout);
        ++all.wrong;
        return;
    }
    ++all.trained;
    all.same_bits += difference(found[0], found[1]).empty() ? 1 : 0;
    all.worst.loss = std::max(all.worst.loss, d.loss);
    all.worst.gradient = std::max(all.worst.gradient, d.gradient);
    all.worst.change = std::max(all.worst.change, d.change);
}

int program(ts::mpi::environment& mpi, const settings& o) {
    const ts::cuda::machine_check machine = ts::cuda::find_devices();
    if (!machine) {
        std::printf("gpu_ranks: nothing was run: %s\n", machine.reason.c_str());
        return 77;
    }
    const ts::local_devices devices = ts::mpi::ranks(mpi, {.devices_each = o.devices_each, .patience = 120});
    ts::workers here(devices.count());
    tally all;
    const auto began = benchmarks::clock_type::now();
    std::uint64_t number = o.first;
    for (; number < o.first + o.count; ++number) {
        double late = benchmarks::milliseconds_since(began) > o.limit * 1000 ? 1 : 0;
        devices.threads().group()->agree_on_most({&late, 1}); // all ranks end after the same network
        if (late > 0) {
            break;
        }
        compare(number, o, here, devices.threads(), all);
    }
    if (mpi.rank() == 0) {
        std::printf("%d ranks of %d devices, networks %llu to %llu: %d trained alike within %.1e (losses), %.1e "
                    "(gradients), %.1e (changes), %d of them bit for bit; %d refused by both, %d wrong\n",
                    mpi.size(), o.devices_each, static_cast<unsigned long long>(o.first),
                    static_cast<unsigned long long>(number - 1), all.trained, all.worst.loss, all.worst.gradient,
                    all.worst.change, all.same_bits, all.refused, all.wrong);
    }
    return all.wrong == 0 && all.trained > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](ts::mpi::environment& mpi) {
        // NCCL reads them when it makes its first communicator.
        (void)setenv("NCCL_HOSTID", ("rank" + std::to_string(mpi.rank())).c_str(), 0);
        (void)setenv("NCCL_SOCKET_IFNAME", "lo", 0);
        return program(mpi, read(argc, argv));
    });
}
