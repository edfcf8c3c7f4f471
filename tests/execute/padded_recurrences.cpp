// SPDX-License-Identifier: Apache-2.0
// Recurrences over padded sequences: within its length a sample has the states that it has alone and without padding,
// behind it zeros; what goes on from its last state does so from that within its length; gradients are the slopes of
// the loss.
#include "support/random_strategy.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/padded.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <span>
#include <vector>

namespace {

namespace ts = tessera;

constexpr int longest = 4;
constexpr int samples = 6;
constexpr int channels = 3;
constexpr int hidden = 4;

template <int Cell, int Gates, bool Bias>
struct in : ts::linear<Gates * hidden> {};
template <int Cell, int Gates, bool Bias>
struct again : ts::linear<Gates * hidden> {};
template <int Cell, int Gates>
struct again<Cell, Gates, false> : ts::linear<Gates * hidden, ts::no_bias> {};
template <int Cell, bool Bias, class Before = void>
using gru = ts::gru_cell<hidden, in<Cell, 3, true>, again<Cell, 3, Bias>, Before>;
template <int Cell, bool Bias, class Before = void>
using lstm = ts::lstm_cell<hidden, in<Cell, 4, true>, again<Cell, 4, Bias>, Before>;

/// Of exactly Steps positions, and the same padded.
template <int Steps, class... Cells>
struct alone : ts::sequential<ts::sequence<Steps, channels>, ts::gru<Steps, Cells...>, ts::cross_entropy> {};
template <class... Cells>
struct padded
    : ts::sequential<ts::sequence<longest, channels>, ts::with_lengths<ts::gru<longest, Cells...>>, ts::cross_entropy> {
};

/// What follows a recurrence starts from where it ended: two steps of another sequence.
struct source;
struct target;
struct truth;
struct scores;
struct encoded;
struct loss;
template <class Read, int Steps, class Decoder, class... More>
struct translator
    : ts::dag<ts::input<source, ts::sequence<Steps, channels>>, More..., ts::input<target, ts::sequence<2, channels>>,
              ts::input<truth, ts::tokens<2>>, ts::chain<encoded, source, Read>,
              ts::chain<scores, target, ts::lstm<2, Decoder>>, ts::node<loss, ts::cross_entropy, scores, truth>> {};

struct padded_data {
    std::vector<float> x;
    std::vector<std::int32_t> lengths;
    std::vector<std::int32_t> labels;

    explicit padded_data(std::uint64_t seed, int width, int least) {
        for (std::uint64_t i = 0; i < samples * longest * channels; ++i) {
            x.push_back(static_cast<float>(ts::op::mix(seed * 1000 + i) % 200) / 100 - 1);
        }
        for (std::uint64_t n = 0; n < samples; ++n) {
            lengths.push_back(least +
                              static_cast<std::int32_t>((seed + n) % (longest + 1 - static_cast<unsigned>(least))));
        }
        for (std::uint64_t i = 0; i < samples * longest; ++i) {
            labels.push_back(static_cast<std::int32_t>(ts::op::mix(seed + i) % static_cast<unsigned>(width)));
        }
    }
    std::vector<ts::input_data> inputs() const {
        return {std::span<const float>(x), std::span<const std::int32_t>(lengths),
                std::span<const std::int32_t>(labels)};
    }
};

template <class T>
void shake_parameters(T& t, std::uint64_t seed) {
    for (int p = 0; p < t.graph().parameter_count; ++p) { // biases that are not 0
        std::vector<float> values = t.values().parameter(p);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] += static_cast<float>(ts::op::mix(i + seed) % 100) / 100 - 0.5F;
        }
        t.values().set_parameter(p, values);
    }
}

/// The states of one sample of exactly `Steps` positions on one device of the reference.
template <int Steps, class... Cells, class T>
std::vector<float> states_alone(T& other, std::span<const float> x) {
    if constexpr (Steps > 0) {
        if (static_cast<int>(x.size()) == Steps * channels) {
            using whole = alone<Steps, Cells...>;
            const ts::graph g = ts::describe<whole>(1);
            ts::trainer<whole, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), 1, ts::sgd{});
            for (int p = 0; p < g.view().parameter_count;
                 ++p) { // where one step needs fewer parameters, they come first
                for (int q = 0; q < other.graph().parameter_count; ++q) {
                    if (g.view().parameters[p].layer == other.graph().parameters[q].layer &&
                        g.view().parameters[p].slot == other.graph().parameters[q].slot) {
                        t.values().set_parameter(p, other.values().parameter(q));
                    }
                }
            }
            const ts::input_data one(x);
            return t.predict(std::span(&one, 1)).values;
        }
        return states_alone<Steps - 1, Cells...>(other, x);
    } else {
        return {};
    }
}

template <class T>
void hold_gradients(T& t, const std::vector<ts::input_data>& inputs) {
    t.set_learning_rate(0);
    t.step(std::span<const ts::input_data>(inputs));
    for (int p = 0; p < t.graph().parameter_count; ++p) {
        const std::vector<float> gradient = t.values().gradient(p);
        const std::vector<float> value = t.values().parameter(p);
        for (std::size_t i = 0; i < value.size(); i += 5) {
            const auto loss_at = [&](float w) {
                std::vector<float> moved = value;
                moved[i] = w;
                t.values().set_parameter(p, moved);
                return t.values().evaluate(std::span<const ts::input_data>(inputs)).loss;
            };
            const double slope = (loss_at(value[i] + 0.01F) - loss_at(value[i] - 0.01F)) / 0.02;
            CHECK(static_cast<double>(gradient[i]) == doctest::Approx(slope).epsilon(0.02).scale(0.05));
        }
        t.values().set_parameter(p, value);
    }
}

