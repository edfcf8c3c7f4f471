// SPDX-License-Identifier: Apache-2.0
// What moves elements, norms and reductions of ONNX models against plain loops; views against elements that are moved
// one by one.
#include "io/onnx_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace {

using namespace onnx_test;
using doubles = std::vector<double>;
using indices = std::vector<std::int64_t>;

/// A tensor as a list of elements, to move by hand.
struct elements {
    onnx_extents extents;
    std::vector<std::int64_t> which;

    static elements of(const onnx_extents& e) {
        elements all{e, {}};
        all.which.resize(ts::to_size(std::accumulate(e.begin(), e.end(), std::int64_t{1}, std::multiplies<>())));
        std::iota(all.which.begin(), all.which.end(), 0);
        return all;
    }
    elements permuted(const std::vector<int>& order) const {
        elements out;
        for (const int d : order) {
            out.extents.push_back(extents[ts::to_size(d)]);
        }
        indices i(order.size(), 0);
        for (std::size_t k = 0; k < which.size(); ++k) {
            indices own(order.size());
            for (std::size_t d = 0; d < order.size(); ++d) {
                own[ts::to_size(order[d])] = i[d];
            }
            std::int64_t place = 0;
            for (std::size_t d = 0; d < own.size(); ++d) {
                place = place * extents[d] + own[d];
            }
            out.which.push_back(which[ts::to_size(place)]);
            for (std::size_t d = i.size(); d-- > 0 && ++i[d] == out.extents[d];) {
                i[d] = 0;
            }
        }
        return out;
    }
};

/// A model with one path from x to y, and what it makes of x.
numbers made_by(onnx_model m, const onnx_extents& extents, const numbers& x, std::int64_t batch = 2) {
    return predicted(m.input("x", extents).output("y").bytes(), x, {.batch = batch, .loss = "mse_loss"}).values;
}
numbers picked(const numbers& x, const elements& e) {
    numbers out;
    for (const std::int64_t i : e.which) {
        out.push_back(x[ts::to_size(i)]);
    }
    return out;
}

} // namespace

TEST_CASE("onnx: random reshapes and permutations are what moving elements one by one makes, in tensors of five "
          "dimensions at most") {
    std::uint32_t seed = 7;
    const auto below = [&](std::uint32_t n) {
        seed = seed * 1664525U + 1013904223U;
        return (seed >> 8U) % n;
    };
    int moved = 0;
    for (int round = 0; round < 300; ++round) {
        const onnx_extents parts{2, 3, 2, 4, 3, 2};
        ts::onnx::network_writer w;
        ts::onnx::view v = w.input("x", ts::make_shape(5, 6, 8, 6), ts::element::f32);
        REQUIRE(ts::onnx::reshape_view(v, {5, 2, 3, 2, 4, 3, 2}));
        elements e = elements::of({5, 2, 3, 2, 4, 3, 2});
        std::vector<int> order{0, 1, 2, 3, 4, 5, 6};
        for (std::size_t k = 6; k > 1; --k) {
            std::swap(order[k], order[1 + below(static_cast<std::uint32_t>(k))]);
        }
        v = v.permuted(order);
        e = e.permuted(order);
        const ts::onnx::view_steps steps = ts::onnx::steps_to(v);
        REQUIRE(steps.exist);
        elements by_steps = elements::of({5, 6, 8, 6});
        for (const ts::onnx::view_steps::step& s : steps.moves) {
            CHECK(s.extents.size() <= ts::max_rank);
            CHECK(s.order[0] == 0);
            by_steps.extents.assign(s.extents.begin(), s.extents.end());
            by_steps = by_steps.permuted(s.order);
            ++moved;
        }
        CHECK(by_steps.which == e.which);
    }
    CHECK(moved > 300); // some go in several steps
}

