// SPDX-License-Identifier: Apache-2.0
// Network files for fuzz_files: good ones, and what is done with one that is read.
#include "support/random_network.hpp"
#include "tessera/io/network_cpp.hpp"
#include "tessera/io/network_file.hpp"
#include "tessera/machine/presets.hpp"

namespace ts = tessera;
namespace io = tessera::io;

void use(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::cluster& on);
std::vector<std::string> good_networks();
bool read_network(const std::string& text);

std::vector<std::string> good_networks() {
    std::vector<std::string> all;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        all.push_back(io::to_text(io::to_json(test_support::random_network(seed).view(), "random")));
    }
    return all;
}

/// What is read is written the same, and can be written in C++, split and planned. False where it is not read back the same.
bool read_network(const std::string& text) {
    const io::network_file file = io::network_from_text(text);
    const ts::graph_view g = file.network.view();
    const std::string again = io::to_text(io::to_json(g, file.name));
    if (io::to_text(io::to_json(io::network_from_text(again).network.view(), file.name)) != again) {
        return false;
    }
    (void)io::to_cpp(g, file.name);
    static const ts::cluster on(ts::machines::this_host(2));
    ts::index_t elements = 0;
    for (const ts::tensor_node& t : file.network.tensors) {
        elements += t.extents.volume() / 1024;
    }
    if (g.op_count <= 64 && elements < 1 << 20) {
        ts::strategy s(g);
        for (ts::configuration& c : s.ops) {
            c.degree[0] = 2;
            c.uneven = c.reduces = true;
        }
        use(g, s, 2, on);
    }
    return true;
}
