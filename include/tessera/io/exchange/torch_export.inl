// SPDX-License-Identifier: Apache-2.0
// Bodies of torch_export.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/torch_export.hpp"

namespace tessera::io::detail {

TESSERA_INLINE void require_exported_sizes(const graph_view& g) {
    for (int p = 0; p < g.parameter_count; ++p) {
        const index_t elements = g.parameters[p].extents.volume();
        if (elements > most_exported_elements) {
            throw error("tessera: the parameter " + quoted::shown(parameter_path_of(g, p)) + " has " +
                        std::to_string(elements) + " elements, and one that is exported has at most " +
                        std::to_string(most_exported_elements) + "; make it smaller. Nothing was written");
        }
    }
}

TESSERA_INLINE void write_weights(const std::string& path, const graph_view& g,
                                  function_ref<std::vector<float>(int)> values_of) {
    const network_paths paths = paths_of(g);
    std::vector<named_tensor> tensors;
    for (int p = 0; p < g.parameter_count; ++p) {
        const shape& s = g.parameters[p].extents;
        tensors.push_back({paths.parameter(p), {s.extent, s.extent + s.rank}, {}});
    }
    std::vector<float> values;
    write_safetensors(path, tensors, [&](std::size_t i) -> std::span<const float> {
        try {
            values = values_of(static_cast<int>(i));
        } catch (const std::bad_alloc&) {
            throw error("tessera: there is no memory for the " + std::to_string(tensors[i].elements()) +
                        " elements of the parameter " + quoted::shown(tensors[i].name) +
                        "; export it on a machine with more");
        }
        return values;
    });
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE void export_torch(const std::string& folder, const graph_view& g, const strategy_view& s, int devices,
                                 const optimizer& update, const torch_options& options,
                                 function_ref<std::vector<float>(int)> values_of) {
    detail::require_exported_sizes(g);
    torch::program p = torch::make_program(g, s, devices, update);
    p.seed = options.seed;
    detail::record_first_steps(p, g, s, devices, update, options.seed, options.check_steps, options.most_check_work,
                               values_of);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) {
        throw error("tessera: the folder '" + folder + "' cannot be made: " + failed.message());
    }
    const std::string weights = folder + "/weights.safetensors";
    detail::write_weights(weights, g, values_of);
    p.weights_crc = p.check.empty() ? 0 : detail::crc_of(files::read(weights));
    const std::string text = torch::to_text(p, options.title, std::string("Tessera ") + library_version);
    write_file_atomically(folder + "/tessera_runtime.py", torch::runtime_file);
    write_file_atomically(folder + "/program.py", text);
}

TESSERA_INLINE void export_torch(const std::string& folder, const graph_view& g, const strategy_view& s, int devices,
                                 const optimizer& update, const torch_options& options) {
    export_torch(folder, g, s, devices, update, options, [&](int p) {
        std::vector<float> values(to_size(g.parameters[p].extents.volume()));
        initialize(g, p, options.seed, values);
        return values;
    });
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