TEST_CASE("onnx: shapes that are computed, squeezed and split come back as they were said") {
    const numbers x = some(2 * 3 * 4 * 2, 9);
    onnx_model m; // [n,3,4,2] -> Shape -> [n, 24] -> [n,2,12] by Concat of what Gather takes, and -1
    m.list("zero", {0})
        .list("rest", {2, -1})
        .node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "zero"}, {"n"}, {{"axis", 0}});
    m.node("Concat", {"n", "rest"}, {"to"}, {{"axis", 0}}).node("Reshape", {"x", "to"}, {"r"}).list("one", {1});
    m.node("Unsqueeze", {"r", "one"}, {"u"}).node("Squeeze", {"u", "one"}, {"q"}).node("Neg", {"q"}, {"y"});
    numbers expected = x;
    for (float& v : expected) {
        v = -v;
    }
    CHECK(made_by(m, {-1, 3, 4, 2}, x) == expected);

    onnx_model s; // the two halves of the channels, the other way round
    s.list("parts", {1, 2})
        .node("Split", {"x", "parts"}, {"a", "b"}, {{"axis", 1}})
        .node("Concat", {"b", "a"}, {"y"}, {{"axis", 1}});
    numbers turned;
    for (std::size_t n = 0; n < 2; ++n) {
        const auto at = x.begin() + static_cast<std::ptrdiff_t>(n * 24);
        turned.insert(turned.end(), at + 8, at + 24);
        turned.insert(turned.end(), at, at + 8);
    }
    CHECK(made_by(s, {-1, 3, 4, 2}, x) == turned);

    onnx_model c; // rows 1 and 2, then row 2 alone by a negative index
    c.list("from", {1})
        .list("to", {3})
        .list("axis", {2})
        .tensor(test_support::onnx_tensor("last", 7, {}, test_support::raw_of(std::vector<std::int64_t>{-1})));
    c.node("Slice", {"x", "from", "to", "axis"}, {"c"}).node("Gather", {"c", "last"}, {"y"}, {{"axis", 2}});
    numbers rows;
    for (std::size_t k = 0; k < 6; ++k) {
        rows.push_back(x[k * 8 + 4]);
        rows.push_back(x[k * 8 + 5]);
    }
    CHECK(made_by(c, {-1, 3, 4, 2}, x) == rows);
}

TEST_CASE("onnx: every second index of rows and columns") {
    const numbers x = some(2 * 4 * 6 * 2, 9);
    onnx_model m;
    m.list("from", {1, 0}).list("to", {2147483647, 6}).list("axes", {1, 2}).list("steps", {2, 3});
    m.node("Slice", {"x", "from", "to", "axes", "steps"}, {"y"});
    numbers expected;
    for (std::size_t n = 0; n < 2; ++n) {
        for (std::size_t h = 1; h < 4; h += 2) {
            for (std::size_t w = 0; w < 6; w += 3) {
                expected.push_back(x[((n * 4 + h) * 6 + w) * 2]);
                expected.push_back(x[((n * 4 + h) * 6 + w) * 2 + 1]);
            }
        }
    }
    CHECK(made_by(m, {-1, 4, 6, 2}, x) == expected);
}

TEST_CASE("onnx: blocks of channels as pixels, and the shuffle of channels") {
    const numbers x = some(2 * 8 * 2 * 3, 9);
    for (const char* mode : {"DCR", "CRD"}) {
        onnx_model m;
        m.node("DepthToSpace", {"x"}, {"y"}, {{"blocksize", 2}, {"mode", mode}});
        numbers expected;
        for (std::size_t n = 0; n < 2; ++n) {
            for (std::size_t ch = 0; ch < 2; ++ch) {
                for (std::size_t h = 0; h < 4; ++h) {
                    for (std::size_t w = 0; w < 6; ++w) {
                        const std::size_t block = h % 2 * 2 + w % 2;
                        const std::size_t from = mode[0] == 'D' ? block * 2 + ch : ch * 4 + block;
                        expected.push_back(x[((n * 8 + from) * 2 + h / 2) * 3 + w / 2]);
                    }
                }
            }
        }
        CHECK(made_by(m, {-1, 8, 2, 3}, x) == expected);
    }
    onnx_model m; // and what is cut of it, half of the channels
    m.list("grouped", {0, 2, 4, 2, 3}).list("back", {0, 8, 2, 3}).list("from", {0}).list("to", {4}).list("axis", {1});
    m.node("Reshape", {"x", "grouped"}, {"g"}).node("Transpose", {"g"}, {"t"}, {{"perm", indices{0, 2, 1, 3, 4}}});
    m.node("Reshape", {"t", "back"}, {"b"}).node("Slice", {"b", "from", "to", "axis"}, {"y"});
    elements e = elements::of({2, 2, 4, 6}).permuted({0, 2, 1, 3});
    numbers all = picked(x, e);
    numbers expected(all.begin(), all.begin() + 24);
    expected.insert(expected.end(), all.begin() + 48, all.begin() + 72);
    CHECK(made_by(m, {-1, 8, 2, 3}, x) == expected);
}

