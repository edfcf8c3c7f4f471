// SPDX-License-Identifier: Apache-2.0
// ONNX files: types of tensors, external data, samples, shared weights, training, and what is refused, in words.
#include "io/onnx_run.hpp"
#include "io/temporary_folder.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

namespace {

using namespace onnx_test;
using namespace test_support;
using indices = std::vector<std::int64_t>;

onnx_model small() {
    onnx_model m;
    m.input("x", {-1, 3}).weight("fc.weight", {2, 3}, {1, 2, 3, 4, 5, 6}).weight("fc.bias", {2}, {0.5F, -0.5F});
    return m.node("Gemm", {"x", "fc.weight", "fc.bias"}, {"y"}, {{"transB", 1}}).output("y");
}
std::string refusal_of(const std::string& bytes, const ts::onnx::options& options = {}) {
    return message_of([&] { (void)io::onnx_from_bytes(bytes, options, "m.onnx"); });
}

} // namespace

TEST_CASE("onnx: weights have the numbers of their types, raw and in lists") {
    const std::vector<std::uint16_t> half{0x3c00, 0xc000, 0x3800,
                                          0x0001, 0x7bff, 0x8000}; // 1, -2, 0.5, 2^-24, 65504, -0
    const std::vector<std::uint16_t> brain{0x3f80, 0xc000, 0x3f00, 0x4040, 0x4080, 0x8000}; // 1, -2, 0.5, 3, 4, -0
    const auto weights = [&](const wire_writer& w) {
        onnx_model m;
        m.input("x", {-1, 3}).tensor(w).node("MatMul", {"x", "w"}, {"y"}).output("y");
        const io::onnx_network net = io::onnx_from_bytes(m.bytes(), {});
        REQUIRE(net.weights.size() == 1);
        const numbers& t = net.weights[0].numbers; // [2,3], of [3,2]
        return numbers{t[0], t[3], t[1], t[4], t[2], t[5]};
    };
    CHECK(weights(onnx_tensor("w", 10, {3, 2}, raw_of(half))) == numbers{1, -2, 0.5F, 0x1p-24F, 65504, -0.0F});
    CHECK(weights(onnx_tensor("w", 16, {3, 2}, raw_of(brain))) == numbers{1, -2, 0.5F, 3, 4, -0.0F});
    CHECK(weights(onnx_tensor("w", 11, {3, 2}, raw_of(std::vector<double>{1, 2, 3, 4, 5, 0.1}))) ==
          numbers{1, 2, 3, 4, 5, 0.1F});
    CHECK(weights(onnx_tensor("w", 1, {3, 2}, raw_of(numbers{1, 2, 3, 4, 5, 6}))) == numbers{1, 2, 3, 4, 5, 6});
    wire_writer floats;
    floats.integer(1, 3)
        .integer(1, 2)
        .integer(2, 1)
        .text(8, "w")
        .number(4, 1)
        .text(4, raw_of(numbers{2, 3, 4, 5}))
        .number(4, 6); // one by one and packed
    CHECK(weights(floats) == numbers{1, 2, 3, 4, 5, 6});
    wire_writer doubles;
    doubles.text(1, wire_writer().varint(3).varint(2).bytes)
        .integer(2, 11)
        .text(8, "w")
        .text(10, raw_of(std::vector<double>{1, 2, 3, 4, 5, 6}));
    CHECK(weights(doubles) == numbers{1, 2, 3, 4, 5, 6});
    wire_writer bits;
    bits.integer(1, 3).integer(1, 2).integer(2, 10).text(8, "w");
    for (const std::uint16_t h : half) {
        bits.integer(5, h);
    }
    CHECK(weights(bits) == numbers{1, -2, 0.5F, 0x1p-24F, 65504, -0.0F});
}

