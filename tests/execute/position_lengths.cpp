// SPDX-License-Identifier: Apache-2.0
// Learned tables of positions in networks of any length: shorter sequences take the table's first rows, and the
// gradient of the others is zero.
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
constexpr int channels = 6;
constexpr int classes = 11;

struct words : ts::embedding<classes, channels> {};
struct places : ts::position_embedding<> {};
struct norm : ts::layer_norm<> {};
struct query : ts::linear<channels> {};
struct key : ts::linear<channels> {};
struct value : ts::linear<channels> {};
struct merge : ts::linear<channels> {};
struct logits : ts::linear<classes> {};
template <ts::index_t Length, class Places = places>
struct net
    : ts::sequential<ts::tokens<Length>, words, Places,
                     ts::residual<norm, ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>>>,
                     logits, ts::masked_cross_entropy<>> {};
using any = net<ts::up_to<longest>>;
constexpr int table = 1; // parameters are numbered as they come: the words, then the positions

struct data {
    std::vector<std::int32_t> inputs, labels;
    int size = 0;
};
data some(int count, int length, std::uint64_t seed) {
    data d;
    d.size = count;
    for (int i = 0; i < count * length; ++i) {
        const std::uint64_t x = ts::op::mix(seed * 100 + static_cast<std::uint64_t>(i));
        d.inputs.push_back(static_cast<std::int32_t>(x % classes));
        d.labels.push_back(static_cast<std::int32_t>(x / classes % classes));
    }
    return d;
}
/// The same at the longest length, behind whose own end labels do not count.
data padded(const data& d, int length) {
    data p;
    p.size = d.size;
    for (int i = 0; i < d.size; ++i) {
        for (int t = 0; t < longest; ++t) {
            const auto at = ts::to_size(i * length + t);
            p.inputs.push_back(t < length ? d.inputs[at] : (i + t) % classes);
            p.labels.push_back(t < length ? d.labels[at] : -100);
        }
    }
    return p;
}

void hold_equal(const std::vector<float>& found, const std::vector<float>& expected, std::size_t count) {
    REQUIRE(found.size() >= count);
    REQUIRE(expected.size() >= count);
    for (std::size_t i = 0; i < count; ++i) {
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-4).scale(1));
    }
}

/// A step of a network of exactly this length, whose table is the first rows of another trainer's, must end where that
/// ends; the other rows stay.
template <ts::index_t Length, class T>
void hold_step(T& t, std::uint64_t seed, int count) {
    const ts::graph g = ts::describe<net<Length>>(samples);
    ts::trainer<net<Length>, ts::reference::backend> exact(ts::local_devices(1), ts::strategy(g.view()), samples,
                                                           ts::sgd{.learning_rate = 0.5F});
    const std::size_t used = Length * channels;
    const std::vector<float> before = t.values().parameter(table);
    CHECK(before.size() == longest * channels);
    for (int p = 0; p < g.view().parameter_count; ++p) {
        std::vector<float> values = t.values().parameter(p);
        values.resize(p == table ? used : values.size());
        exact.values().set_parameter(p, values);
    }
    const data d = some(count, Length, seed);
    CHECK(t.evaluate(d).loss == doctest::Approx(exact.evaluate(d).loss).epsilon(1e-5));
    hold_equal(t.predict(d).values, exact.predict(d).values, ts::to_size(count * Length * classes));
    CHECK(t.step(d) == doctest::Approx(exact.step(d)).epsilon(1e-5));
    for (int p = 0; p < g.view().parameter_count; ++p) {
        const std::vector<float> expected = exact.values().parameter(p);
        hold_equal(t.values().parameter(p), expected, expected.size());
    }
    const std::vector<float> after = t.values().parameter(table);
    CHECK(std::equal(before.begin() + static_cast<std::ptrdiff_t>(used), before.end(),
                     after.begin() + static_cast<std::ptrdiff_t>(used)));
    CHECK(!std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(used), after.begin()));
}

template <class B>
void hold(const ts::strategy& s, std::uint64_t seed) {
    ts::trainer<any, B> t(ts::local_devices(4), s, samples, ts::sgd{.learning_rate = 0.5F});
    hold_step<longest>(t, seed, samples);
    hold_step<3>(t, seed + 1, samples);
    hold_step<longest>(t, seed + 2, 3);
    hold_step<5>(t, seed + 3, 2);
    hold_step<1>(t, seed + 4, samples);
}

/// Every operator that has the loop, and it so long, in so many pieces along it.
ts::strategy split_along(const ts::graph_view& g, ts::loop_name name, int degree) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        const int l = d.find_loop(name);
        ts::configuration& c = s.ops[ts::to_size(op)];
        c.uneven = c.reduces = true;
        c.degree[l < 0 ? 0 : l] = l >= 0 && ts::splittable(d, l) && d.loops[l].extent >= degree ? degree : 1;
    }
    return s;
}

