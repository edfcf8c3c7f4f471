// SPDX-License-Identifier: Apache-2.0
// Attention whose keys go round a ring, over ranks: bit for bit what one process with as many devices computes, short
// batches and evaluations too. Usage: mpirun -n RANKS rings DEVICES_EACH [RANKS_OF_NODE], the last as if so many ranks
// had a node of their own.
#include "support/instances.hpp"
#include "support/over_ranks.hpp"

#include "examples/zoo/llama.hpp"
#include "examples/zoo/transformers.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace test_support;

namespace {

namespace search = ts::search;

template <class Backend>
void compare(const char* name, const ts::graph& network, ts::workers& over_ranks, ts::workers& here, int devices,
             ranks_tally& all) {
    random_case c(1);
    c.network = network;
    c.how = ts::optimizer(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F}, 0.05F);
    c.short_batch = 2;
    const ts::graph_view g = c.network.view();
    const batch_data data(g, 7);
    for (const auto how : {search::sequence_sharing::ring, search::sequence_sharing::zigzag}) {
        for (const bool overlap : {false, true}) {
            random_pair pair;
            pair.devices = devices;
            pair.how = search::share_sequences(g, how, 1, devices);
            pair.how.overlap = overlap;
            pair.what = std::string(name) + (how == search::sequence_sharing::ring ? ", ring" : ", zigzag") +
                        (overlap ? ", streams" : "");
            const auto train = [&](ts::workers& threads) {
                Backend backend(c.how);
                return record_of(backend, c, data, pair, threads);
            };
            trains_alike(0, pair, here, over_ranks, train, all);
        }
    }
}

template <class Backend>
void compare_all(ts::workers& over_ranks, ts::workers& here, int devices, ranks_tally& all) {
    using gpt = networks::gpt_parts<2, 16, 4, 11, 23>::network;
    using llama = networks::llama_parts<1, 24, 6, 30, 16, 23>::network;
    compare<Backend>("GPT", ts::describe<gpt>(4), over_ranks, here, devices, all);
    compare<Backend>("LLaMA", ts::describe<llama>(3), over_ranks, here, devices, all);
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr, "usage: rings DEVICES_EACH [RANKS_OF_NODE]\n");
        return 2;
    }
    const ts::local_devices over = ts::mpi::ranks(
        mpi, {.devices_each = std::atoi(argv[1]), .patience = 120, .ranks_of_node = argc > 2 ? std::atoi(argv[2]) : 0});
    const int devices = over.count();
    ts::workers here(devices);
    ranks_tally all;
    compare_all<ts::reference::backend>(over.threads(), here, devices, all);
#ifdef TESSERA_TEST_HOST
    compare_all<ts::host::backend>(over.threads(), here, devices, all);
#endif
    if (mpi.rank() == 0) {
        std::printf("%d ranks of %s devices on %d nodes: %d equal, %d refused by both, %d wrong\n", mpi.size(), argv[1],
                    over.threads().group()->nodes(), all.equal, all.refused, all.wrong);
    }
    return all.wrong == 0 && all.refused == 0 && all.equal > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); });
}
