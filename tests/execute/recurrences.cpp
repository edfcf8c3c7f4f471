// SPDX-License-Identifier: Apache-2.0
// GRUs, and recurrences in both directions, against their formulas written down again, and their gradients against
// finite differences.
#include "support/random_strategy.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/lstm.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

namespace ts = tessera;
using numbers = std::vector<double>;

constexpr int samples = 3;
constexpr int steps = 4;
constexpr int channels = 3;
constexpr int hidden = 5;

struct in : ts::linear<3 * hidden> {};
struct again : ts::linear<3 * hidden> {};
struct again_plain : ts::linear<3 * hidden, ts::no_bias> {};
struct back_in : ts::linear<4 * hidden> {};
struct back_again : ts::linear<4 * hidden, ts::no_bias> {};

using cell = ts::gru_cell<hidden, in, again>;
using plain_cell = ts::gru_cell<hidden, in, again_plain>;
using back_cell = ts::lstm_cell<hidden, back_in, back_again>;

template <class... Cells>
struct net : ts::sequential<ts::sequence<steps, channels>, ts::gru<steps, Cells...>, ts::cross_entropy> {};

struct data {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = samples;
};
data some(int classes) {
    data d;
    for (int i = 0; i < samples * steps * channels; ++i) {
        d.inputs.push_back(static_cast<float>(ts::op::mix(static_cast<std::uint64_t>(i)) % 200) / 100 - 1);
    }
    for (int i = 0; i < samples * steps; ++i) {
        d.labels.push_back(i % classes);
    }
    return d;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// w x + b of one sample; no b where it is empty.
numbers affine(const std::vector<float>& w, const std::vector<float>& b, const numbers& x) {
    numbers y(w.size() / x.size(), 0);
    for (std::size_t o = 0; o < y.size(); ++o) {
        y[o] = b.empty() ? 0 : static_cast<double>(b[o]);
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[o] += static_cast<double>(w[o * x.size() + i]) * x[i];
        }
    }
    return y;
}

numbers gru_step(const numbers& given, const numbers& kept, const numbers& state) {
    numbers next(hidden);
    for (std::size_t i = 0; i < hidden; ++i) {
        const double reset = sigmoid(given[i] + kept[i]);
        const double update = sigmoid(given[hidden + i] + kept[hidden + i]);
        const double candidate = std::tanh(given[2 * hidden + i] + reset * kept[2 * hidden + i]);
        next[i] = (1 - update) * candidate + update * state[i];
    }
    return next;
}

numbers at(const data& d, int n, int t) {
    const auto first = d.inputs.begin() + (n * steps + t) * channels;
    return {first, first + channels};
}

template <class Recurrent, class T>
std::vector<numbers> gru_states(T& t, const data& d, int n) {
    std::vector<float> bias;
    if constexpr (std::is_same_v<Recurrent, again>) {
        bias = t.template bias<again>();
    }
    std::vector<numbers> all;
    numbers state(hidden, 0);
    for (int s = 0; s < steps; ++s) {
        const numbers given = affine(t.template weights<in>(), t.template bias<in>(), at(d, n, s));
        state = gru_step(given, affine(t.template weights<Recurrent>(), bias, state), state);
        all.push_back(state);
    }
    return all;
}

/// An LSTM from the last step to the first.
template <class T>
std::vector<numbers> lstm_states_backward(T& t, const data& d, int n) {
    std::vector<numbers> all(steps);
    numbers state(hidden, 0);
    numbers memory(hidden, 0);
    for (int s = steps; s-- > 0;) {
        const numbers given = affine(t.template weights<back_in>(), t.template bias<back_in>(), at(d, n, s));
        const numbers kept = affine(t.template weights<back_again>(), {}, state);
        for (std::size_t i = 0; i < hidden; ++i) {
            const auto gate = [&](std::size_t g) { return given[g * hidden + i] + kept[g * hidden + i]; };
            memory[i] = sigmoid(gate(1)) * memory[i] + sigmoid(gate(0)) * std::tanh(gate(2));
            state[i] = sigmoid(gate(3)) * std::tanh(memory[i]);
        }
        all[ts::to_size(s)] = state;
    }
    return all;
}

