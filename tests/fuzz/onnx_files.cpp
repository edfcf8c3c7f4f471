// SPDX-License-Identifier: Apache-2.0
// ONNX files for fuzz_files: good ones, and what is done with one that is read.
#include "fuzz/target.hpp"
#include "support/onnx_encoder.hpp"
#include "tessera/io/exchange/onnx_network.hpp"

namespace io = tessera::io;
using test_support::onnx_model;

namespace {

std::vector<std::string> good_models() {
    using list = test_support::onnx_extents;
    const std::vector<float> some(1000, 0.25F);
    const auto first = [&](std::size_t n) {
        return std::vector<float>(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    };
    onnx_model images;
    images.input("x", {-1, 2, 8, 8})
        .weight("conv.weight", {4, 2, 3, 3}, first(72))
        .weight("g", {4}, first(4))
        .weight("fc", {16, 3}, first(48));
    images.node("Conv", {"x", "conv.weight"}, {"a"},
                {{"pads", list{0, 0, 1, 1}}, {"auto_pad", "SAME_UPPER"}, {"strides", list{2, 2}}});
    images.node("BatchNormalization", {"a", "g", "g", "g", "g"}, {"b"}, {{"epsilon", 0.01}}).node("Relu", {"b"}, {"c"});
    images.node("MaxPool", {"c"}, {"d"}, {{"kernel_shape", list{3, 3}}, {"strides", list{2, 2}}, {"ceil_mode", 1}});
    images.node("Flatten", {"d"}, {"e"}).node("MatMul", {"e", "fc"}, {"y"}).output("y");
    onnx_model rows;
    rows.input("x", {-1, 3, 8})
        .list("heads", {0, 3, 2, 4})
        .list("back", {0, 3, 8})
        .weight("root", {}, {2})
        .weight("n", {8}, first(8))
        .list("zero", {0});
    rows.weight("token", {1, 1, 8}, first(8))
        .list("ones", {1, 1})
        .list("from", {1})
        .list("to", {2147483647})
        .list("axes", {1});
    rows.node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "zero"}, {"k"})
        .node("Concat", {"k", "ones"}, {"e"}, {{"axis", 0}})
        .node("Expand", {"token", "e"}, {"t"});
    rows.node("Concat", {"t", "x"}, {"j"}, {{"axis", 1}})
        .node("Slice", {"j", "from", "to", "axes"}, {"c"})
        .node("LayerNormalization", {"c", "n", "n"}, {"l"});
    rows.node("Reshape", {"l", "heads"}, {"h"})
        .node("Transpose", {"h"}, {"q"}, {{"perm", list{0, 2, 1, 3}}})
        .node("Transpose", {"h"}, {"r"}, {{"perm", list{0, 2, 3, 1}}});
    rows.node("MatMul", {"q", "r"}, {"m"})
        .node("Div", {"m", "root"}, {"i"})
        .node("Softmax", {"i"}, {"p"})
        .node("MatMul", {"p", "q"}, {"o"});
    rows.node("Transpose", {"o"}, {"u"}, {{"perm", list{0, 2, 1, 3}}})
        .node("Reshape", {"u", "back"}, {"v"})
        .node("Split", {"v"}, {"w", "z"}, {{"axis", 2}, {"num_outputs", 2}});
    rows.node("Mul", {"w", "z"}, {"f"}).node("ReduceMean", {"f", "axes"}, {"y"}, {{"keepdims", 0}}).output("y");
    return {images.bytes(), rows.bytes()};
}

/// What is read has a number for each of its parameters, and is written the same twice.
bool read_model(const std::string& bytes) {
    const io::onnx_network net = fuzz::counted([&] { return io::onnx_from_bytes(bytes); });
    if (bytes.size() > 100'000) {
        return true;
    }
    const tessera::graph_view g = net.file.network.view();
    const std::string text = io::to_text(io::to_json(g, net.file.name));
    return io::to_text(io::to_json(io::network_from_text(text).network.view(), net.file.name)) == text &&
           static_cast<int>(net.weights.size()) >= g.parameter_count;
}

/// A chain of nodes of one type, each of which reads what the one before it makes, twice where it has two inputs.
std::string chain_of(int nodes, const char* type, bool two) {
    onnx_model m;
    m.input("x", {-1, 4, 5, 5}).node("Relu", {"x"}, {"a0"});
    for (int i = 0; i < nodes; ++i) {
        const std::string before = "a" + std::to_string(i);
        m.node(type, two ? std::vector<std::string>{before, before} : std::vector<std::string>{before},
               {"a" + std::to_string(i + 1)});
    }
    m.node("MaxPool", {"a" + std::to_string(nodes)}, {"y"},
           {{"kernel_shape", test_support::onnx_extents{2, 2}},
            {"strides", test_support::onnx_extents{2, 2}},
            {"ceil_mode", 1}});
    return m.output("y").bytes();
}

} // namespace

std::vector<fuzz::target> fuzz::onnx_targets() {
    return {{"onnx",
             good_models(),
             {{3000, [](int nodes) { return chain_of(nodes, "Relu", false); }},
              {3000, [](int nodes) { return chain_of(nodes, "Tanh", false); }},
              {3000, [](int nodes) { return chain_of(nodes, "Add", true); }},
              {3000, [](int nodes) { return chain_of(nodes, "Floor", false); }},
              {3000, [](int nodes) { return chain_of(nodes, "Dropout", false); }}},
             read_model}};
}
