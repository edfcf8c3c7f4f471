// SPDX-License-Identifier: Apache-2.0
// Random networks under random strategies, schedules and policies over ranks: bit for bit what one process with as many devices computes.
// Usage: mpirun -n RANKS same_numbers FIRST COUNT DEVICES_EACH [RANKS_OF_NODE], the last as if so many ranks had a node of their own.
#include "support/instances.hpp"
#include "support/random_compression.hpp"
#include "support/random_oracle.hpp"
#include "support/random_staleness.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/ranks/mpi.hpp"

#include <cstdio>
#include <cstdlib>

using namespace test_support;

namespace {

/// What a session shows of a training.
template <class Backend>
training_record record_of(const random_case& c, const batch_data& data, const random_pair& pair, ts::workers& threads) {
    Backend backend(c.how);
    ts::session_options options;
    options.seed = c.seed;
    options.keep_gradients = true;
    ts::session<Backend> session(c.network.view(), pair.how, pair.devices, c.how, options, backend, threads);
    return train(session, c, data, pair.how.period);
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
    std::string said[2]; // by ranks, and by one process
    training_record found[2];
    for (int k = 0; k < 2; ++k) {
        try {
            found[k] = record_of<Backend>(c, data, pair, k == 0 ? over_ranks : here);
        } catch (const std::exception& e) {
            said[k] = e.what();
            if (over_ranks.group()->failed()) {
                throw;
            }
        }
    }
    const std::string differs = difference(found[0], found[1]);
    if (said[0] != said[1] || (said[0].empty() && !differs.empty())) {
        std::fprintf(stderr, "wrong on rank %d: network %llu, %s:%s; '%s' and '%s'\n", over_ranks.group()->rank(),
                     static_cast<unsigned long long>(number), pair.what.c_str(), differs.c_str(), said[0].c_str(),
                     said[1].c_str());
        ++all.wrong;
    } else {
        ++(said[0].empty() ? all.equal : all.refused);
        all.compressed += said[0].empty() && pair.how.sync.compress != ts::compression::none ? 1 : 0;
        all.stale += said[0].empty() && pair.how.sync.staleness > 0 ? 1 : 0;
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
