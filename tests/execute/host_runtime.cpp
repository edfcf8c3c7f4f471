// SPDX-License-Identifier: Apache-2.0
// Compiled sessions: a trainer over one does what the trainer of the headers does, bit for bit.
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#include "tessera/host_runtime.hpp"
#include "tessera/io/checkpoint.hpp"

#include "io/temporary_folder.hpp"
#endif

#include <doctest/doctest.h>

#include <vector>

#ifdef TESSERA_TEST_HOST

namespace {

namespace ts = tessera;

struct words : ts::embedding<19, 8> {};
struct norm : ts::layer_norm<> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct softsign : ts::elementwise<softsign> {
    static constexpr auto of(auto x) { return x / (1 + abs(x)); }
};
struct logits : ts::linear<19> {};
struct net
    : ts::sequential<ts::tokens<ts::up_to<6>>, words,
                     ts::residual<norm, ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>>>,
                     softsign, ts::dropout<20>, logits, ts::cross_entropy> {};
constexpr int samples = 4;

struct data {
    std::vector<std::int32_t> inputs, labels;
    int size = samples;

    explicit data(int length) {
        for (int i = 0; i < samples * length; ++i) {
            inputs.push_back(i * 7 % 19);
            labels.push_back((i + 1) * 7 % 19);
        }
    }
};

} // namespace

TEST_CASE("a compiled session trains, evaluates, predicts and resumes as the headers do, bit for bit") {
    const ts::graph g = ts::describe<net>(samples);
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const ts::strategy s = test_support::random_strategy(g.view(), 3, seed, seen);
        const ts::trainer_options options{.seed = seed + 3, .keep_gradients = true};
        ts::trainer<net, ts::host::backend> headers(ts::local_devices(3), s, samples, ts::adam{}, options);
        ts::trainer<net, ts::host::runtime> compiled(ts::local_devices(3), s, samples, ts::adam{}, options);
        static_assert(!std::is_same_v<decltype(headers)::session_type, decltype(compiled)::session_type>);
        for (const int length : {6, 3, 6}) {
            const data d(length);
            CHECK(compiled.step(d) == headers.step(d));
            CHECK(compiled.evaluate(d).loss == headers.evaluate(d).loss);
            CHECK(compiled.predict(d).values == headers.predict(d).values);
            CHECK(compiled.predict<norm>(d).values == headers.predict<norm>(d).values);
        }
        for (int p = 0; p < g.view().parameter_count; ++p) {
            CHECK(compiled.values().parameter(p) == headers.values().parameter(p));
            CHECK(compiled.values().gradient(p) == headers.values().gradient(p));
            CHECK(compiled.values().kept(p, 1) == headers.values().kept(p, 1));
        }
        CHECK(compiled.training_plan().tasks.size() == headers.training_plan().tasks.size());

        // What one saves the other goes on from.
        const test::temporary_folder folder;
        ts::io::save_checkpoint(compiled, folder / "saved");
        ts::trainer<net, ts::host::backend> resumed(ts::local_devices(3), s, samples, ts::adam{});
        ts::io::load_checkpoint(resumed, folder / "saved");
        CHECK(resumed.step(data(6)) == compiled.step(data(6)));
    }
}

TEST_CASE("errors of a compiled session come through") {
    const ts::graph g = ts::describe<net>(samples);
    ts::trainer<net, ts::host::runtime> t(ts::local_devices(1), ts::strategy(g.view()), samples, ts::sgd{});
    CHECK(test_support::contains(test_support::message_of([&] { t.step(data(7)); }), "from 1 to 6"));
    data odd(6);
    odd.labels[5] = 19;
    CHECK(test_support::contains(test_support::message_of([&] { t.step(odd); }), "label 19"));
}

#endif
