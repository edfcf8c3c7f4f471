// SPDX-License-Identifier: Apache-2.0
// Network files for fuzz_files: good ones, and what is done with one that is read.
#include "fuzz/target.hpp"
#include "support/random_network.hpp"
#include "tessera/io/exchange/network_cpp.hpp"
#include "tessera/io/exchange/network_file.hpp"
#include "tessera/machine/presets.hpp"

namespace ts = tessera;
namespace io = tessera::io;

void use(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::cluster& on);

namespace {

std::vector<std::string> good_networks() {
    std::vector<std::string> all;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        all.push_back(io::to_text(io::to_json(test_support::random_network(seed).view(), "random")));
    }
    return all;
}

/// What is read is written the same, and can be written in C++, split and planned. False where it is not read back the
/// same.
bool read_network(const std::string& text) {
    const io::network_file file = fuzz::counted([&] { return io::network_from_text(text); });
    const ts::graph_view g = file.network.view();
    const std::string again = io::to_text(io::to_json(g, file.name));
    if (io::to_text(io::to_json(io::network_from_text(again).network.view(), file.name)) != again) {
        return false;
    }
    if (text.size() > 100'000) {
        return true;
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

/// A chain of so many operators: of names of their own, of one layer that comes again, of names that differ in what no
/// identifier has.
std::string chain(int nodes, const std::string& name, bool layered) {
    std::string text =
        R"({"tessera_network":1,"name":"x","batch":4,"nodes":[{"input":"x","sample":[8],"type":"f32"},{"input":"y","sample":[],"type":"i32"})";
    std::string before = "x";
    for (int i = 0; i < nodes; ++i) {
        const std::string now = name + (layered ? "." : "") + std::to_string(i);
        text += ",\n{\"name\":\"" + now + "\",";
        text += layered ? "\"layer\":\"" + name + "\"," : "";
        text += "\"kind\":\"relu\",\"reads\":[\"" + before + "\"]}";
        before = now;
    }
    return text + ",{\"name\":\"loss\",\"kind\":\"cross_entropy\",\"reads\":[\"" + before + "\",\"y\"]}]}";
}

} // namespace

std::vector<fuzz::target> fuzz::network_targets() {
    const auto mistyped = [](int letters) {
        const std::string name(ts::to_size(letters), 'n');
        std::string text = chain(10, name, false);
        return text.replace(text.rfind(name), 1, "m"); // what the loss reads
    };
    return {{"network",
             good_networks(),
             {{4000, [](int nodes) { return chain(nodes, "n", false); }},
              {4000, [](int nodes) { return chain(nodes, "n", true); }},
              {4000, [](int nodes) { return chain(nodes, "\xc3\xa4-.", false); }},
              {20'000, mistyped}},
             read_network}};
}
