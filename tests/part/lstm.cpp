// SPDX-License-Identifier: Apache-2.0
// LSTMs against a plain loop over their equations, with and without biases: the loss, and its gradients by finite
// differences.
#include "tessera/part/lstm.hpp"
#include "tessera/backend/reference/network.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

namespace ts = tessera;

constexpr int samples = 2;
constexpr int inputs = 5;
constexpr int hidden = 3;

template <int Cell, bool FromInput, bool Bias>
struct gates : ts::linear<4 * hidden> {};
template <int Cell, bool FromInput>
struct gates<Cell, FromInput, false> : ts::linear<4 * hidden, ts::no_bias> {};

template <int Cell, bool InputBias, bool HiddenBias>
using cell = ts::lstm_cell<hidden, gates<Cell, true, InputBias>, gates<Cell, false, HiddenBias>>;
template <int Steps, bool InputBias, bool HiddenBias>
struct stacked : ts::sequential<ts::sequence<Steps, inputs>,
                                ts::lstm<Steps, cell<0, InputBias, HiddenBias>, cell<1, InputBias, HiddenBias>>,
                                ts::cross_entropy> {};

using numbers = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// x[steps][width] of one sample becomes what the cell makes of it; its parameters come in turn: weights, then bias
/// where there is one.
std::vector<numbers> run_cell(const std::vector<numbers>& x, const numbers*& parameter, bool input_bias,
                              bool hidden_bias) {
    const numbers none(4 * hidden);
    const numbers& w = *parameter++;
    const numbers& b = input_bias ? *parameter++ : none;
    const numbers& u = *parameter++;
    const numbers& c = hidden_bias ? *parameter++ : none;
    numbers h(hidden);
    numbers state(hidden);
    std::vector<numbers> out;
    for (const numbers& now : x) {
        numbers gate(4 * hidden);
        for (std::size_t g = 0; g < gate.size(); ++g) {
            gate[g] = b[g] + c[g];
            for (std::size_t i = 0; i < now.size(); ++i) {
                gate[g] += w[g * now.size() + i] * now[i];
            }
            for (std::size_t i = 0; i < hidden; ++i) {
                gate[g] += u[g * hidden + i] * h[i];
            }
        }
        for (std::size_t i = 0; i < hidden; ++i) {
            state[i] = sigmoid(gate[hidden + i]) * state[i] + sigmoid(gate[i]) * std::tanh(gate[2 * hidden + i]);
            h[i] = sigmoid(gate[3 * hidden + i]) * std::tanh(state[i]);
        }
        out.push_back(h);
    }
    return out;
}

double loss_by_loop(int steps, const std::vector<float>& x, const std::vector<std::int32_t>& labels,
                    const std::vector<numbers>& parameters, bool input_bias, bool hidden_bias) {
    double sum = 0;
    for (int n = 0; n < samples; ++n) {
        std::vector<numbers> now;
        for (int t = 0; t < steps; ++t) {
            const auto* const first = x.data() + (n * steps + t) * inputs;
            now.emplace_back(first, first + inputs);
        }
        const numbers* parameter = parameters.data();
        now = run_cell(now, parameter, input_bias, hidden_bias);
        now = run_cell(now, parameter, input_bias, hidden_bias);
        for (int t = 0; t < steps; ++t) {
            double total = 0;
            for (const double z : now[ts::to_size(t)]) {
                total += std::exp(z);
            }
            const auto label = ts::to_size(labels[ts::to_size(n * steps + t)]);
            sum += std::log(total) - now[ts::to_size(t)][label];
        }
    }
    return sum / (samples * steps);
}

template <int Steps, bool InputBias, bool HiddenBias>
void check() {
    CAPTURE(Steps);
    CAPTURE(InputBias);
    CAPTURE(HiddenBias);
    using network = stacked<Steps, InputBias, HiddenBias>;
    const ts::graph g = ts::describe<network>(samples);
    CHECK(static_cast<int>(g.ops.size()) == network::op_count);
    std::vector<float> x;
    std::vector<std::int32_t> labels;
    for (std::uint64_t i = 0; i < samples * Steps * inputs; ++i) {
        x.push_back(static_cast<float>(ts::op::mix(i) % 2001) / 500.0F - 2.0F);
    }
    for (std::uint64_t i = 0; i < samples * Steps; ++i) {
        labels.push_back(static_cast<std::int32_t>(ts::op::mix(i + 99) % hidden));
    }
    ts::reference::network n(g.view());
    n.initialize(7);
    n.set(0, std::span<const float>(x));
    for (int t = 1; t < static_cast<int>(g.tensors.size()); ++t) {
        if (g.tensors[ts::to_size(t)].producer < 0) {
            n.set(t, std::span<const std::int32_t>(labels));
        }
    }
    REQUIRE(n.parameters.size() == (InputBias ? 4U : 2U) + (HiddenBias ? 4U : 2U));
    const auto by_loop = [&] { return loss_by_loop(Steps, x, labels, n.parameters, InputBias, HiddenBias); };
    CHECK(n.differentiate({}) == doctest::Approx(by_loop()).epsilon(1e-9));
    for (std::size_t p = 0; p < n.parameters.size(); ++p) {
        CAPTURE(p);
        for (std::size_t i = 0; i < n.parameters[p].size(); ++i) {
            double& w = n.parameters[p][i];
            const double before = w;
            constexpr double step = 1e-5;
            w = before + step;
            const double above = by_loop();
            w = before - step;
            const double below = by_loop();
            w = before;
            const double expected = (above - below) / (2 * step);
            CHECK(std::abs(n.gradients[p][i] - expected) < 1e-8);
        }
    }
}

} // namespace

TEST_CASE("LSTMs compute their equations, whichever biases there are") {
    check<1, true, true>();
    check<4, true, true>();
    check<4, false, true>();
    check<4, true, false>();
    check<4, false, false>();
}