TEST_CASE("onnx: external data lie beside the model and nowhere else") {
    const test::temporary_folder folder;
    const std::string path = folder.path() + "/m.onnx";
    const auto write = [&](const std::string& location, const std::string& offset, const std::string& length) {
        wire_writer w;
        w.integer(1, 2).integer(1, 3).integer(2, 1).text(8, "w").integer(14, 1);
        w.message(13, wire_writer().text(1, "location").text(2, location));
        w.message(13, wire_writer().text(1, "offset").text(2, offset))
            .message(13, wire_writer().text(1, "length").text(2, length));
        onnx_model m;
        io::write_file_atomically(
            path, m.input("x", {-1, 3}).tensor(w).node("Gemm", {"x", "w"}, {"y"}, {{"transB", 1}}).output("y").bytes());
    };
    const auto refused = [&] { return message_of([&] { (void)io::read_onnx(path); }); };
    io::write_file_atomically(folder.path() + "/m.data", std::string(8, 'x') + raw_of(numbers{1, 2, 3, 4, 5, 6}));
    write("m.data", "8", "24");
    CHECK(io::read_onnx(path).weights.at(0).numbers == numbers{1, 2, 3, 4, 5, 6});
    CHECK(io::is_onnx_file(path));
    write("./m.data", "8", "24");
    CHECK(io::read_onnx(path).weights.at(0).numbers == numbers{1, 2, 3, 4, 5, 6});
    write("m.data", "12", "24");
    CHECK(contains(refused(), "ends at byte 12 + 24 of 'm.data', which has 32"));
    write("m.data", "8", "20");
    CHECK(contains(refused(), "has 5 elements, and its extents say 6"));
    write("m.data", "-8", "24");
    CHECK(contains(refused(), "the offset of a tensor is '-8'"));
    write("other.data", "0", "24");
    CHECK(contains(refused(), "cannot read"));
    for (const char* outside : {"../m.data", "/etc/hostname", "a/../../m.data", ""}) {
        write(outside, "0", "24");
        CHECK(contains(refused(), "outside of the model's folder"));
    }
    std::filesystem::create_symlink("/etc/hostname", folder.path() + "/link");
    write("link", "0", "24");
    CHECK(contains(refused(), "outside of the model's folder"));
    CHECK(contains(message_of([&] { (void)io::onnx_from_bytes(io::read_file(path)); }), "and the model in none"));
}

TEST_CASE("onnx: samples may be open, several, or one") {
    const auto samples = [](const onnx_model& m, std::int64_t batch) {
        return io::onnx_from_bytes(m.bytes(), {.batch = batch}).file.network.tensors[0].extents[0];
    };
    CHECK(samples(small(), 0) == 1);
    CHECK(samples(small(), 7) == 7);
    for (const std::int64_t said : {1, 4}) {
        onnx_model m; // whose constants say the samples, as exporters compute them
        m.input("x", {said, 6, 4}).list("heads", {6, said * 2, 2}).list("back", {6, said, 4});
        m.node("Transpose", {"x"}, {"t"}, {{"perm", indices{1, 0, 2}}})
            .node("Reshape", {"t", "heads"}, {"h"})
            .node("Neg", {"h"}, {"g"});
        m.node("Reshape", {"g", "back"}, {"b"})
            .node("Transpose", {"b"}, {"y"}, {{"perm", indices{1, 0, 2}}})
            .output("y");
        CHECK(samples(m, 0) == said);
        CHECK(samples(m, 3) == 3);
        numbers x = some(3 * 24, 4);
        const numbers y = predicted(m.bytes(), x, {.batch = 3, .loss = "mse_loss"}).values;
        for (float& v : x) {
            v = -v;
        }
        CHECK(y == x);
    }
}

TEST_CASE("onnx: opsets 13 to 21 are read, and no others") {
    for (std::int64_t opset = 13; opset <= 21; ++opset) {
        onnx_model m = small();
        m.opset = opset;
        CHECK(refusal_of(m.bytes()) == "accepted");
    }
    for (const std::int64_t opset : {0, 12, 22}) {
        onnx_model m = small();
        m.opset = opset;
        CHECK(contains(refusal_of(m.bytes()), "is of opset " + std::to_string(opset) + ", and 13 to 21 are read"));
    }
}

TEST_CASE(
    "onnx: a model is trained further, its last softmax being the loss's, and layers with one initializer share it") {
    onnx_model m;
    m.input("x", {-1, 3})
        .weight("a.weight", {3, 3}, some(9, 3))
        .weight("b.weight", {2, 3}, some(6, 4))
        .weight("b.bias", {2}, {0, 0});
    m.node("Gemm", {"x", "a.weight"}, {"h"}, {{"transB", 1}})
        .node("Tanh", {"h"}, {"t"})
        .node("Gemm", {"t", "a.weight"}, {"u"}, {{"transB", 1}});
    m.node("Gemm", {"u", "b.weight", "b.bias"}, {"z"}, {{"transB", 1}}).node("Softmax", {"z"}, {"y"}).output("y");
    session_of s(io::onnx_from_bytes(m.bytes(), {.batch = 4}));
    CHECK(s.net.weights.size() == 3);
    CHECK(s.net.file.network.parameters.size() == 3);
    CHECK(contains(s.net.notes.at(0), "the last softmax"));
    const numbers x = some(12, 5);
    const std::vector<std::int32_t> labels{0, 1, 1, 0};
    const ts::prediction before = s.predict({ts::input_data(x)});
    double loss = 0;
    for (std::size_t n = 0; n < 4; ++n) {
        CHECK(std::abs(before.values[2 * n] + before.values[2 * n + 1] - 1) < 1e-6F);
        loss -= std::log(static_cast<double>(before.values[2 * n + ts::to_size(labels[n])])) / 4;
    }
    const std::vector<ts::input_data> batch{ts::input_data(x), ts::input_data(labels)};
    CHECK(std::abs(s.session.step(batch) - loss) < 1e-6);
    double now = loss;
    for (int step = 0; step < 20; ++step) {
        now = s.session.step(batch);
    }
    CHECK(now < 0.9 * loss);
}

