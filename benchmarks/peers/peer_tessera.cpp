// SPDX-License-Identifier: Apache-2.0
// Tessera's side of the comparison with PyTorch: full training steps on the host backend, at the best settings it has.
//
//     peer_tessera --network small --batch 64 --devices 1 --weights W.bin --data D.bin [--profile FILE]
//
// The protocol and the file formats are described at the top of run.py. Implementations and memory formats are measured
// while the plans are built (and kept in --profile); strategies for two devices race at set-up, in turns, and the
// fastest stays. Between commands the devices sleep.
#include "benchmarks/support/peer.hpp"

int main(int count, char** values) {
    try {
        const benchmarks::peer_arguments a = benchmarks::parse_peer(count, values);
        tessera::workers threads(a.devices);
        // Device 0, which is this thread; the workers, made before, pin the others.
        const benchmarks::on_first_core pinned;
        benchmarks::peer p(a, threads, a.devices);
        benchmarks::serve(p, true, [](std::string& line) { return static_cast<bool>(std::getline(std::cin, line)); });
        return 0;
    } catch (const std::exception& e) {
        benchmarks::answer("{\"error\": " + benchmarks::quoted(e.what()) + "}");
        std::cerr << e.what() << "\n";
        return 1;
    }
}
