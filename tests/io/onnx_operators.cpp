// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX against plain loops in double.
#include "io/onnx_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

namespace {

using namespace onnx_test;
using test_support::onnx_attribute;
using attributes = std::vector<onnx_attribute>;
using doubles = std::vector<double>;
using indices = std::vector<std::int64_t>;

std::int64_t volume(const onnx_extents& e) {
    std::int64_t n = 1;
    for (const std::int64_t x : e) {
        n *= x;
    }
    return n;
}

/// Calls each(index) for every index of these extents, in order.
template <class Each>
void for_all(const onnx_extents& e, const Each& each) {
    indices i(e.size(), 0);
    for (std::int64_t k = 0; k < volume(e); ++k) {
        each(i);
        for (std::size_t d = e.size(); d-- > 0 && ++i[d] == e[d];) {
            i[d] = 0;
        }
    }
}
double at(const numbers& x, const onnx_extents& e, const indices& i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < e.size(); ++d) {
        place = place * e[d] + i[d];
    }
    return static_cast<double>(x[ts::to_size(place)]);
}

/// The model: one node of input x and of weights; checked against an oracle of x.
void check_node(const std::string& type, const onnx_extents& extents, onnx_model m,
                const std::vector<std::string>& reads, const attributes& a, const onnx_extents& out,
                const std::function<double(const numbers&, const indices&)>& oracle) {
    CAPTURE(type);
    m.input("x", extents).node(type, reads, {"y"}, a).output("y");
    const numbers x = some(volume(extents), 7);
    const ts::prediction y = predicted(m.bytes(), x);
    doubles expected;
    for_all(out, [&](const indices& i) { expected.push_back(oracle(x, i)); });
    CHECK(static_cast<std::int64_t>(y.values.size()) == volume(out));
    CHECK(worst(y.values, expected) < 2e-6);
}

void check_function(const std::string& type, const attributes& a, double (*f)(double), bool positive = false) {
    CAPTURE(type);
    const onnx_extents e{3, 2, 5};
    onnx_model m;
    m.input("x", e).node("Abs", {"x"}, {"size"}).node(type, {positive ? "size" : "x"}, {"y"}, a).output("y");
    const numbers x = some(volume(e), 3);
    doubles expected;
    for (const float v : x) {
        expected.push_back(f(positive ? std::abs(static_cast<double>(v)) : static_cast<double>(v)));
    }
    CHECK(worst(predicted(m.bytes(), x).values, expected) < 2e-6);
}

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

} // namespace

