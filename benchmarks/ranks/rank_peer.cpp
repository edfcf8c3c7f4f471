// SPDX-License-Identifier: Apache-2.0
// Tessera's side of the comparison with PyTorch's DistributedDataParallel: two ranks of one device each.
//
//     mpirun -n 2 --bind-to none rank_peer --network small --batch 64 --devices 2 --weights W.bin --data D.bin
//
// As benchmarks/peers/peer_tessera.cpp, whose protocol it has on rank 0; against_ddp.py starts it. Between commands all
// ranks sleep.
#include "benchmarks/support/peer.hpp"

#include <tessera/ranks/mpi.hpp>

#include <atomic>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace {

namespace ts = tessera;

/// What rank 0 has read, for the others.
struct command {
    std::atomic<int> turn{0};
    char line[64] = {};
};

int program(const ts::mpi::environment& mpi, const benchmarks::peer_arguments& a) {
    if (a.devices != mpi.size()) {
        throw ts::error("tessera: " + std::to_string(a.devices) + " devices over " + std::to_string(mpi.size()) +
                        " ranks; give as many ranks as devices");
    }
    const ts::local_devices over = ts::mpi::ranks(mpi);
    benchmarks::use_cores(mpi.rank(), mpi.rank());
    ts::process_group& group = *over.threads().group();
    auto& shared = *static_cast<command*>(group.share(0, sizeof(command)));
    const bool first = mpi.rank() == 0;
    {
        benchmarks::peer p(a, over.threads(), a.devices);
        int turn = 0;
        benchmarks::serve(p, first, [&](std::string& line) {
            ++turn;
            if (first) {
                if (!std::getline(std::cin, line)) {
                    line = "quit";
                }
                std::snprintf(shared.line, sizeof shared.line, "%s", line.c_str());
                shared.turn.store(turn);
            } else {
                while (shared.turn.load() < turn) {
                    usleep(200);
                }
                line = shared.line;
            }
            return true;
        });
    }
    group.unshare(&shared);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](const ts::mpi::environment& mpi) {
        try {
            return program(mpi, benchmarks::parse_peer(argc, argv));
        } catch (const ts::error& e) {
            if (mpi.rank() == 0) {
                benchmarks::answer("{\"error\": " + benchmarks::quoted(e.what()) + "}");
            }
            throw;
        }
    });
}
