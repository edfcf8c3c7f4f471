// SPDX-License-Identifier: Apache-2.0
// A plan as a program for torch.distributed: a folder with Python that anybody can read and run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/build.hpp"
#include "tessera/backend/torch/runtime.hpp"
#include "tessera/backend/torch/write.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/execute/initialize.hpp"
#include "tessera/io/file.hpp"
#include "tessera/io/safetensors.hpp"
#include "tessera/version.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

struct torch_options {
    std::string title = "A network"; ///< what the program says that it trains
    std::uint64_t seed = 0;          ///< of initial values, and of dropout's masks
};

namespace detail {

/// Parameters whole, by their paths.
inline void write_weights(const std::string& path, const graph_view& g,
                          function_ref<std::vector<float>(int)> values_of) {
    const network_paths paths = paths_of(g);
    std::vector<named_tensor> tensors;
    for (int p = 0; p < g.parameter_count; ++p) {
        const shape& s = g.parameters[p].extents;
        tensors.push_back({paths.parameter(p), {s.extent, s.extent + s.rank}, {}});
    }
    std::vector<float> values;
    write_safetensors(path, tensors, [&](std::size_t i) -> std::span<const float> {
        values = values_of(static_cast<int>(i));
        return values;
    });
}

} // namespace detail

/// Writes the plan of a strategy into `folder`, which is made where it is missing: program.py, the one file that it imports
/// (tessera_runtime.py), and weights.safetensors. `torchrun --nproc-per-node DEVICES program.py --data FILE` trains it, with gloo or NCCL,
/// to the losses that Tessera's own executor has, up to the order of sums: the same weights, masks of dropout and order of samples. What is
/// communicated is what the plan's copies are forward, the same boxes back, and an all-reduce of each bucket of gradients. `values_of`: the elements of a
/// parameter, row-major. Throws tessera::error, before anything is written, for a strategy that breaks a rule and for all that has no
/// counterpart in PyTorch, each by name; and where a file cannot be written.
inline void export_torch(const std::string& folder, const graph_view& g, const strategy_view& s, int devices,
                         const optimizer& update, const torch_options& options,
                         function_ref<std::vector<float>(int)> values_of) {
    torch::program p = torch::make_program(g, s, devices, update);
    p.seed = options.seed;
    const std::string text = torch::to_text(p, options.title, std::string("Tessera ") + library_version);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) {
        throw error("tessera: the folder '" + folder + "' cannot be made: " + failed.message());
    }
    detail::write_weights(folder + "/weights.safetensors", g, values_of);
    write_file_atomically(folder + "/tessera_runtime.py", torch::runtime_file + 1); // without the first line's end
    write_file_atomically(folder + "/program.py", text);
}

/// The same with the network's initial values.
inline void export_torch(const std::string& folder, const graph_view& g, const strategy_view& s, int devices,
                         const optimizer& update, const torch_options& options = {}) {
    export_torch(folder, g, s, devices, update, options, [&](int p) {
        std::vector<float> values(static_cast<std::size_t>(g.parameters[p].extents.volume()));
        initialize(g, p, options.seed, values);
        return values;
    });
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
