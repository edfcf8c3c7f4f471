// SPDX-License-Identifier: Apache-2.0
// ONNX models as networks with their weights: what other frameworks export, to be planned, to predict with and to be
// trained further (docs/onnx.md).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/network_file.hpp"
#include "tessera/io/exchange/onnx_file.hpp"
#include "tessera/io/files/json_text.hpp"
#include "tessera/io/files/safetensors.hpp"
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
std::string text_of(const onnx::translated& net);

onnx_network network_of_onnx(const onnx_file& from, const onnx::options& options, const std::string& called);

} // namespace detail

/// The network of a model's file. Throws tessera::error for files that are damaged, and for models with what a network
/// has no words for, of which all is said at once, each with its node and operator.
onnx_network read_onnx(const std::string& path, const onnx::options& options = {});
/// The same of a file's bytes, without external data.
onnx_network onnx_from_bytes(std::string bytes, const onnx::options& options = {},
                             const std::string& called = "ONNX model");

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
void write_weights(const std::string& path, const onnx_network& net);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/onnx_network.inl"
#endif

#include "tessera/base/end_header.inl"
