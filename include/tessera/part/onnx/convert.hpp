// SPDX-License-Identifier: Apache-2.0
// An ONNX model as a network: its graph node by node, its initializers as what parameters begin with, a loss behind its
// first output.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/part/onnx/handlers.hpp"

namespace tessera::onnx {

inline constexpr std::int64_t oldest_opset =
    13; ///< since which lists of dimensions are inputs, and a softmax is over one dimension
inline constexpr std::int64_t newest_opset = 21;
inline constexpr std::size_t most_foreign_nodes = 100'000;

/// A network that was made of a model.
struct translated {
    std::string name;
    index_t batch = 1;
    network_writer written;
    int result = -1;                ///< the node that is the model's first output
    std::vector<std::string> notes; ///< what the network says otherwise than the model
};

class converter {
public:
    converter(const model& m, const options& given, const std::string& called);

    translated run();

private:
    void problem(const std::string& text) { problems_.push_back(text); }

    void refuse_problems() const;

    void count_readers(const graph& g);

    void take_initializers(const graph& g);

    void take_inputs(const graph& g);

    void translate(const node& n);

    void forget(const node& n);

    translated finished(const graph& g);

    /// A loss behind the result; where that is a softmax and the loss has one itself, behind what goes into it.
    void add_loss(const view& result);

    const model& model_;
    const options& how_;
    const std::string& called_;
    translation t_;
    std::vector<std::string> problems_;
    std::int64_t said_ = -1; ///< samples, by the model
};

/// The network of a model. Throws tessera::error, with all that is not understood at once, each with its node and type.
translated network_of(const model& m, const options& given, const std::string& called);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/convert.inl"
#endif

#include "tessera/base/end_header.inl"
