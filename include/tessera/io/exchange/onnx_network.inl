// SPDX-License-Identifier: Apache-2.0
// Bodies of onnx_network.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/onnx_network.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string text_of(const onnx::translated& net) {
    json j{{"tessera_network", network_file_version}, {"name", net.name}, {"batch", net.batch}};
    json& nodes = j["nodes"] = json::array();
    for (const onnx::written_node& n : net.written.nodes) {
        if (n.is_input) {
            json sample = json::array();
            for (int d = 1; d < n.extents.rank; ++d) {
                sample.push_back(n.extents[d]);
            }
            nodes.push_back({{"input", n.name}, {"sample", sample}, {"type", n.type == element::i32 ? "i32" : "f32"}});
            continue;
        }
        json node{{"name", n.name}, {"kind", record_of(n.attributes).name}};
        json& reads = node["reads"] = json::array();
        for (const int r : n.reads) {
            reads.push_back(net.written.node_at(r).name);
        }
        if (const json own = own_attributes(n.attributes, n.name); !own.empty()) {
            node["attributes"] = own;
        }
        if (n.attributes.frozen) {
            node["frozen"] = true;
        }
        if (n.parameters_of >= 0) {
            node["parameters_of"] = net.written.node_at(n.parameters_of).name;
        }
        nodes.push_back(node);
    }
    return to_text(j);
}

TESSERA_INLINE onnx_network network_of_onnx(const onnx_file& from, const onnx::options& options,
                                            const std::string& called) {
    onnx::translated net = onnx::network_of(from.model, options, called);
    onnx_network out;
    out.file = network_from_text(text_of(net), 0, called + ", as a network");
    out.notes = std::move(net.notes);
    out.result = net.written.node_at(net.result).name;
    for (onnx::written_parameter& p : net.written.parameters) {
        out.weights.push_back(
            {net.written.node_at(p.node).name + "/" + p.slot, std::move(p.extents), std::move(p.numbers)});
    }
    const graph_view g = out.file.network.view();
    const network_paths paths = paths_of(g);
    std::map<std::string, const onnx_network::weight*> by_path;
    for (const onnx_network::weight& w : out.weights) {
        by_path[w.path] = &w;
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        const auto found = by_path.find(paths.parameter(p));
        if (found == by_path.end() ||
            static_cast<index_t>(found->second->numbers.size()) != g.parameters[p].extents.volume()) {
            throw error("tessera: '" + called + "': the weight " + paths.parameter(p) +
                        " has not the shape that its operator needs");
        }
    }
    return out;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE onnx_network read_onnx(const std::string& path, const onnx::options& options) {
    return detail::network_of_onnx(read_onnx_file(path), options, path);
}

TESSERA_INLINE onnx_network onnx_from_bytes(std::string bytes, const onnx::options& options,
                                            const std::string& called) {
    return detail::network_of_onnx(onnx_file_from_bytes(std::move(bytes), called), options, called);
}

TESSERA_INLINE void write_weights(const std::string& path, const onnx_network& net) {
    std::vector<named_tensor> tensors;
    for (const onnx_network::weight& w : net.weights) {
        tensors.push_back({w.path, w.extents, w.numbers});
    }
    write_safetensors(path, tensors);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