template <class B, class... Cells>
void hold(std::size_t width) {
    using net = padded<Cells...>;
    const ts::graph g = ts::describe<net>(samples);
    CHECK(g.view().op_count == net::op_count);
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const ts::strategy s =
            seed == 0 ? ts::strategy(g.view()) : test_support::random_strategy(g.view(), 3, seed, seen);
        ts::trainer<net, B> t(ts::local_devices(3), s, samples, ts::sgd{}, {.seed = seed + 1, .keep_gradients = true});
        shake_parameters(t, seed);
        const padded_data d(seed, static_cast<int>(width), 0);
        const auto inputs = d.inputs();
        const ts::prediction all = t.predict(std::span<const ts::input_data>(inputs.data(), 2));
        REQUIRE(all.extents == ts::make_shape(samples, longest, static_cast<ts::index_t>(width)));
        for (std::size_t n = 0; n < samples; ++n) {
            const auto length = ts::to_size(d.lengths[n]);
            const auto own = std::span(d.x).subspan(n * longest * channels, length * channels);
            const auto one = states_alone<longest, Cells...>(t, own);
            REQUIRE(one.size() == length * width);
            for (std::size_t i = 0; i < longest * width; ++i) {
                const float expected = i < one.size() ? one[i] : 0;
                CHECK(all.values[n * longest * width + i] == doctest::Approx(expected).epsilon(1e-4).scale(1));
            }
        }
        if (seed < 2) {
            hold_gradients(t, inputs);
        }
    }
}

template <class B>
void hold_all() {
    hold<B, gru<0, true>>(hidden);
    hold<B, gru<0, false>>(hidden);
    hold<B, lstm<0, true>>(hidden);
    hold<B, lstm<0, false>, gru<1, true>>(hidden);
    hold<B, ts::both_ways<lstm<0, true>, gru<1, false>>>(std::size_t{2} * hidden);
    hold<B, ts::both_ways<gru<0, true>, lstm<1, false>>, lstm<2, true>>(hidden);
}

/// What a decoder makes of a source of this length without padding.
template <int Steps, class Encoder, class Decoder, class T>
std::vector<float> decoded_alone(T& other, std::span<const float> x, std::span<const float> y) {
    using net = translator<ts::lstm<Steps, Encoder>, Steps, Decoder>;
    const ts::graph g = ts::describe<net>(1);
    ts::trainer<net, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), 1, ts::sgd{});
    for (int p = 0; p < g.view().parameter_count; ++p) {
        t.values().set_parameter(p, other.values().parameter(p));
    }
    const std::int32_t truths[2] = {};
    const ts::input_data inputs[] = {x, y, std::span<const std::int32_t>(truths)};
    return t.predict(std::span<const ts::input_data>(inputs, 2)).values;
}

template <class B, class Encoder, class Decoder>
void hold_decoder() {
    using net =
        translator<ts::with_lengths<ts::lstm<longest, Encoder>>, longest, Decoder, ts::input<ts::lengths, ts::lengths>>;
    const ts::graph g = ts::describe<net>(samples);
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const ts::strategy s = test_support::random_strategy(g.view(), 2, seed, seen);
        ts::trainer<net, B> t(ts::local_devices(2), s, samples, ts::sgd{}, {.seed = seed + 1});
        shake_parameters(t, seed);
        const padded_data d(seed, hidden, 2);
        const std::vector<float> y(d.x.rbegin(), d.x.rbegin() + samples * 2 * channels);
        const ts::input_data inputs[] = {std::span<const float>(d.x), std::span<const std::int32_t>(d.lengths),
                                         std::span<const float>(y)};
        const ts::prediction all = t.predict(std::span<const ts::input_data>(inputs));
        for (std::size_t n = 0; n < samples; ++n) {
            const auto length = ts::to_size(d.lengths[n]);
            const auto own = std::span(d.x).subspan(n * longest * channels, length * channels);
            const auto next = std::span(y).subspan(n * 2 * channels, std::size_t{2} * channels);
            const std::vector<float> one = length == 2   ? decoded_alone<2, Encoder, Decoder>(t, own, next)
                                           : length == 3 ? decoded_alone<3, Encoder, Decoder>(t, own, next)
                                                         : decoded_alone<4, Encoder, Decoder>(t, own, next);
            REQUIRE(one.size() == std::size_t{2} * hidden);
            for (std::size_t i = 0; i < one.size(); ++i) {
                CHECK(all.values[n * one.size() + i] == doctest::Approx(one[i]).epsilon(1e-4).scale(1));
            }
        }
    }
}

} // namespace

TEST_CASE("padded recurrences have the states of each sample alone, zeros behind it, and the gradients of that") {
    hold_all<ts::reference::backend>();
#ifdef TESSERA_TEST_HOST
    hold_all<ts::host::backend>();
#endif
}

TEST_CASE("a decoder goes on from the state at the end of a sample's length") {
    using from_lstm = lstm<0, true>;
    hold_decoder<ts::reference::backend, from_lstm, lstm<1, true, from_lstm>>();
#ifdef TESSERA_TEST_HOST
    using without_bias = lstm<0, false>;
    hold_decoder<ts::host::backend, without_bias, lstm<1, false, without_bias>>();
#endif
}