/// Two trainings from equal weights, of short batches and of the same ones padded to the longest, whose padding counts
/// for nothing, end alike: the optimizer's state and decay go on at rows that a batch does not use, as at those of
/// gradient 0.
template <class B>
void hold_padded(const ts::strategy& s, const ts::optimizer& update, std::uint64_t seed) {
    ts::trainer<any, B> t(ts::local_devices(4), s, samples, update);
    const ts::graph g = ts::describe<any>(samples);
    ts::trainer<any, ts::reference::backend> whole(ts::local_devices(1), ts::strategy(g.view()), samples, update);
    for (int p = 0; p < g.view().parameter_count; ++p) {
        whole.values().set_parameter(p, t.values().parameter(p));
    }
    for (const int length : {5, longest, 3, 1}) {
        const data d = some(samples, length, seed + static_cast<std::uint64_t>(length));
        CHECK(t.step(d) == doctest::Approx(whole.step(padded(d, length))).epsilon(1e-5));
        for (int p = 0; p < g.view().parameter_count; ++p) {
            const std::vector<float> expected = whole.values().parameter(p);
            hold_equal(t.values().parameter(p), expected, expected.size());
        }
    }
}

} // namespace

TEST_CASE("shorter sequences take a table's first rows, as a network of their length has them, under any strategy") {
    const ts::graph g = ts::describe<any>(samples);
    hold<ts::reference::backend>(ts::strategy(g.view()), 1);
    test_support::coverage seen;
    int along = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const ts::strategy s = test_support::random_strategy(g.view(), 4, seed, seen);
        along += s.ops[1].degree[1] > 1 ? 1 : 0;
        CAPTURE(seed);
        hold<ts::reference::backend>(s, 10 * seed);
#ifdef TESSERA_TEST_HOST
        hold<ts::host::backend>(s, 10 * seed + 100);
#endif
    }
    CHECK(along > 0);
}

TEST_CASE("they are the longest sequences whose other positions count for nothing, whatever the optimizer") {
    const ts::graph g = ts::describe<any>(samples);
    const ts::optimizer updates[] = {ts::sgd{.learning_rate = 0.3F, .momentum = 0.9F, .weight_decay = 0.01F},
                                     ts::adamw{.learning_rate = 0.01F, .epsilon = 1e-3F}};
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        CAPTURE(seed);
        const ts::strategy s = test_support::random_strategy(g.view(), 4, 100 + seed, seen);
        hold_padded<ts::reference::backend>(s, updates[seed % 2], seed);
#ifdef TESSERA_TEST_HOST
        hold_padded<ts::host::backend>(s, updates[seed % 2], seed);
#endif
    }
}

TEST_CASE("a table of any length lies whole where positions are split, and its gradient is that of one device") {
    const ts::graph g = ts::describe<any>(samples);
    CHECK(g.view().parameters[table].extents == ts::make_shape(longest, channels));
    for (const ts::loop_name name : {ts::loop_name::sample, ts::loop_name::position, ts::loop_name::channel}) {
        for (const int degree : {2, 3, 4}) {
            CAPTURE(degree);
            const ts::strategy s = split_along(g.view(), name, degree);
            hold<ts::reference::backend>(s, static_cast<std::uint64_t>(degree));
            ts::trainer<any, ts::reference::backend> t(ts::local_devices(4), s, samples, ts::sgd{},
                                                       {.keep_gradients = true});
            t.step(padded(some(samples, 3, 1), 3));
            const std::vector<float> gradient = t.values().gradient(table);
            for (std::size_t i = 0; i < gradient.size(); ++i) {
                CHECK((gradient[i] == 0) == (i >= 3 * channels));
            }
        }
    }
    const ts::description d = g.view().describe(1);
    CHECK(ts::region(d, d.find_operand(ts::operand_kind::parameter), ts::loop_ranges(d).range) ==
          ts::whole(ts::make_shape(longest, channels)));
}

TEST_CASE("a table may have more rows than a network of one length has positions, and not fewer") {
    struct long_places : ts::position_embedding<ts::rows<longest>> {};
    const ts::graph g = ts::describe<net<3, long_places>>(samples);
    CHECK(g.view().parameters[table].extents == ts::make_shape(longest, channels));
    ts::trainer<any, ts::reference::backend> t(ts::local_devices(1), ts::strategy(ts::describe<any>(samples).view()),
                                               samples, ts::sgd{});
    ts::trainer<net<3, long_places>, ts::reference::backend> same(
        ts::local_devices(2), split_along(g.view(), ts::loop_name::position, 2), samples, ts::sgd{});
    for (int p = 0; p < g.view().parameter_count; ++p) {
        same.values().set_parameter(p, t.values().parameter(p));
    }
    const data d = some(samples, 3, 5);
    CHECK(same.step(d) == doctest::Approx(t.step(d)).epsilon(1e-5));
    for (int p = 0; p < g.view().parameter_count; ++p) {
        const std::vector<float> expected = t.values().parameter(p);
        hold_equal(same.values().parameter(p), expected, expected.size());
    }
    CHECK(contains(message_of([&] { ts::describe_at_run_time<net<longest + 1, long_places>>(samples); }),
                   "the table has fewer rows than the sequence has positions"));
    CHECK(contains(message_of([&] { ts::describe_at_run_time<net<ts::up_to<longest + 1>, long_places>>(samples); }),
                   "the table has fewer rows than the sequence has positions"));
}