TEST_CASE("onnx: all that is not understood is said at once, with nodes and their operators") {
    onnx_model m;
    m.input("x", {-1, 3})
        .node("Det", {"x"}, {"a"})
        .node("NonZero", {"a"}, {"b"})
        .node("If", {"x"}, {"c"})
        .node("Loop", {"b"}, {"d"});
    m.node("Attention", {"x"}, {"e"}, {}, "com.microsoft")
        .node("Relu", {"a"}, {"y"})
        .node("Cast", {"x"}, {"f"}, {{"to", 7}})
        .output("y");
    const std::string text = refusal_of(m.bytes());
    CHECK(contains(text, "tessera: 'm.onnx' has what a network has no words for:"));
    CHECK(contains(text, "\n  node 'the_a' (Det): there is no operator for it"));
    CHECK(contains(text, "\n  node 'the_b' (NonZero): there is no operator for it"));
    CHECK(contains(text, "\n  node 'the_c' (If): it is control flow"));
    CHECK(contains(text, "\n  node 'the_d' (Loop): it is control flow"));
    CHECK(contains(text, "\n  node 'the_e' (Attention): it is of the domain 'com.microsoft'"));
    CHECK(contains(text, "\n  node 'the_f' (Cast): it makes integers of numbers"));
    CHECK_FALSE(contains(text, "Relu"));
}

