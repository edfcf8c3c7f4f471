// SPDX-License-Identifier: Apache-2.0
// Random networks under random strategies, schedules and policies over ranks: bit for bit what one process with as many
// devices computes. Usage: mpirun -n RANKS same_numbers FIRST COUNT DEVICES_EACH [RANKS_OF_NODE], the last as if so
// many ranks had a node of their own.
#include "support/instances.hpp"
#include "support/over_ranks.hpp"
#include "support/random_compression.hpp"
#include "support/random_staleness.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/ranks/mpi.hpp"

#include <cstdio>
#include <cstdlib>

using namespace test_support;

namespace {

struct tally : ranks_tally {
    int queued = 0;
    int compressed = 0;
    int stale = 0;
};

template <class Backend>
void compare(std::uint64_t number, ts::workers& over_ranks, ts::workers& here, tally& all) {
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    const batch_data data(g, number + 1);
    coverage seen;
    random_pair pair = draw_pair(g, c.how, number * 64, seen);
    if (number % 8 < 2) { // one on each backend: the same bits over ranks too
        compress(g, number, pair);
    } else if (number % 8 < 4) {
        delay(g, number, pair);
    }
    if (pair.devices > over_ranks.all_devices()) {
        return;
    }
    const auto train = [&](ts::workers& threads) {
        Backend backend(c.how);
        return record_of(backend, c, data, pair, threads);
    };
    if (trains_alike(number, pair, here, over_ranks, train, all)) {
        all.compressed += pair.how.sync.compress != ts::compression::none ? 1 : 0;
        all.stale += pair.how.sync.staleness > 0 ? 1 : 0;
        all.queued +=
            pair.what.find("server") != std::string::npos || pair.what.find("p3") != std::string::npos ? 1 : 0;
    }
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 4 && argc != 5) {
        std::fprintf(stderr, "usage: same_numbers FIRST COUNT DEVICES_EACH [RANKS_OF_NODE]\n");
        return 2;
    }
    const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
    const ts::local_devices devices = ts::mpi::ranks(
        mpi, {.devices_each = std::atoi(argv[3]), .patience = 120, .ranks_of_node = argc > 4 ? std::atoi(argv[4]) : 0});
    ts::workers here(devices.count());
    tally all;
    for (std::uint64_t number = first; number < first + count; ++number) {
#ifdef TESSERA_TEST_HOST
        if (number % 2 == 1) {
            compare<ts::host::backend>(number, devices.threads(), here, all);
            continue;
        }
#endif
        compare<ts::reference::backend>(number, devices.threads(), here, all);
    }
    if (mpi.rank() == 0) {
        std::printf(
            "%d ranks of %s devices on %d nodes: %d equal, %d refused by both, %d wrong; %d with queues, %d with "
            "compressed gradients, %d with late ones\n",
            mpi.size(), argv[3], devices.threads().group()->nodes(), all.equal, all.refused, all.wrong, all.queued,
            all.compressed, all.stale);
    }
    return all.wrong == 0 && all.equal > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); });
}