TEST_CASE("onnx: functions of one number") {
    check_function("Relu", {}, [](double x) { return std::max(x, 0.0); });
    check_function("Sigmoid", {}, [](double x) { return 1 / (1 + std::exp(-x)); });
    check_function("Tanh", {}, [](double x) { return std::tanh(x); });
    check_function("Softplus", {}, [](double x) { return std::log1p(std::exp(x)); });
    check_function("Exp", {}, [](double x) { return std::exp(x); });
    check_function(
        "Log", {}, [](double x) { return std::log(x); }, true);
    check_function(
        "Sqrt", {}, [](double x) { return std::sqrt(x); }, true);
    check_function("Neg", {}, [](double x) { return -x; });
    check_function("Abs", {}, [](double x) { return std::abs(x); });
    check_function("Elu", {{"alpha", 1.5}}, [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); });
    check_function("LeakyRelu", {{"alpha", 0.25}}, [](double x) { return x > 0 ? x : 0.25 * x; });
    check_function("LeakyRelu", {}, [](double x) { return x > 0 ? x : static_cast<double>(0.01F) * x; });
    check_function("HardSigmoid", {},
                   [](double x) { return std::clamp(static_cast<double>(0.2F) * x + 0.5, 0.0, 1.0); });
    check_function("HardSigmoid", {{"alpha", 1.0 / 6}}, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); });
    check_function("HardSwish", {}, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
    check_function("Mish", {}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
    check_function("Gelu", {}, [](double x) { return x * phi(x); });
    check_function("Gelu", {{"approximate", "tanh"}}, [](double x) {
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    });
}

TEST_CASE("onnx: a GELU of its parts, x sigmoid(x), and constants on either side") {
    const auto check = [](onnx_model m, double (*f)(double), std::size_t operators) {
        m.input("x", {2, 4}).output("y");
        const numbers x = some(8, 5);
        doubles expected;
        for (const float v : x) {
            expected.push_back(f(static_cast<double>(v)));
        }
        const std::string bytes = m.bytes();
        CHECK(worst(predicted(bytes, x).values, expected) < 2e-6);
        const io::onnx_network net = io::onnx_from_bytes(bytes, {.loss = "mse_loss"});
        CHECK(net.file.network.ops.size() == operators + 1); // and the loss
    };
    onnx_model g;
    g.weight("root", {}, {std::sqrt(2.0F)}).weight("one", {}, {1}).weight("half", {}, {0.5F});
    onnx_model h = g;
    check(
        g.node("Div", {"x", "root"}, {"a"})
            .node("Erf", {"a"}, {"b"})
            .node("Add", {"b", "one"}, {"c"})
            .node("Mul", {"x", "c"}, {"d"})
            .node("Mul", {"d", "half"}, {"y"}),
        [](double x) { return x * phi(x); }, 1);
    check(
        h.node("Mul", {"x", "half"}, {"h"})
            .node("Div", {"x", "root"}, {"a"})
            .node("Erf", {"a"}, {"b"})
            .node("Add", {"one", "b"}, {"c"})
            .node("Mul", {"h", "c"}, {"y"}),
        [](double x) { return x * phi(x); }, 1);
    check(
        onnx_model().node("Sigmoid", {"x"}, {"s"}).node("Mul", {"s", "x"}, {"y"}),
        [](double x) { return x / (1 + std::exp(-x)); }, 1);
    onnx_model c;
    c.weight("two", {}, {2}).weight("three", {1}, {3});
    check(
        onnx_model(c).node("Sub", {"two", "x"}, {"y"}), [](double x) { return 2 - x; }, 2);
    check(
        onnx_model(c).node("Sub", {"x", "two"}, {"y"}), [](double x) { return x - 2; }, 1);
    check(
        onnx_model(c).node("Add", {"x", "three"}, {"a"}).node("Div", {"two", "a"}, {"y"}),
        [](double x) { return 2 / (x + 3); }, 3);
    check(
        onnx_model(c).node("Div", {"x", "three"}, {"y"}), [](double x) { return x / 3; }, 1);
    check(
        onnx_model(c).node("Add", {"x", "three"}, {"a"}).node("Pow", {"a", "two"}, {"y"}),
        [](double x) { return (x + 3) * (x + 3); }, 2);
    check(
        onnx_model(c)
            .weight("low", {}, {-0.25F})
            .node("Max", {"x", "low"}, {"a"})
            .node("Min", {"a", "half"}, {"y"})
            .weight("half", {}, {0.5F}),
        [](double x) { return std::clamp(x, -0.25, 0.5); }, 2);
    check(
        onnx_model(c).weight("low", {}, {-0.25F}).node("Clip", {"x", "low"}, {"y"}),
        [](double x) { return std::max(x, -0.25); }, 1);
    check(
        onnx_model(c).weight("low", {}, {-0.25F}).node("Clip", {"x", "", "low"}, {"y"}),
        [](double x) { return std::min(x, -0.25); }, 1);
}

TEST_CASE("onnx: convolutions with every kind of padding") {
    const onnx_extents in{2, 4, 7, 6};
    const numbers w = some(6 * 2 * 3 * 2, 11);
    const numbers b = some(6, 12);
    struct padded {
        attributes more;
        std::int64_t top, left, height, width;
    };
    for (const padded& p :
         {padded{{}, 0, 0, 3, 5}, padded{{{"pads", indices{1, 1, 1, 1}}}, 1, 1, 4, 7},
          padded{{{"pads", indices{0, 1, 2, 0}}}, 0, 1, 4, 6}, padded{{{"auto_pad", "SAME_UPPER"}}, 1, 0, 4, 6},
          padded{{{"auto_pad", "SAME_LOWER"}}, 1, 1, 4, 6}, padded{{{"auto_pad", "VALID"}}, 0, 0, 3, 5}}) {
        attributes a = p.more;
        a.emplace_back("kernel_shape", indices{3, 2});
        a.emplace_back("strides", indices{2, 1});
        a.emplace_back("group", 2);
        onnx_model m;
        m.weight("layer.weight", {6, 2, 3, 2}, w).weight("layer.bias", {6}, b);
        check_node("Conv", in, m, {"x", "layer.weight", "layer.bias"}, a, {2, 6, p.height, p.width},
                   [&](const numbers& x, const indices& i) {
                       double sum = static_cast<double>(b[ts::to_size(i[1])]);
                       for_all({2, 3, 2}, [&](const indices& k) {
                           const std::int64_t r = i[2] * 2 + k[1] - p.top;
                           const std::int64_t s = i[3] + k[2] - p.left;
                           if (r >= 0 && r < 7 && s >= 0 && s < 6) {
                               sum += at(x, in, {i[0], i[1] / 3 * 2 + k[0], r, s}) *
                                      at(w, {6, 2, 3, 2}, {i[1], k[0], k[1], k[2]});
                           }
                       });
                       return sum;
                   });
    }
}

TEST_CASE("onnx: a convolution of sequences, and a transposed one of images, with an addition as their bias") {
    const numbers w = some(3 * 4 * 3, 11);
    const numbers b = some(3, 12);
    onnx_model m;
    m.input("x", {-1, 4, 9}).weight("conv.weight", {3, 4, 3}, w).weight("b", {3, 1}, b);
    m.node("Conv", {"x", "conv.weight"}, {"c"}, {{"strides", indices{2}}, {"dilations", indices{2}}})
        .node("Add", {"b", "c"}, {"y"})
        .output("y");
    const numbers x = some(2 * 36, 4);
    doubles expected;
    for_all({2, 3, 3}, [&](const indices& i) {
        double sum = static_cast<double>(b[ts::to_size(i[1])]);
        for_all({4, 3}, [&](const indices& k) {
            sum += at(x, {2, 4, 9}, {i[0], k[0], i[2] * 2 + k[1] * 2}) * at(w, {3, 4, 3}, {i[1], k[0], k[1]});
        });
        expected.push_back(sum);
    });
    const io::onnx_network net = io::onnx_from_bytes(m.bytes(), {.batch = 2, .loss = "mse_loss"});
    CHECK(net.weights.size() == 2);
    CHECK(net.weights[0].path == "conv/weight");
    CHECK(net.weights[1].path == "conv/bias");
    CHECK(worst(predicted(m.bytes(), x, {.batch = 2, .loss = "mse_loss"}).values, expected) < 2e-6);

    const numbers t = some(4 * 3 * 3 * 3, 13);
    onnx_model up;
    up.weight("w", {4, 3, 3, 3}, t).weight("bias", {3}, b);
    check_node("ConvTranspose", {2, 4, 3, 3}, up, {"x", "w", "bias"},
               {{"strides", indices{2, 2}}, {"pads", indices{1, 1, 1, 1}}}, {2, 3, 5, 5},
               [&](const numbers& y, const indices& i) {
                   double sum = static_cast<double>(b[ts::to_size(i[1])]);
                   for_all({4, 3, 3}, [&](const indices& k) {
                       for_all({3, 3}, [&](const indices& r) {
                           if (k[1] * 2 + r[0] - 1 == i[2] && k[2] * 2 + r[1] - 1 == i[3]) {
                               sum += at(y, {2, 4, 3, 3}, {i[0], k[0], k[1], k[2]}) *
                                      at(t, {4, 3, 3, 3}, {k[0], i[1], r[0], r[1]});
                           }
                       });
                   });
                   return sum;
               });
}

TEST_CASE("onnx: a transposed convolution takes away what its pads, its output_padding and its auto_pad say") {
    struct made {
        attributes more;
        indices window, stride, before, out; // by the page of ConvTranspose, by hand
    };
    const std::vector<made> all{
        {{{"auto_pad", "SAME_UPPER"}}, {3, 3}, {2, 2}, {0, 0}, {8, 10}},
        {{{"auto_pad", "SAME_LOWER"}}, {3, 3}, {2, 2}, {1, 1}, {8, 10}},
        {{{"auto_pad", "SAME_UPPER"}}, {4, 2}, {2, 1}, {1, 0}, {8, 5}},
        {{{"auto_pad", "SAME_LOWER"}}, {4, 2}, {2, 1}, {1, 1}, {8, 5}},
        {{{"auto_pad", "SAME_UPPER"}, {"output_padding", indices{1, 0}}}, {3, 5}, {2, 2}, {1, 1}, {8, 10}},
        {{{"auto_pad", "SAME_UPPER"}}, {2, 3}, {2, 3}, {0, 0}, {8, 15}},
        {{{"auto_pad", "VALID"}}, {3, 3}, {2, 2}, {0, 0}, {9, 11}},
        {{{"pads", indices{1, 0, 0, 2}}}, {3, 3}, {2, 2}, {1, 0}, {8, 9}},
        {{{"pads", indices{1, 1, 1, 1}}, {"output_padding", indices{1, 1}}}, {3, 3}, {2, 2}, {1, 1}, {8, 10}},
    };
    for (const made& p : all) {
        const numbers t = some(4 * 3 * p.window[0] * p.window[1], 13);
        const onnx_extents weight{4, 3, p.window[0], p.window[1]};
        onnx_model m;
        m.weight("w", weight, t);
        attributes a = p.more;
        a.emplace_back("strides", p.stride);
        check_node("ConvTranspose", {2, 4, 4, 5}, m, {"x", "w"}, a, {2, 3, p.out[0], p.out[1]},
                   [&](const numbers& y, const indices& i) {
                       double sum = 0;
                       for_all({4, 4, 5}, [&](const indices& k) {
                           const std::int64_t r = i[2] + p.before[0] - k[1] * p.stride[0];
                           const std::int64_t s = i[3] + p.before[1] - k[2] * p.stride[1];
                           if (r >= 0 && r < p.window[0] && s >= 0 && s < p.window[1]) {
                               sum += at(y, {2, 4, 4, 5}, {i[0], k[0], k[1], k[2]}) * at(t, weight, {k[0], i[1], r, s});
                           }
                       });
                       return sum;
                   });
    }
}

TEST_CASE("onnx: pools with padding at one end, and with a ceiling") {
    const onnx_extents in{2, 3, 8, 8};
    struct pooled {
        const char* type;
        attributes more;
        std::int64_t window, stride, before, out;
        bool counts;
    };
    const std::vector<pooled> all{
        {"MaxPool", {{"pads", indices{1, 1, 1, 1}}}, 3, 2, 1, 4, false},
        {"MaxPool", {{"pads", indices{0, 0, 1, 1}}}, 3, 2, 0, 4, false},
        {"MaxPool", {{"ceil_mode", 1}}, 3, 2, 0, 4, false},
        {"MaxPool", {{"ceil_mode", 1}, {"pads", indices{1, 1, 1, 1}}}, 3, 3, 1, 3, false},
        {"MaxPool", {{"auto_pad", "SAME_UPPER"}}, 3, 2, 0, 4, false},
        {"AveragePool", {{"pads", indices{1, 1, 1, 1}}}, 3, 2, 1, 4, false},
        {"AveragePool", {{"pads", indices{1, 1, 1, 1}}, {"count_include_pad", 1}}, 3, 2, 1, 4, true},
        {"AveragePool", {{"pads", indices{1, 1, 0, 0}}, {"count_include_pad", 1}}, 3, 2, 1, 4, true},
        {"AveragePool", {{"auto_pad", "SAME_UPPER"}}, 3, 2, 0, 4, false},
        {"AveragePool", {{"ceil_mode", 1}}, 3, 2, 0, 4, false},
        // a ceiling that makes nothing longer
        {"AveragePool", {{"ceil_mode", 1}, {"count_include_pad", 1}, {"pads", indices{1, 1, 0, 0}}}, 3, 2, 1, 4, true},
    };
    for (const pooled& p : all) {
        attributes a = p.more;
        a.emplace_back("kernel_shape", indices{p.window, p.window});
        a.emplace_back("strides", indices{p.stride, p.stride});
        check_node(p.type, in, {}, {"x"}, a, {2, 3, p.out, p.out}, [&](const numbers& x, const indices& i) {
            double most = -1e30;
            double sum = 0;
            double count = 0;
            for_all({p.window, p.window}, [&](const indices& k) {
                const std::int64_t r = i[2] * p.stride + k[0] - p.before;
                const std::int64_t s = i[3] * p.stride + k[1] - p.before;
                const bool inside = r >= 0 && r < 8 && s >= 0 && s < 8;
                count += inside || p.counts ? 1 : 0;
                if (inside) {
                    sum += at(x, in, {i[0], i[1], r, s});
                    most = std::max(most, at(x, in, {i[0], i[1], r, s}));
                }
            });
            return p.type[0] == 'M' ? most : sum / count;
        });
    }
    for (const bool is_max : {false, true}) {
        check_node(is_max ? "GlobalMaxPool" : "GlobalAveragePool", in, {}, {"x"}, {}, {2, 3, 1, 1},
                   [&](const numbers& x, const indices& i) {
                       double most = -1e30;
                       double sum = 0;
                       for_all({8, 8}, [&](const indices& k) {
                           most = std::max(most, at(x, in, {i[0], i[1], k[0], k[1]}));
                           sum += at(x, in, {i[0], i[1], k[0], k[1]});
                       });
                       return is_max ? most : sum / 64;
                   });
    }
}

TEST_CASE("onnx: products of matrices, with weights and of activations") {
    const numbers w = some(5 * 3, 11);
    const numbers b = some(3, 12);
    for (const bool turned : {false, true}) {
        onnx_model m;
        m.weight("fc.weight", turned ? onnx_extents{3, 5} : onnx_extents{5, 3}, w).weight("fc.bias", {3}, b);
        check_node(
            "Gemm", {4, 5}, m, {"x", "fc.weight", "fc.bias"}, {{"transB", turned ? 1 : 0}}, {4, 3},
            [&](const numbers& x, const indices& i) {
                double sum = static_cast<double>(b[ts::to_size(i[1])]);
                for (std::int64_t k = 0; k < 5; ++k) {
                    sum += at(x, {4, 5}, {i[0], k}) * (turned ? at(w, {3, 5}, {i[1], k}) : at(w, {5, 3}, {k, i[1]}));
                }
                return sum;
            });
    }
    onnx_model rows;
    rows.weight("w", {5, 3}, w);
    check_node("MatMul", {2, 4, 3, 5}, rows, {"x", "w"}, {}, {2, 4, 3, 3}, [&](const numbers& x, const indices& i) {
        double sum = 0;
        for (std::int64_t k = 0; k < 5; ++k) {
            sum += at(x, {2, 4, 3, 5}, {i[0], i[1], i[2], k}) * at(w, {5, 3}, {k, i[3]});
        }
        return sum;
    });
    // Attention as exporters write it: heads, a transposition, a scale, a softmax, values; here of x itself.
    for (const bool causal : {false, true}) {
        onnx_model m;
        m.input("x", {-1, 3, 8}).list("heads", {0, 3, 2, 4}).list("back", {0, 3, 8}).weight("root", {}, {2});
        numbers mask(9, 0);
        mask[1] = mask[2] = mask[5] = -std::numeric_limits<float>::infinity();
        m.weight("mask", {3, 3}, mask);
        m.node("Reshape", {"x", "heads"}, {"h"}).node("Transpose", {"h"}, {"q"}, {{"perm", indices{0, 2, 1, 3}}});
        m.node("Transpose", {"h"}, {"k"}, {{"perm", indices{0, 2, 3, 1}}})
            .node("MatMul", {"q", "k"}, {"s"})
            .node("Div", {"s", "root"}, {"t"});
        m.node("Add", {"t", "mask"}, {"masked"})
            .node("Softmax", {causal ? "masked" : "t"}, {"p"})
            .node("MatMul", {"p", "q"}, {"o"});
        m.node("Transpose", {"o"}, {"r"}, {{"perm", indices{0, 2, 1, 3}}})
            .node("Reshape", {"r", "back"}, {"y"})
            .output("y");
        const numbers x = some(2 * 24, 5);
        doubles expected;
        for_all({2, 3, 8}, [&](const indices& i) {
            const std::int64_t head = i[2] / 4;
            double total = 0;
            double mixed = 0;
            for (std::int64_t t = 0; t < (causal ? i[1] + 1 : 3); ++t) {
                double score = 0;
                for (std::int64_t k = 0; k < 4; ++k) {
                    score +=
                        at(x, {2, 3, 8}, {i[0], i[1], head * 4 + k}) * at(x, {2, 3, 8}, {i[0], t, head * 4 + k}) / 2;
                }
                total += std::exp(score);
                mixed += std::exp(score) * at(x, {2, 3, 8}, {i[0], t, i[2]});
            }
            expected.push_back(mixed / total);
        });
        CHECK(worst(predicted(m.bytes(), x, {.batch = 2, .loss = "mse_loss"}).values, expected) < 2e-6);
    }
}
