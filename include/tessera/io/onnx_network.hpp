// SPDX-License-Identifier: Apache-2.0
// ONNX models as networks with their weights: what other frameworks export, to be planned, to predict with and to be trained further (docs/onnx.md).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/json_text.hpp"
#include "tessera/io/network_file.hpp"
#include "tessera/io/onnx_file.hpp"
#include "tessera/io/safetensors.hpp"
#include "tessera/part/onnx/convert.hpp"

namespace tessera::io {

/// A network from a model, and what its parameters begin with.
struct onnx_network {
    struct weight {
        std::string path; ///< of the parameter
        std::vector<std::int64_t> extents;
        std::vector<float> numbers;
    };

    network_file file;
    std::vector<weight> weights;
    std::vector<std::string> notes; ///< what the network says otherwise than the model
    std::string result;             ///< the operator that is the model's first output
};

namespace detail {

/// The text of a network file.
inline std::string text_of(const onnx::translated& net) {
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

inline onnx_network network_of_onnx(const onnx_file& from, const onnx::options& how, const std::string& called) {
    onnx::translated net = onnx::network_of(from.model, how, called);
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

} // namespace detail

/// The network of a model's file. Throws tessera::error for files that are damaged, and for models with what a network has no words for, of which
/// all is said at once, each with its node and operator.
inline onnx_network read_onnx(const std::string& path, const onnx::options& how = {}) {
    return detail::network_of_onnx(read_onnx_file(path), how, path);
}
/// The same of a file's bytes, without external data.
inline onnx_network onnx_from_bytes(std::string bytes, const onnx::options& how = {},
                                    const std::string& called = "ONNX model") {
    return detail::network_of_onnx(onnx_file_from_bytes(std::move(bytes), called), how, called);
}

/// Gives a session the model's weights, all of them.
template <class Session>
requires requires(Session& s, std::span<const float> values) { s.set_parameter(0, values); }
void set_weights(Session& s, const onnx_network& net) {
    const network_paths paths = paths_of(s.graph_of());
    std::map<std::string, int> numbers;
    for (int p = 0; p < s.graph_of().parameter_count; ++p) {
        numbers[paths.parameter(p)] = p;
    }
    for (const onnx_network::weight& w : net.weights) {
        const auto found = numbers.find(w.path);
        if (found == numbers.end()) {
            throw error("tessera: the session's network has no parameter " + w.path + "; give it the model's network");
        }
        s.set_parameter(found->second, w.numbers);
    }
}

/// The model's weights by the network's paths, as a safetensors file.
inline void write_weights(const std::string& path, const onnx_network& net) {
    std::vector<named_tensor> tensors;
    for (const onnx_network::weight& w : net.weights) {
        tensors.push_back({w.path, w.extents, w.numbers});
    }
    write_safetensors(path, tensors);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
