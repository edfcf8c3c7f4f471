// SPDX-License-Identifier: Apache-2.0
// Tessera's side of same_numbers/against_torch.py: three steps of a small network, samples split over two host devices.
// Writes FOLDER/NETWORK.txt, a line for each parameter before the first step, each input of each step and each loss,
// and FOLDER/NETWORK.bin, what the parameters and inputs hold, one after the other: float32 and int32. usage:
// torch_networks NETWORK|all FOLDER
#include "torch_networks.hpp"

#include "support/planned.hpp"
#include "support/same_numbers.hpp"
#include "tessera/host.hpp"
#include "tessera/net/paths.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

namespace ts = tessera;

constexpr ts::index_t batch = 6;
constexpr int devices = 2;
constexpr int steps = 3;

std::string text_of(const ts::shape& extents) {
    std::string text;
    for (int d = 0; d < extents.rank; ++d) {
        text += " " + std::to_string(extents[d]);
    }
    return text;
}

struct files {
    std::ofstream index;
    std::ofstream data;
    files(const std::string& folder, const std::string& name)
        : index(folder + "/" + name + ".txt"), data(folder + "/" + name + ".bin", std::ios::binary) {}
    template <class T>
    void put(const std::string& line, const std::vector<T>& values) {
        index << line << "\n";
        data.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(T)));
    }
};

/// No sample is empty: PyTorch packs none.
void lengthen(const ts::graph_view& g, test_support::batch_data& data) {
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        if (g.tensors[data.tensors[k]].name == "lengths") {
            for (std::int32_t& length : data.labels[k]) {
                length = std::max(length, 1);
            }
        }
    }
}

template <class Network>
bool run(const std::string& wanted, const std::string& name, const std::string& folder) {
    if (wanted != "all" && wanted != name) {
        return false;
    }
    const ts::graph network = ts::describe<Network>(batch);
    const ts::graph_view g = network.view();
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    ts::host::backend backend(how);
    ts::workers threads(devices);
    ts::session<ts::host::backend> session(g, test_support::data_parallel(g, devices), devices, how, {}, backend,
                                           threads);
    files to(folder, name);
    for (int p = 0; p < g.parameter_count; ++p) {
        to.put("parameter " + ts::parameter_path_of(g, p) + (g.parameters[p].trained ? " trained" : " kept") +
                   text_of(g.parameters[p].extents),
               session.parameter(p));
    }
    for (int i = 0; i < steps; ++i) {
        test_support::batch_data data(g, 100 + static_cast<std::uint64_t>(i));
        lengthen(g, data);
        for (std::size_t k = 0; k < data.tensors.size(); ++k) {
            const std::string extents = text_of(g.tensors[data.tensors[k]].extents);
            data.labels[k].empty() ? to.put("floats" + extents, data.numbers[k])
                                   : to.put("integers" + extents, data.labels[k]);
        }
        char loss[64];
        std::snprintf(loss, sizeof loss, "loss %.17g", session.step(data.inputs));
        to.index << loss << "\n";
    }
    to.index.flush();
    to.data.flush();
    if (!to.index || !to.data) {
        throw ts::error("tessera: the folder '" + folder + "' cannot be written to; make it, or give another");
    }
    return true;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: torch_networks NETWORK|all FOLDER\n");
        return 2;
    }
    try {
        namespace n = torch_networks;
        const std::string wanted = argv[1];
        const std::string folder = argv[2];
        bool known = run<n::resnext>(wanted, "resnext", folder);
        known = run<n::efficientnet>(wanted, "efficientnet", folder) || known;
        known = run<n::vit>(wanted, "vit", folder) || known;
        known = run<n::gpt>(wanted, "gpt", folder) || known;
        known = run<n::unet>(wanted, "unet", folder) || known;
        known = run<n::two_towers>(wanted, "two_towers", folder) || known;
        known = run<n::contrastive_towers>(wanted, "contrastive_towers", folder) || known;
        known = run<n::padded_gru>(wanted, "padded_gru", folder) || known;
        known = run<n::padded_lstm>(wanted, "padded_lstm", folder) || known;
        if (!known) {
            std::fprintf(stderr,
                         "torch_networks: there is no network '%s'; resnext, efficientnet, vit, gpt, unet, two_towers, "
                         "contrastive_towers, padded_gru, padded_lstm or all\n",
                         wanted.c_str());
            return 2;
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
