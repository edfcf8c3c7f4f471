// SPDX-License-Identifier: Apache-2.0
// A predictor for servers (execute/predictor.hpp): many threads at the same time, weights once, arenas for each call,
// answers bit for bit those of a trainer.
#include "tessera/execute/predictor.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/dag.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <type_traits>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct conv1 : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<4> {};
struct net : ts::sequential<ts::image<3, 6, 6>, conv1, norm, ts::relu, ts::flatten, fc1, ts::relu, ts::dropout<30>, fc2,
                            ts::cross_entropy> {};
constexpr int samples = 8;

struct words : ts::embedding<50, 8> {};
struct head : ts::linear<50> {};
struct texts : ts::sequential<ts::tokens<ts::up_to<16>>, words, head, ts::cross_entropy> {};

struct data {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 0;
};
data some(int count, int seed) {
    data d;
    d.size = count;
    for (int i = 0; i < count * 108; ++i) {
        d.inputs.push_back(static_cast<float>((i * 37 + seed * 101) % 200 - 100) / 50);
    }
    for (int i = 0; i < count; ++i) {
        d.labels.push_back(i % 4);
    }
    return d;
}

template <class Body>
void on_threads(int count, Body&& body) {
    std::atomic<int> ready{0};
    std::vector<std::thread> all;
    for (int i = 0; i < count; ++i) {
        all.emplace_back([&, i] {
            ready.fetch_add(1);
            while (ready.load() < count) {
            }
            body(i);
        });
    }
    for (std::thread& t : all) {
        t.join();
    }
}

/// The same numbers: to the last bit on the reference backend; elsewhere a plan for predictions alone may have chosen
/// other kernels.
template <class B>
bool same(const std::vector<float>& a, const std::vector<float>& b) {
    if (std::is_same_v<B, ts::reference::backend>) {
        return a == b;
    }
    bool all = a.size() == b.size();
    for (std::size_t i = 0; all && i < a.size(); ++i) {
        all = std::abs(a[i] - b[i]) <= 1e-5F * (1 + std::abs(b[i]));
    }
    return all;
}

template <class B>
void serve() {
    ts::trainer<net, B> t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples,
                          ts::sgd{.learning_rate = 0.05F});
    t.step(some(samples, 1));
    ts::predictor server(t, {.lanes = 3});
    constexpr int threads = 5;
    constexpr int times = 12;
    // Sizes of all kinds: short, whole, and more than a batch.
    std::vector<data> asked;
    std::vector<ts::prediction> right;
    std::vector<ts::prediction> hidden;
    for (int i = 0; i < threads * times; ++i) {
        asked.push_back(some(1 + i * 5 % 19, i));
        right.push_back(t.predict(asked.back()));
        hidden.push_back(t.template predict<fc1>(asked.back()));
    }
    std::atomic<int> wrong{0};
    on_threads(threads, [&](int i) {
        for (int k = 0; k < times; ++k) {
            const auto n = ts::to_size(k * threads + i);
            const ts::prediction p = k % 3 == 2 ? server.template predict<fc1>(asked[n]) : server.predict(asked[n]);
            const ts::prediction& r = k % 3 == 2 ? hidden[n] : right[n];
            wrong += same<B>(p.values, r.values) && p.extents == r.extents ? 0 : 1;
        }
    });
    CHECK(wrong == 0);
    CHECK(server.lanes() >= 1);
    CHECK(server.lanes() <= 3);
    // The training goes on, and the server has what it was given until it is given more.
    t.step(some(samples, 2));
    CHECK(same<B>(server.predict(asked[0]).values, right[0].values));
    server.take(t);
    CHECK(same<B>(server.predict(asked[0]).values, t.predict(asked[0]).values));
    CHECK(!same<B>(server.predict(asked[0]).values, right[0].values));
}

} // namespace

TEST_CASE("many threads at the same time get what a trainer says") {
    serve<ts::reference::backend>();
#ifdef TESSERA_TEST_HOST
    serve<ts::host::backend>();
#endif
}

