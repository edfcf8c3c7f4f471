// SPDX-License-Identifier: Apache-2.0
// Latent attention computes what its formulas say, position by position and head by head; and says what it has.
#include "tessera/part/latent_attention.hpp"
#include "tessera/backend/reference/network.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/losses.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/rotary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;

constexpr int samples = 2;
constexpr int positions = 5;
constexpr int channels = 7;
constexpr int heads = 3;
constexpr int plain = 4;
constexpr int turned = 2;
constexpr int width = plain + turned;
constexpr int value_width = 5;
constexpr int query_rank = 6;
constexpr int rank = 8;
constexpr int outputs = 7;

struct query_down : ts::linear<query_rank, ts::no_bias> {};
struct query_norm : ts::rms_norm<> {};
struct query : ts::linear<heads * plain, ts::no_bias> {};
struct turned_query : ts::linear<heads * turned, ts::no_bias> {};
struct down : ts::linear<rank, ts::no_bias> {};
struct norm : ts::rms_norm<> {};
struct key : ts::linear<heads * plain, ts::no_bias> {};
struct turned_key : ts::linear<turned, ts::no_bias> {};
struct value : ts::linear<heads * value_width, ts::no_bias> {};
struct merge : ts::linear<outputs, ts::no_bias> {};
template <class TurnedQuery, class TurnedKey>
using attention = ts::latent_attention<heads, ts::branch<query_down, query_norm>, query, TurnedQuery,
                                       ts::branch<down, norm>, key, TurnedKey, value, merge, ts::softmax<ts::causal>>;
using whole = attention<ts::branch<turned_query, ts::rotary<ts::heads<heads>>>, ts::branch<turned_key, ts::rotary<>>>;
struct network : ts::sequential<ts::sequence<positions, channels>, whole, ts::mse_loss> {};

using numbers = std::vector<double>;

/// y = W x of one position.
numbers product(const numbers& weights, const numbers& x) {
    numbers y(weights.size() / x.size());
    for (std::size_t o = 0; o < y.size(); ++o) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[o] += weights[o * x.size() + i] * x[i];
        }
    }
    return y;
}
numbers normed(numbers x) {
    double squares = 0;
    for (const double each : x) {
        squares += each * each;
    }
    for (double& each : x) {
        each /= std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    }
    return x;
}
/// One pair of channels, which turns by the position itself.
numbers turn(const double* x, int position) {
    const double c = std::cos(position);
    const double s = std::sin(position);
    return {x[0] * c - x[1] * s, x[0] * s + x[1] * c};
}

} // namespace

TEST_CASE("latent attention: scores of two parts, keys that are turned alike for all heads, values of a width of their "
          "own") {
    const ts::graph g = ts::describe<network>(samples);
    CHECK(static_cast<int>(g.ops.size()) == network::op_count);
    static_assert(ts::describe<network, samples>().op_count == network::op_count);
    ts::reference::network one(g.view());
    one.initialize(5);
    std::vector<float> x(ts::to_size(samples * positions * channels));
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(std::sin(3.0 * static_cast<double>(i)));
    }
    const std::vector<float> aim(ts::to_size(samples * positions * outputs));
    one.set(0, std::span<const float>(x));
    one.set(g.ops.back().inputs[1], std::span<const float>(aim));
    one.evaluate();
    const auto weights = [&](const std::string& name) {
        for (const ts::op_node& op : g.ops) {
            if (op.name == name) {
                return one.parameters[ts::to_size(op.parameters[0])];
            }
        }
        throw ts::error("no layer " + name);
    };
    const numbers made = one.values[ts::to_size(g.ops.back().inputs[0])];
    double largest = 0;
    for (int n = 0; n < samples; ++n) {
        std::vector<numbers> q;
        std::vector<numbers> tq;
        std::vector<numbers> k;
        std::vector<numbers> tk;
        std::vector<numbers> v;
        for (int t = 0; t < positions; ++t) {
            const float* const at = x.data() + (n * positions + t) * channels;
            const numbers in(at, at + channels);
            const numbers from = normed(product(weights("query_down"), in));
            q.push_back(product(weights("query"), from));
            tq.push_back(product(weights("turned_query"), from));
            const numbers latent = normed(product(weights("down"), in));
            k.push_back(product(weights("key"), latent));
            v.push_back(product(weights("value"), latent));
            tk.push_back(product(weights("turned_key"), in));
        }
        for (int t = 0; t < positions; ++t) {
            numbers mixed(heads * value_width);
            for (int h = 0; h < heads; ++h) {
                numbers score(ts::to_size(t + 1));
                double sum = 0;
                const numbers own = turn(&tq[ts::to_size(t)][ts::to_size(h * turned)], t);
                for (int s = 0; s <= t; ++s) {
                    const numbers other = turn(tk[ts::to_size(s)].data(), s);
                    double z = own[0] * other[0] + own[1] * other[1];
                    for (int c = 0; c < plain; ++c) {
                        z += q[ts::to_size(t)][ts::to_size(h * plain + c)] *
                             k[ts::to_size(s)][ts::to_size(h * plain + c)];
                    }
                    score[ts::to_size(s)] = std::exp(z / std::sqrt(width));
                    sum += score[ts::to_size(s)];
                }
                for (int s = 0; s <= t; ++s) {
                    for (int c = 0; c < value_width; ++c) {
                        mixed[ts::to_size(h * value_width + c)] +=
                            score[ts::to_size(s)] / sum * v[ts::to_size(s)][ts::to_size(h * value_width + c)];
                    }
                }
            }
            const numbers y = product(weights("merge"), mixed);
            for (int c = 0; c < outputs; ++c) {
                const double found = made[ts::to_size((n * positions + t) * outputs + c)];
                CHECK(found == doctest::Approx(y[ts::to_size(c)]).epsilon(1e-9));
                largest = std::max(largest, std::abs(found));
            }
        }
    }
    CHECK(largest > 0.01); // there is something to compare
}

TEST_CASE("latent attention says what it cannot split by heads") {
    struct wide : ts::linear<heads * turned + 1, ts::no_bias> {};
    struct wrong : ts::sequential<ts::sequence<positions, channels>, attention<wide, turned_key>, ts::mse_loss> {};
    ts::graph_builder b;
    ts::detail::build_whole<wrong>(b, samples);
    CHECK(b.refused.broken == ts::rule::heads_do_not_divide_channels);
    CHECK(b.refused.found == heads * turned + 1);
    CHECK(b.refused.needed == heads);
    CHECK(b.refused_at == "latent_attention");
}