TEST_CASE("onnx: refusals in words") {
    struct refused {
        onnx_model model;
        const char* words;
    };
    const auto model = [] { return onnx_model().input("x", {-1, 4, 6, 6}).output("y"); };
    const numbers w = some(4 * 4 * 9);
    const std::vector<refused> all{
        {onnx_model().input("x", {-1, -1, 3}).node("Relu", {"x"}, {"y"}).output("y"),
         "dimension 1 of the input 'x' is 'n', which may be anything; only the samples may be"},
        {onnx_model().input("x", {2, 3}).input("z", {3, 3}).node("Add", {"x", "z"}, {"y"}).output("y"),
         "the input 'z' has other samples"},
        {onnx_model().input("x", {-1, 3}, 2).node("Relu", {"x"}, {"y"}).output("y"), "the input 'x' is of uint8"},
        {onnx_model().input("x", {-1, 3}, 8).node("Relu", {"x"}, {"y"}).output("y"), "the input 'x' is of string"},
        {onnx_model().input("x", {0, 3}).node("Relu", {"x"}, {"y"}).output("y"), "has no samples"},
        {onnx_model().node("Constant", {}, {"y"}, {{"value_float", 1.0}}).output("y"), "it has no inputs"},
        {model().node("Relu", {"z"}, {"y"}), "node 'the_y' (Relu): it reads 'z', which nothing before it makes"},
        {model().node("Relu", {"x"}, {"z"}), "the output 'y' is not computed"},
        {model().weight("w", {4, 4, 3, 3}, numbers(5)).node("Conv", {"x", "w"}, {"y"}),
         "the tensor 'w' has 5 elements, and its extents say 144"},
        {model().tensor(onnx_tensor("w", 9, {4, 4, 3, 3}, std::string(144, '\1'))).node("Conv", {"x", "w"}, {"y"}),
         "its parameters are integers"},
        {model().tensor(onnx_tensor("w", 14, {1}, std::string(8, '\1'))).node("Mul", {"x", "w"}, {"y"}),
         "the tensor 'w' is of type 14"},
        {model().weight("w", {4, 3, 3, 3}, numbers(108)).node("Conv", {"x", "w"}, {"y"}), "do not fit the channels"},
        {model().weight("w", {4, 4, 3, 3}, w).node("Conv", {"x", "w"}, {"y"}, {{"pads", indices{1, 1}}}),
         "have not the dimensions"},
        {model().weight("w", {4, 4, 3, 3}, w).node("Conv", {"x", "w"}, {"y"}, {{"strides", indices{0, 1}}}),
         "negative or too large"},
        {model().weight("w", {4, 4, 3, 3}, w).node("Conv", {"x", "w"}, {"y"}, {{"dilations", indices{9, 9}}}),
         "breaks a rule"},
        {model().list("to", {0, 7, -1}).node("Reshape", {"x", "to"}, {"y"}), "its shape has other elements"},
        {model().node("Transpose", {"x"}, {"y"}, {{"perm", indices{0, 1, 1, 2}}}), "no order"},
        {model().node("Concat", {"x", "x"}, {"y"}, {{"axis", 0}}), "it joins samples"},
        {model().node("ReduceMean", {"x"}, {"y"}), "it is over the samples"},
        {model().node("Softmax", {"x"}, {"y"}, {{"axis", 4}}), "a dimension that its input does not have"},
        {model().list("pads", {0, 0, 1, 1, 0, 0, 1, 1}).node("Pad", {"x", "pads"}, {"y"}, {{"mode", "reflect"}}),
         "repeats what is inside"},
        {model().node("MaxPool", {"x"}, {"y", "places"}, {{"kernel_shape", indices{2, 2}}}), "gives out indices"},
        {model()
             .weight("w", {4, 2, 3, 3}, numbers(72))
             .node("ConvTranspose", {"x", "w"}, {"y"}, {{"output_padding", indices{1, 1}}}),
         "node 'the_y' (ConvTranspose): its output_padding is larger than its padding"},
        {model()
             .weight("w", {4, 2, 1, 1}, numbers(8))
             .node("ConvTranspose", {"x", "w"}, {"y"}, {{"auto_pad", "SAME_UPPER"}, {"strides", indices{2, 2}}}),
         "its windows are shorter than its strides"},
        {onnx_model()
             .input("x", {-1, 4, 5, 5})
             .output("y")
             .node("AveragePool", {"x"}, {"y"},
                   {{"kernel_shape", indices{2, 2}}, {"strides", indices{2, 2}}, {"ceil_mode", 1}}),
         "node 'the_y' (AveragePool): its ceil_mode makes windows that end behind the input"},
        {onnx_model()
             .input("x", {-1, 4, 5, 5})
             .output("y")
             .node("MaxPool", {"x"}, {"y"},
                   {{"kernel_shape", indices{2, 2}}, {"strides", indices{2, 2}}, {"ceil_mode", 1}}),
         "node 'the_y' (MaxPool): its ceil_mode makes windows that end behind the input"},
        {onnx_model()
             .input("x", {-1, 4, 5, 5})
             .output("y")
             .node("AveragePool", {"x"}, {"y"},
                   {{"kernel_shape", indices{2, 2}},
                    {"strides", indices{2, 2}},
                    {"ceil_mode", 1},
                    {"count_include_pad", 1}}),
         "node 'the_y' (AveragePool): its ceil_mode makes windows that end behind the padding"},
        {model().list("to", {1000000, 1000000}).node("ConstantOfShape", {"to"}, {"c"}).node("Relu", {"x"}, {"y"}),
         "too large"},
    };
    for (const refused& r : all) {
        const std::string said = refusal_of(r.model.bytes());
        CAPTURE(r.words);
        CAPTURE(said);
        CHECK(contains(said, r.words));
    }
    onnx_model sparse = small();
    sparse.graph_field(15, wire_writer());
    CHECK(contains(refusal_of(sparse.bytes()), "sparse initializers"));
    onnx_model function = onnx_model().input("x", {-1, 3}).node("Own", {"x"}, {"y"}).output("y");
    function.more.message(25, wire_writer().text(1, "Own"));
    CHECK(contains(refusal_of(function.bytes()), "it is a function of the model"));
    CHECK(contains(refusal_of(small().bytes(), {.loss = "hinge"}), "there is no operator hinge"));
    CHECK(contains(refusal_of(small().bytes(), {.loss = "relu"}), "'relu' is no loss"));
}

