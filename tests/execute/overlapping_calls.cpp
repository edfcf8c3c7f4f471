// SPDX-License-Identifier: Apache-2.0
// Calls of several threads on one trainer, or on several over the same devices: they take turns
// (execute/local/device_turn.hpp), and each gets its own answer.
#include "support/planned.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace {

namespace ts = tessera;

struct fc1 : ts::linear<16> {};
struct fc2 : ts::linear<3> {};
struct net : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};
using trainer = ts::trainer<net, ts::reference::backend>;
constexpr int samples = 4;

struct data {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = samples;
};
data batch_of(int which) {
    data d;
    for (int i = 0; i < samples * 6; ++i) {
        d.inputs.push_back(static_cast<float>((which * 31 + i * 7) % 23) / 11 - 1);
    }
    d.labels = {0, 1, 2, static_cast<std::int32_t>(which % 3)};
    return d;
}

/// Calls body(number of the thread) on several threads at the same time.
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

} // namespace

TEST_CASE("predictions of several threads on one trainer are each thread's own") {
    trainer t(ts::local_devices(2), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    constexpr int threads = 4;
    constexpr int times = 300;
    std::vector<std::vector<float>> right;
    for (int i = 0; i < threads; ++i) {
        right.push_back(t.predict(batch_of(i)).values);
    }
    std::atomic<int> wrong{0};
    on_threads(threads, [&](int i) {
        const data mine = batch_of(i);
        for (int k = 0; k < times; ++k) {
            wrong += t.predict(mine).values == right[ts::to_size(i)] ? 0 : 1;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("steps, evaluations and weights of several threads come one after the other") {
    trainer t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    trainer alone(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    const data one = batch_of(1);
    std::atomic<int> wrong{0};
    on_threads(3, [&](int i) {
        for (int k = 0; k < 100; ++k) {
            if (i < 2) { // steps on one batch: their order does not matter
                t.step(one);
            } else {
                wrong += t.weights<fc1>().size() == 96 && t.evaluate(one).samples == samples ? 0 : 1;
            }
        }
    });
    for (int k = 0; k < 200; ++k) {
        alone.step(one);
    }
    CHECK(wrong == 0);
    CHECK(t.steps() == 200);
    CHECK(t.weights<fc1>() == alone.weights<fc1>());
    CHECK(t.weights<fc2>() == alone.weights<fc2>());
}

TEST_CASE("trainers that share devices take turns") {
    const ts::local_devices devices(2);
    const ts::graph g = ts::describe<net>(samples);
    const ts::strategy split = test_support::data_parallel(g.view(), 2);
    trainer first(devices, split, samples, ts::sgd{});
    trainer second(devices, split, samples, ts::sgd{});
    trainer alone(ts::local_devices(2), split, samples, ts::sgd{});
    for (int k = 0; k < 100; ++k) {
        alone.step(batch_of(k));
    }
    on_threads(2, [&](int i) {
        for (int k = 0; k < 100; ++k) {
            (i == 0 ? first : second).step(batch_of(k));
        }
    });
    CHECK(first.weights<fc1>() == alone.weights<fc1>());
    CHECK(second.weights<fc1>() == alone.weights<fc1>());
}

TEST_CASE("a thread takes a turn again within one, and writers come before readers that wait") {
    ts::turns t;
    {
        const ts::turn mine(t);
        const ts::turn again(t);
        bool other = true;
        std::thread([&] { other = t.try_take(); }).join();
        CHECK_FALSE(other);
    }
    t.share();
    t.share(); // several at a time
    bool other = true;
    std::thread([&] { other = t.try_take(); }).join();
    CHECK_FALSE(other);
    t.unshare();
    std::atomic<int> order{0};
    int writer = 0;
    int reader = 0;
    std::thread writes([&] {
        const ts::turn mine(t);
        writer = ++order;
    });
    while (true) { // until the writer waits: from then on nobody shares
        std::atomic<bool> in{false};
        std::thread looks([&] {
            t.share();
            in = true;
            t.unshare();
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const bool waits = !in;
        if (waits) {
            t.unshare();
            looks.join();
            reader = ++order;
            break;
        }
        looks.join();
    }
    writes.join();
    CHECK(writer == 1);
    CHECK(reader == 2);
}