TEST_CASE("onnx: constants beside a tensor, tables, factors of channels, zeros around it, and repetition") {
    const numbers x = some(2 * 3 * 4, 9);
    const numbers row = some(4, 3);
    onnx_model m; // a class token, as exporters write it: expanded to the samples, which Shape says
    m.weight("token", {1, 1, 4}, row).list("zero", {0}).list("ones", {1, 1}).node("Shape", {"x"}, {"s"});
    m.node("Gather", {"s", "zero"}, {"n"}, {{"axis", 0}}).node("Concat", {"n", "ones"}, {"to"}, {{"axis", 0}});
    m.node("Expand", {"token", "to"}, {"t"}).node("Concat", {"t", "x"}, {"y"}, {{"axis", 1}});
    numbers expected;
    for (std::size_t n = 0; n < 2; ++n) {
        expected.insert(expected.end(), row.begin(), row.end());
        expected.insert(expected.end(), x.begin() + static_cast<std::ptrdiff_t>(n * 12),
                        x.begin() + static_cast<std::ptrdiff_t>(n * 12 + 12));
    }
    CHECK(made_by(m, {-1, 3, 4}, x) == expected);

    const numbers table = some(12, 4);
    const numbers factor = some(3, 5);
    doubles by_table;
    doubles by_factor;
    for (std::size_t i = 0; i < x.size(); ++i) {
        by_table.push_back(static_cast<double>(x[i]) + static_cast<double>(table[i % 12]));
        by_factor.push_back(static_cast<double>(x[i]) * static_cast<double>(factor[i % 12 / 4]) -
                            static_cast<double>(table[i % 12 / 4]));
    }
    CHECK(
        worst(made_by(onnx_model().weight("table", {1, 3, 4}, table).node("Add", {"table", "x"}, {"y"}), {-1, 3, 4}, x),
              by_table) < 1e-6);
    onnx_model f;
    f.weight("f", {3, 1}, factor)
        .weight("g", {3, 1}, {table.begin(), table.begin() + 3})
        .node("Mul", {"x", "f"}, {"p"})
        .node("Sub", {"p", "g"}, {"y"});
    CHECK(worst(made_by(f, {-1, 3, 4}, x), by_factor) < 1e-6);

    onnx_model p;
    p.list("pads", {0, 1, 0, 0, 0, 2}).node("Pad", {"x", "pads"}, {"y"});
    numbers padded;
    for (std::size_t n = 0; n < 2; ++n) {
        for (std::size_t r = 0; r < 4; ++r) {
            for (std::size_t c = 0; c < 6; ++c) {
                padded.push_back(r == 0 || c > 3 ? 0.0F : x[n * 12 + (r - 1) * 4 + c]);
            }
        }
    }
    CHECK(made_by(p, {-1, 3, 4}, x) == padded);
    onnx_model b;
    b.list("to", {1, 3, 2, 4})
        .list("axis", {2})
        .node("Unsqueeze", {"x", "axis"}, {"u"})
        .node("Expand", {"u", "to"}, {"y"});
    numbers repeated;
    for (std::size_t r = 0; r < 6; ++r) {
        for (int twice = 0; twice < 2; ++twice) {
            repeated.insert(repeated.end(), x.begin() + static_cast<std::ptrdiff_t>(r * 4),
                            x.begin() + static_cast<std::ptrdiff_t>(r * 4 + 4));
        }
    }
    CHECK(made_by(b, {-1, 3, 4}, x) == repeated);
}

