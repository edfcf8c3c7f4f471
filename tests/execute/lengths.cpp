// SPDX-License-Identifier: Apache-2.0
// Networks of any length: one trainer takes batches of several lengths, each with the numbers of a network of exactly
// that length.
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/residual.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

constexpr int longest = 8;
constexpr int samples = 4;

struct words : ts::embedding<23, 12> {};
struct norm : ts::layer_norm<> {};
struct query : ts::linear<12> {};
struct key : ts::linear<12> {};
struct value : ts::linear<12> {};
struct merge : ts::linear<12> {};
struct logits : ts::linear<23> {};
template <ts::index_t Length>
struct net
    : ts::sequential<ts::tokens<Length>, words,
                     ts::repeat<2, ts::residual<norm, ts::self_attention<3, query, key, value, merge,
                                                                         ts::softmax<ts::causal>, ts::dropout<20>>>>,
                     logits, ts::cross_entropy> {};
using any = net<ts::up_to<longest>>;

struct data {
    std::vector<std::int32_t> inputs, labels;
    int size = 0;
};
data some(int count, int length, std::uint64_t seed) {
    data d;
    d.size = count;
    for (int i = 0; i < count * length; ++i) {
        const std::uint64_t x = ts::op::mix(seed * 100 + static_cast<std::uint64_t>(i));
        d.inputs.push_back(static_cast<std::int32_t>(x % 23));
        d.labels.push_back(static_cast<std::int32_t>(x / 23 % 23));
    }
    return d;
}

/// A step of a network of exactly this length, from what another trainer has, must end where that ends.
template <ts::index_t Length, class T>
void hold_step(T& t, std::uint64_t seed, int count) {
    const ts::graph g = ts::describe<net<Length>>(samples);
    ts::trainer<net<Length>, ts::reference::backend> exact(ts::local_devices(1), ts::strategy(g.view()), samples,
                                                           ts::sgd{.learning_rate = 0.5F});
    for (int p = 0; p < g.view().parameter_count; ++p) {
        exact.values().set_parameter(p, t.values().parameter(p));
    }
    const data d = some(count, Length, seed);
    exact.values().resume_after(t.steps(), 1, 0.5); // the masks of this step
    t.values().resume_after(t.steps(), 1, 0.5);
    CHECK(t.evaluate(d).loss == doctest::Approx(exact.evaluate(d).loss).epsilon(1e-5));
    CHECK(t.evaluate(d).samples == count);
    const ts::prediction found = t.predict(d);
    const ts::prediction expected = exact.predict(d);
    REQUIRE(found.extents == expected.extents);
    for (std::size_t i = 0; i < found.values.size(); ++i) {
        CHECK(found.values[i] == doctest::Approx(expected.values[i]).epsilon(1e-4).scale(1));
    }
    CHECK(t.step(d) == doctest::Approx(exact.step(d)).epsilon(1e-5));
    for (int p = 0; p < g.view().parameter_count; ++p) {
        const std::vector<float> mine = t.values().parameter(p);
        const std::vector<float> theirs = exact.values().parameter(p);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            CHECK(mine[i] == doctest::Approx(theirs[i]).epsilon(1e-4).scale(1));
        }
    }
}

template <class B>
void hold(const ts::strategy& s, std::uint64_t seed) {
    ts::trainer<any, B> t(ts::local_devices(4), s, samples, ts::sgd{.learning_rate = 0.5F});
    hold_step<longest>(t, seed, samples);
    hold_step<3>(t, seed + 1, samples);
    hold_step<longest>(t, seed + 2, 3);
    hold_step<3>(t, seed + 3, 2);
    hold_step<1>(t, seed + 4, samples);
}

} // namespace

TEST_CASE("batches of several lengths have the numbers of networks of these lengths, under any strategy") {
    const ts::graph g = ts::describe<any>(samples);
    test_support::coverage seen;
    hold<ts::reference::backend>(ts::strategy(g.view()), 1);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const ts::strategy s = test_support::random_strategy(g.view(), 4, seed, seen);
        hold<ts::reference::backend>(s, 10 * seed);
#ifdef TESSERA_TEST_HOST
        hold<ts::host::backend>(s, 10 * seed + 100);
#endif
    }
}

TEST_CASE("at its longest the network is what it was, and the work grows with the length") {
    const ts::graph g = ts::describe<any>(samples);
    const ts::graph same = ts::with_length(g.view(), longest);
    for (int t = 0; t < g.view().tensor_count; ++t) {
        CHECK(same.view().tensors[t].extents == g.view().tensors[t].extents);
    }
    const ts::graph half = ts::with_length(g.view(), longest / 2);
    const ts::graph exact = ts::describe<net<longest / 2>>(samples);
    for (int t = 0; t < g.view().tensor_count; ++t) {
        CHECK(half.view().tensors[t].extents == exact.view().tensors[t].extents);
    }
}

TEST_CASE("lengths that do not fit are refused") {
    const ts::graph g = ts::describe<any>(samples);
    ts::trainer<any, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), samples, ts::sgd{});
    CHECK(contains(message_of([&] { t.step(some(samples, longest + 1, 1)); }),
                   "sequences of 9 positions; the network takes from 1 to 8"));
    data odd = some(samples, 3, 1);
    odd.inputs.pop_back();
    CHECK(contains(message_of([&] { t.step(odd); }), "no whole number of positions"));
    data labels = some(samples, 3, 1);
    labels.labels.pop_back();
    CHECK(contains(message_of([&] { t.step(labels); }), "has 11 elements for the input labels, 12 expected"));
    const data d = some(samples, 3, 1);
    using ts::feed;
    CHECK(contains(
        message_of([&] { t.step(feed<ts::tokens<ts::up_to<longest>>>(d.inputs, 3), feed<ts::labels>(d.labels, 4)); }),
        "sequences of 3 positions in one input and of 4 in another"));
    const double loss = t.evaluate(d).loss;
    CHECK(t.step(feed<ts::tokens<ts::up_to<longest>>>(d.inputs, 3), feed<ts::labels>(d.labels)) > 0);
    CHECK(t.evaluate(d).loss < loss);
}