TEST_CASE(
    "onnx: an operator that is computed of constants alone is named where its inputs are none, and no node behind it") {
    for (const char* type : {"Floor", "Ceil", "Round", "Sin", "Cos", "Sign", "Not", "Trilu", "Range", "ReduceProd"}) {
        onnx_model m;
        m.input("x", {-1, 3})
            .node(type, {"x"}, {"a"})
            .node("Relu", {"a"}, {"b"})
            .node("Tanh", {"b"}, {"y"})
            .output("y");
        const std::string said = refusal_of(m.bytes());
        CAPTURE(said);
        CHECK(contains(said, (std::string("node 'the_a' (") + type + "): ").c_str()));
        CHECK_FALSE(contains(said, "which nothing before it makes"));
        CHECK_FALSE(contains(said, "the_b"));
        CHECK_FALSE(contains(said, "the_y"));
    }
    for (const char* type : {"Where", "Equal", "Less", "Greater", "And", "Mod", "ScatterND"}) {
        onnx_model m;
        m.input("x", {-1, 3}).node(type, {"x", "x", "x"}, {"a"}).node("Relu", {"a"}, {"y"}).output("y");
        const std::string said = refusal_of(m.bytes());
        CAPTURE(said);
        CHECK(contains(said, (std::string("node 'the_a' (") + type + "): ").c_str()));
        CHECK_FALSE(contains(said, "which nothing before it makes"));
        CHECK_FALSE(contains(said, "the_y"));
    }
}

TEST_CASE("onnx: a dropout has the whole per cent that is nearest to its ratio, at most 99, and a note says so") {
    struct said {
        float ratio;
        ts::index_t percent; // 0: there is none
        const char* words;
    };
    for (const said& s :
         {said{0.996F, 99, "a dropout of 99.59"}, said{0.9999F, 99, "a dropout of 99.98"}, said{0.99F, 99, ""},
          said{0.253F, 25, "a dropout of 25.29"}, said{0.5F, 50, ""}, said{0.004F, 0, "a dropout of 0.4"}}) {
        onnx_model m;
        m.input("x", {-1, 3})
            .weight("ratio", {}, {s.ratio})
            .node("Dropout", {"x", "ratio"}, {"a"})
            .node("Tanh", {"a"}, {"y"})
            .output("y");
        const io::onnx_network net = io::onnx_from_bytes(m.bytes(), {.loss = "mse_loss"}, "m.onnx");
        ts::index_t percent = 0;
        for (const ts::op_node& o : net.file.network.ops) {
            if (o.attributes.kind == ts::op_kind::dropout) {
                percent = o.attributes.as<ts::op::dropout_attributes>().percent;
            }
        }
        CAPTURE(s.ratio);
        CHECK(percent == s.percent);
        std::string notes;
        for (const std::string& n : net.notes) {
            notes += n + "\n";
        }
        CAPTURE(notes);
        CHECK(contains(notes, s.words));
        CHECK((notes.find("a dropout") == std::string::npos) == (s.words[0] == '\0'));
    }
}

TEST_CASE("onnx: a long chain of additions before a pool does not take long to look through") {
    onnx_model m;
    m.input("x", {-1, 4, 5, 5}).node("Relu", {"x"}, {"a0"});
    for (int i = 0; i < 60; ++i) {
        m.node("Add", {"a" + std::to_string(i), "a" + std::to_string(i)}, {"a" + std::to_string(i + 1)});
    }
    m.node("MaxPool", {"a60"}, {"y"}, {{"kernel_shape", indices{2, 2}}, {"strides", indices{2, 2}}, {"ceil_mode", 1}})
        .output("y");
    CHECK(contains(refusal_of(m.bytes(), {.loss = "mse_loss"}),
                   "its input may be negative")); // 2^60 ways to the Relu: it is not looked for on all
}

TEST_CASE("onnx: whatever is cut off or changed is read or refused in words") {
    onnx_model big; // of every kind of field
    big.input("x", {-1, 3}).weight("w", {3, 3}, some(9)).list("to", {0, 3, 1});
    big.node("MatMul", {"x", "w"}, {"a"})
        .node("LeakyRelu", {"a"}, {"b"}, {{"alpha", 0.5}})
        .node("Reshape", {"b", "to"}, {"c"});
    big.node("ReduceMean", {"c"}, {"y"}, {{"keepdims", 0}, {"axes", indices{2}}}).output("y");
    const std::string whole = big.bytes();
    CHECK(refusal_of(whole) == "accepted");
    int refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        refused += refusal_of(whole.substr(0, size)) != "accepted" ? 1 : 0;
    }
    CHECK(refused == static_cast<int>(whole.size()));
    refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const int bit : {0, 3, 7}) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
            refused += refusal_of(changed) != "accepted" ? 1 : 0;
        }
    }
    CHECK(refused > static_cast<int>(whole.size()));
    CHECK(contains(refusal_of("{}"), "damaged at byte"));
    CHECK(contains(refusal_of(""), "has no graph"));
    CHECK(contains(refusal_of(std::string("\x08") + std::string(11, '\xff')), "more than 10 bytes"));
}