TEST_CASE("onnx: norms and reductions") {
    const numbers x = some(2 * 4 * 3 * 5, 9);
    const numbers gamma = some(5, 2);
    const numbers beta = some(5, 3);
    const auto at = [&](std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
        return static_cast<double>(x[((n * 4 + c) * 3 + h) * 5 + w]);
    };
    doubles layer;
    doubles batch;
    doubles instance;
    doubles grouped;
    doubles means;
    doubles last;
    for (std::size_t n = 0; n < 2; ++n) {
        for (std::size_t c = 0; c < 4; ++c) {
            double all = 0;
            for (std::size_t h = 0; h < 3; ++h) {
                double m = 0;
                double v = 0;
                for (std::size_t w = 0; w < 5; ++w) {
                    m += at(n, c, h, w) / 5;
                    all += at(n, c, h, w) / 15;
                }
                for (std::size_t w = 0; w < 5; ++w) {
                    v += (at(n, c, h, w) - m) * (at(n, c, h, w) - m) / 5;
                }
                double total = 0;
                for (std::size_t w = 0; w < 5; ++w) {
                    layer.push_back((at(n, c, h, w) - m) / std::sqrt(v + 1e-3) * static_cast<double>(gamma[w]) +
                                    static_cast<double>(beta[w]));
                    total += std::exp(at(n, c, h, w));
                    batch.push_back((at(n, c, h, w) - static_cast<double>(beta[c])) /
                                        std::sqrt(0.5 + static_cast<double>(c) + 1e-5) * static_cast<double>(gamma[c]) +
                                    static_cast<double>(beta[c + 1]));
                }
                for (std::size_t w = 0; w < 5; ++w) {
                    last.push_back(at(n, c, h, w) - std::log(total));
                }
            }
            means.push_back(all);
            double v = 0;
            double both = 0;
            double v2 = 0;
            const std::size_t other = c ^ 1U;
            for (std::size_t k = 0; k < 15; ++k) {
                both += (at(n, c, k / 5, k % 5) + at(n, other, k / 5, k % 5)) / 30;
            }
            for (std::size_t k = 0; k < 15; ++k) {
                v += std::pow(at(n, c, k / 5, k % 5) - all, 2) / 15;
                v2 +=
                    (std::pow(at(n, c, k / 5, k % 5) - both, 2) + std::pow(at(n, other, k / 5, k % 5) - both, 2)) / 30;
            }
            for (std::size_t k = 0; k < 15; ++k) {
                const double y = at(n, c, k / 5, k % 5);
                instance.push_back((y - all) / std::sqrt(v + 1e-5) * static_cast<double>(gamma[c]) +
                                   static_cast<double>(beta[c]));
                grouped.push_back((y - both) / std::sqrt(v2 + 1e-5) * static_cast<double>(gamma[c]) +
                                  static_cast<double>(beta[c]));
            }
        }
    }
    const onnx_extents e{-1, 4, 3, 5};
    onnx_model w;
    w.weight("g5", {5}, gamma)
        .weight("b5", {5}, beta)
        .weight("g", {4}, {gamma.begin(), gamma.begin() + 4})
        .weight("b", {4}, {beta.begin(), beta.begin() + 4});
    w.weight("next", {4}, {beta.begin() + 1, beta.end()}).weight("var", {4}, {0.5F, 1.5F, 2.5F, 3.5F});
    CHECK(worst(made_by(onnx_model(w).node("LayerNormalization", {"x", "g5", "b5"}, {"y"}, {{"epsilon", 1e-3}}), e, x),
                layer) < 2e-6);
    CHECK(worst(made_by(onnx_model(w).node("BatchNormalization", {"x", "g", "next", "b", "var"}, {"y"}), e, x), batch) <
          2e-6);
    CHECK(worst(made_by(onnx_model(w).node("InstanceNormalization", {"x", "g", "b"}, {"y"}), e, x), instance) < 3e-6);
    onnx_model g = w;
    g.opset = 21;
    CHECK(worst(made_by(g.node("GroupNormalization", {"x", "g", "b"}, {"y"}, {{"num_groups", 2}}), e, x), grouped) <
          3e-6);
    CHECK(worst(made_by(onnx_model().node("LogSoftmax", {"x"}, {"y"}), e, x), last) < 2e-6);
    onnx_model since;
    since.list("axes", {2, 3}).node("ReduceMean", {"x", "axes"}, {"y"}, {{"keepdims", 0}});
    CHECK(worst(made_by(since, e, x), means) < 2e-6);
    onnx_model before;
    before.opset = 17;
    before.node("ReduceMean", {"x"}, {"y"}, {{"axes", indices{-1, 2}}});
    CHECK(worst(made_by(before, e, x), means) < 2e-6);
    doubles largest;
    for (std::size_t n = 0; n < 2; ++n) {
        for (std::size_t k = 0; k < 15; ++k) {
            double most = -10;
            for (std::size_t c = 0; c < 4; ++c) {
                most = std::max(most, at(n, c, k / 5, k % 5));
            }
            largest.push_back(most);
        }
    }
    CHECK(worst(made_by(onnx_model().list("axes", {1}).node("ReduceMax", {"x", "axes"}, {"y"}), e, x), largest) == 0);
}

TEST_CASE("onnx: images made larger") {
    const numbers x = some(2 * 2 * 2 * 3, 9);
    onnx_model m;
    m.weight("scales", {4}, {1, 1, 2, 3})
        .node("Resize", {"x", "", "scales"}, {"y"},
              {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}});
    numbers expected;
    for (std::size_t c = 0; c < 4; ++c) {
        for (std::size_t h = 0; h < 4; ++h) {
            for (std::size_t w = 0; w < 9; ++w) {
                expected.push_back(x[c * 6 + h / 2 * 3 + w / 3]);
            }
        }
    }
    CHECK(made_by(m, {-1, 2, 2, 3}, x) == expected);
}
