// SPDX-License-Identifier: Apache-2.0
// What becomes of ranks when one of them fails: the others stop, and say which one it was and what they waited for.
// Usage: mpirun -n RANKS failures WHAT WHO STEP PATIENCE [RANKS_OF_NODE], the last as if so many ranks had a node of
// their own, where rank WHO, before that step, kills itself (kill), stops (stop), ends its program (leave), throws
// (throw), takes another step (evaluate) or was started with another seed (seed) or optimizer (optimizer); no rank has
// a device (devices); nobody does anything: none, which with STEP -1 goes on for ever.
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/search/by_hand/baselines.hpp"

extern template class tessera::session<tessera::reference::backend>; // in support/instances_reference.cpp

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace test_support;

namespace {

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 5 && argc != 6) {
        std::fprintf(stderr, "usage: failures WHAT WHO STEP PATIENCE [RANKS_OF_NODE]\n");
        return 2;
    }
    const std::string what = argv[1];
    const bool me = mpi.rank() == std::atoi(argv[2]);
    const int when = std::atoi(argv[3]);
    const ts::local_devices devices = ts::mpi::ranks(mpi, {.devices_each = what == "devices" ? 0 : 1,
                                                           .patience = std::atof(argv[4]),
                                                           .ranks_of_node = argc > 5 ? std::atoi(argv[5]) : 0});
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const batch_data data(g.view(), 1);
    const ts::optimizer how(ts::sgd{.learning_rate = me && what == "optimizer" ? 0.2F : 0.1F,
                                    .momentum = me && what == "optimizer" ? 0.9F : 0.0F});
    ts::reference::backend backend(how);
    const ts::strategy s = ts::search::data_parallel(g.view(), devices.count());
    ts::session<ts::reference::backend> session(g.view(), s, devices.count(), how,
                                                {.seed = me && what == "seed" ? 2U : 1U}, backend, devices.threads());
    for (int step = 0; step < 200 || when < 0; ++step) {
        if (me && step == when) {
            if (what == "kill") {
                std::raise(SIGKILL);
            } else if (what == "stop") {
                std::raise(SIGSTOP);
            } else if (what == "leave") {
                return 0;
            } else if (what == "throw") {
                throw ts::error("tessera: the test's own error");
            } else if (what == "evaluate") {
                session.evaluate(data.inputs);
            }
        }
        session.step(data.inputs);
    }
    if (mpi.rank() == 0) {
        std::printf("200 steps\n");
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); },
        argc >= 5 ? std::atof(argv[4]) : 60);
}
