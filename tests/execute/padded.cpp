// SPDX-License-Identifier: Apache-2.0
// Padded sequences: within its length, a sample has the numbers that it has alone and without padding.
#include "tessera/part/padded.hpp"
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/residual.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <vector>

namespace {

namespace ts = tessera;

constexpr int longest = 5;
constexpr int samples = 6;

struct words : ts::embedding<23, 12> {};
struct query : ts::linear<12> {};
struct key : ts::linear<12> {};
struct value : ts::linear<12> {};
struct merge : ts::linear<12> {};
struct logits : ts::linear<5> {};
template <int Length, class Weights>
struct net : ts::sequential<ts::tokens<Length>, words,
                            ts::repeat<2, ts::residual<ts::self_attention<3, query, key, value, merge, Weights>>>,
                            logits, ts::cross_entropy> {};
using padded = net<longest, ts::with_lengths<ts::padded_softmax<>>>;

/// Tokens of samples of the lengths 1 to 5, behind them rubbish.
struct padded_data {
    std::vector<std::int32_t> lengths, tokens;

    explicit padded_data(std::uint64_t seed) {
        for (int n = 0; n < samples; ++n) {
            lengths.push_back(1 +
                              static_cast<std::int32_t>(ts::op::mix(seed + static_cast<std::uint64_t>(n)) % longest));
            for (int t = 0; t < longest; ++t) {
                const auto i = static_cast<std::uint64_t>(n * longest + t);
                tokens.push_back(static_cast<std::int32_t>(ts::op::mix(seed * 1000 + i) % 23));
            }
        }
    }
};

/// What a network of exactly `Length` positions says of a sample, with the parameters of another trainer.
template <int Length, class T>
std::vector<float> alone(T& other, std::span<const std::int32_t> tokens) {
    if constexpr (Length > 0) {
        if (static_cast<int>(tokens.size()) == Length) {
            using whole = net<Length, ts::softmax<>>;
            const ts::graph g = ts::describe<whole>(1);
            ts::trainer<whole, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), 1, ts::sgd{});
            for (int p = 0; p < g.view().parameter_count; ++p) {
                t.values().set_parameter(p, other.values().parameter(p));
            }
            const ts::input_data in(tokens);
            return t.predict(std::span(&in, 1)).values;
        }
        return alone<Length - 1>(other, tokens);
    } else {
        return {};
    }
}

template <class B>
void hold(const ts::strategy& s, std::uint64_t seed) {
    ts::trainer<padded, B> t(ts::local_devices(4), s, samples, ts::sgd{});
    const padded_data d(seed);
    const ts::input_data in[] = {std::span<const std::int32_t>(d.tokens), std::span<const std::int32_t>(d.lengths)};
    const ts::prediction all = t.predict(std::span<const ts::input_data>(in));
    REQUIRE(all.extents == ts::make_shape(samples, longest, 5));
    for (std::size_t n = 0; n < samples; ++n) {
        const auto length = ts::to_size(d.lengths[n]);
        const auto one = alone<longest>(t, std::span(d.tokens).subspan(n * longest, length));
        REQUIRE(one.size() == length * 5);
        for (std::size_t i = 0; i < one.size(); ++i) {
            CHECK(all.values[n * longest * 5 + i] == doctest::Approx(one[i]).epsilon(1e-4).scale(1));
        }
    }
}

} // namespace

TEST_CASE("what is behind a sample's length changes nothing within it, under any strategy") {
    const ts::graph g = ts::describe<padded>(samples);
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const ts::strategy s = test_support::random_strategy(g.view(), 4, seed, seen);
        hold<ts::reference::backend>(s, seed);
#ifdef TESSERA_TEST_HOST
        hold<ts::host::backend>(s, seed + 100);
#endif
    }
}

TEST_CASE("a sample without positions is no fault, one longer than the sequence is refused") {
    const ts::graph g = ts::describe<padded>(samples);
    ts::trainer<padded, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), samples, ts::sgd{});
    padded_data d(1);
    const auto predict = [&] {
        const ts::input_data in[] = {std::span<const std::int32_t>(d.tokens), std::span<const std::int32_t>(d.lengths)};
        return t.predict(std::span<const ts::input_data>(in));
    };
    d.lengths[2] = 0;
    for (const float x : predict().values) {
        CHECK(std::isfinite(x));
    }
    d.lengths[2] = longest + 1;
    const std::string said = test_support::message_of(predict);
    INFO(said);
    CHECK(test_support::contains(said, "the input lengths has 6 for sample 2"));
    CHECK(test_support::contains(said, "padded_attention"));
    CHECK(test_support::contains(said, "takes integers from 0 to 5"));
}