TEST_CASE("weights that change under way are the old ones or the new ones in an answer, never some of both") {
    ts::predictor<net, ts::reference::backend> server(samples, {.lanes = 2});
    const auto set = [&](float x) {
        server.change([&](auto& values) {
            for (int p = 0; p < values.graph_of().parameter_count; ++p) {
                const bool running = values.graph_of().parameters[p].state;
                const auto volume = ts::to_size(values.graph_of().parameters[p].extents.volume());
                values.set_parameter(p, std::vector<float>(volume, running ? 1.0F : x));
                std::this_thread::sleep_for(std::chrono::microseconds(200)); // so that there is a between
            }
        });
    };
    const data one = some(3, 0);
    set(0.25F);
    const std::vector<float> old_ones = server.predict(one).values;
    set(0.5F);
    const std::vector<float> new_ones = server.predict(one).values;
    REQUIRE(old_ones != new_ones);
    std::atomic<int> wrong{0};
    std::atomic<bool> over{false};
    on_threads(3, [&](int i) {
        if (i == 0) {
            for (int k = 0; k < 40; ++k) {
                set(k % 2 == 0 ? 0.25F : 0.5F);
            }
            over = true;
        } else {
            do {
                const std::vector<float> said = server.predict(one).values;
                wrong += said == old_ones || said == new_ones ? 0 : 1;
            } while (!over);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("weights are there once, whatever the number of lanes") {
    ts::predictor<net, ts::reference::backend> one(samples, {.lanes = 1});
    ts::predictor<net, ts::reference::backend> many(samples, {.lanes = 4});
    one.predict(some(samples, 0));
    std::atomic<int> inside{0};
    on_threads(4, [&](int) {
        for (int k = 0; k < 50 && many.lanes() < 4; ++k) {
            ++inside;
            many.predict(some(4 * samples, 0));
        }
        many.predict(some(samples, 0));
    });
    CHECK(one.lanes() == 1);
    CHECK(many.parameter_bytes() == one.parameter_bytes());
    CHECK(many.arena_bytes() == many.lanes() * one.arena_bytes());
}

TEST_CASE("more sizes than plans are kept, from several threads, and texts of any length") {
    ts::trainer<texts, ts::reference::backend> t(ts::local_devices(1), ts::strategy(ts::describe<texts>(4).view()), 4,
                                                 ts::sgd{}, {.for_training = false});
    ts::predictor server(t, {.lanes = 2});
    std::atomic<int> wrong{0};
    std::vector<std::vector<float>> right;
    const auto text_of = [](int length, int n) {
        std::vector<std::int32_t> text;
        for (int i = 0; i < length * n; ++i) {
            text.push_back((i * 7 + length) % 50);
        }
        return text;
    };
    for (int length = 1; length <= 16; ++length) {
        const auto text = text_of(length, 1 + length % 4);
        right.push_back(t.predict(ts::feed<ts::tokens<ts::up_to<16>>>(text, length)).values);
        CHECK(right.back().size() == text.size() * 50);
    }
    on_threads(3, [&](int i) {
        for (int k = 0; k < 32; ++k) {
            const int length = 1 + (k * 5 + i) % 16;
            const auto text = text_of(length, 1 + length % 4);
            wrong += server.predict(ts::feed<ts::tokens<ts::up_to<16>>>(text, length)).values ==
                             right[ts::to_size(length - 1)]
                         ? 0
                         : 1;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("what does not fit is refused, and the lane is free again") {
    ts::predictor<net, ts::reference::backend> server(samples, {.lanes = 1});
    data odd = some(2, 0);
    odd.inputs.pop_back();
    for (int k = 0; k < 3; ++k) {
        CHECK(contains(message_of([&] { server.predict(odd); }), "215 elements for the input, 216 expected"));
    }
    CHECK(server.predict(some(2, 0)).extents == ts::make_shape(2, 4));
    using served = ts::predictor<net, ts::reference::backend>;
    CHECK(contains(message_of([] { served(samples, {.lanes = -1}); }), "-1 lanes"));
    CHECK(contains(message_of([] { served(samples, {.session = {.device_memory = 100}}); }), "100"));
}