template <class T, class Expected>
void hold_prediction(T& t, const data& d, std::size_t width, Expected expected) {
    const ts::prediction found = t.predict(d);
    REQUIRE(found.extents == ts::make_shape(samples, steps, static_cast<ts::index_t>(width)));
    for (int n = 0; n < samples; ++n) {
        for (int s = 0; s < steps; ++s) {
            const numbers y = expected(n, s);
            for (std::size_t i = 0; i < width; ++i) {
                const std::size_t place = ts::to_size(n * steps + s) * width + i;
                CHECK(static_cast<double>(found.values[place]) == doctest::Approx(y[i]).epsilon(1e-5).scale(1));
            }
        }
    }
}

/// Some elements of every gradient against the slope of the loss.
template <class T>
void hold_gradients(T& t, const data& d) {
    t.set_learning_rate(0);
    t.step(d);
    for (int p = 0; p < t.graph().parameter_count; ++p) {
        const std::vector<float> gradient = t.values().gradient(p);
        const std::vector<float> value = t.values().parameter(p);
        for (std::size_t i = 0; i < value.size(); i += 7) {
            const auto loss_at = [&](float x) {
                std::vector<float> moved = value;
                moved[i] = x;
                t.values().set_parameter(p, moved);
                return t.evaluate(d).loss;
            };
            const double slope = (loss_at(value[i] + 0.01F) - loss_at(value[i] - 0.01F)) / 0.02;
            CHECK(static_cast<double>(gradient[i]) == doctest::Approx(slope).epsilon(0.02).scale(0.05));
        }
        t.values().set_parameter(p, value);
    }
}

template <class Net, class B, class Test>
void under_strategies(Test test) {
    const ts::graph g = ts::describe<Net>(samples);
    CHECK(g.view().op_count == Net::op_count);
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const ts::strategy s =
            seed == 0 ? ts::strategy(g.view()) : test_support::random_strategy(g.view(), 2, seed, seen);
        ts::trainer<Net, B> t(ts::local_devices(2), s, samples, ts::sgd{}, {.seed = seed + 1, .keep_gradients = true});
        for (int p = 0; p < g.view().parameter_count; ++p) { // biases that are not 0
            std::vector<float> values = t.values().parameter(p);
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] += static_cast<float>(ts::op::mix(i + seed) % 100) / 200 - 0.25F;
            }
            t.values().set_parameter(p, values);
        }
        test(t);
    }
}

template <class B>
void hold() {
    under_strategies<net<cell>, B>([](auto& t) {
        const data d = some(hidden);
        hold_prediction(t, d, hidden, [&](int n, int s) { return gru_states<again>(t, d, n)[ts::to_size(s)]; });
        hold_gradients(t, d);
    });
    under_strategies<net<plain_cell>, B>([](auto& t) {
        const data d = some(hidden);
        hold_prediction(t, d, hidden, [&](int n, int s) { return gru_states<again_plain>(t, d, n)[ts::to_size(s)]; });
        hold_gradients(t, d);
    });
    under_strategies<net<ts::both_ways<cell, back_cell>>, B>([](auto& t) {
        const data d = some(2 * hidden);
        hold_prediction(t, d, std::size_t{2} * hidden, [&](int n, int s) {
            numbers y = gru_states<again>(t, d, n)[ts::to_size(s)];
            const numbers back = lstm_states_backward(t, d, n)[ts::to_size(s)];
            y.insert(y.end(), back.begin(), back.end());
            return y;
        });
        hold_gradients(t, d);
    });
}

} // namespace

TEST_CASE("a GRU, and recurrences in both directions, compute their formulas and the gradients of these") {
    hold<ts::reference::backend>();
#ifdef TESSERA_TEST_HOST
    hold<ts::host::backend>();
#endif
}
