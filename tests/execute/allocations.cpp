// SPDX-License-Identifier: Apache-2.0
// A training step allocates nothing of Tessera's: every allocation of every thread is counted, and where it happens.
#include "examples/networks.hpp"
#include "support/count_allocations.hpp"
#include "support/same_numbers.hpp"

#include "tessera/execute/measure/timing.hpp"
#include "tessera/host.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#if TESSERA_TEST_COUNTS_ALLOCATIONS

namespace {

namespace ts = tessera;
using test_support::allocation_counts;
using test_support::counted;

using host_session = ts::session<ts::host::backend>;

/// A data-parallel session of a network after two steps, and its plan's tasks one by one.
template <class Net>
class stepped {
public:
    stepped(int devices, const ts::optimizer& update, const ts::host::backend_options& options)
        : network_(ts::describe<Net>(16)), backend_(update, options), threads_(devices),
          session_(view(), ts::search::data_parallel(view(), devices), devices, update, {}, backend_, threads_),
          data_(view(), 3), inputs_(ts::to_size(view().tensor_count), nullptr) {
        session_.step(data_.inputs);
        session_.step(data_.inputs);
        for (std::size_t i = 0; i < data_.tensors.size(); ++i) {
            inputs_[ts::to_size(data_.tensors[i])] = data_.inputs[i].data;
        }
    }

    ts::graph_view view() const { return network_.view(); }
    const ts::plan& plan() const { return session_.training_plan(); }
    allocation_counts step() {
        return counted([&] { session_.step(data_.inputs); });
    }
    /// One task of the plan, called by hand.
    allocation_counts run(const ts::task& t) {
        ts::run_state state;
        state.inputs = inputs_.data();
        const ts::runnable task = session_.training_executor().prepared(t.device, t.position);
        return counted([&] { task.call(task.context, state); });
    }

private:
    ts::graph network_;
    ts::host::backend backend_;
    ts::workers threads_;
    host_session session_;
    test_support::batch_data data_;
    std::vector<const void*> inputs_;
};

/// Allocations of a step are those of its tasks called by hand, all of them inside oneDNN. Returns the executions of
/// primitives.
template <class Net>
long check_step(int devices, const ts::optimizer& update, const ts::host::backend_options& options) {
    stepped<Net> s(devices, update, options);
    const ts::graph_view g = s.view();
    const allocation_counts in_a_step = s.step();
    allocation_counts by_hand;
    for (const ts::task& t : s.plan().tasks) {
        const allocation_counts one = s.run(t);
        by_hand.total += one.total;
        by_hand.inside_onednn += one.inside_onednn;
        by_hand.executions += one.executions;
        CAPTURE(std::string(ts::to_text(t.kind())));
        CAPTURE(std::string(t.op >= 0 ? g.ops[t.op].name : ""));
        CAPTURE(std::string(ts::to_text(t.what)));
        CHECK(one.own() == 0);
    }
    CHECK(in_a_step.own() == 0);
    CHECK(in_a_step.total == by_hand.total);
    CHECK(in_a_step.executions == by_hand.executions);
    return in_a_step.executions;
}

} // namespace

TEST_CASE("timing allocates room for its samples, and nothing while it takes them") {
    const auto allocates = [](int samples) {
        std::int64_t now = 0;
        int runs = 0;
        return counted([&] {
                   const auto what = [&] { now += 1000 + ++runs % 7; };
                   const auto clock = [&] { return now; };
                   ts::time_interleaved({.most = samples, .precision = 0, .seconds = 1e3}, clock, what, what);
               })
            .total;
    };
    CHECK(allocates(1) == 4); // the samples of both, and where they are sorted
    CHECK(allocates(3000) == 4);
}

TEST_CASE("the hook sees operator new, malloc and aligned memory, on every thread") {
    const allocation_counts here = counted([] {
        ::operator delete(::operator new(100));
        ::operator delete(::operator new(100, std::align_val_t(64)), std::align_val_t(64));
        std::free(std::malloc(100));
        std::free(std::aligned_alloc(64, 128));
        void* p = nullptr;
        const int failed = posix_memalign(&p, 64, 128);
        std::free(failed == 0 ? p : nullptr);
    });
    CHECK(here.total == 5);
    CHECK(here.own() == 5);
    CHECK(here.executions == 0);
    const auto on_a_thread = [](int times) {
        return counted([times] {
            std::thread([times] {
                for (int i = 0; i < times; ++i) {
                    std::free(std::malloc(100));
                }
            }).join();
        });
    };
    static_cast<void>(on_a_thread(1)); // the first thread of a program costs more
    CHECK(on_a_thread(50).total - on_a_thread(10).total == 40);
}

TEST_CASE("the hook tells oneDNN's allocations from the others") {
    float from[64]{};
    float to[64]{};
    const auto plain = ts::host::memory_desc(ts::make_shape(1, 16, 2, 2), dnnl_nchw);
    const auto blocked = ts::host::memory_desc(ts::make_shape(1, 16, 2, 2), dnnl_nChw16c);
    const ts::host::unique_stream stream = ts::host::make_stream();
    ts::host::reorder_job reorder(plain, blocked, from, to, nullptr, stream.get());
    reorder.run({});
    const allocation_counts one = counted([&] { reorder.run({}); });
    CHECK(one.executions == 1);
    CHECK(one.own() == 0);
    CHECK(one.total > 0); // its map of arguments
    const allocation_counts mixed = counted([&] {
        reorder.run({});
        std::free(std::malloc(100));
        reorder.run({});
    });
    CHECK(mixed.executions == 2);
    CHECK(mixed.total == 2 * one.total + 1);
    CHECK(mixed.own() == 1);
}

TEST_CASE_TEMPLATE("a step on kernels of our own allocates nothing", Net, networks::small_convnet, networks::lenet5) {
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        for (const auto& how : {ts::optimizer(ts::sgd{0.01F, 0.9F}, 1.0F), ts::optimizer(ts::adam{})}) {
            stepped<Net> s(devices, how, {});
            for (int i = 0; i < 3; ++i) {
                CHECK(s.step().total == 0);
            }
            CHECK(check_step<Net>(devices, how, {}) == 0); // executions of oneDNN
        }
    }
}

// oneDNN 2.6 puts the arguments of every execution into a map, so that each of its primitives allocates. Nothing else
// does.
TEST_CASE_TEMPLATE("whatever implementation was chosen, nothing but oneDNN allocates", Net, networks::small_convnet,
                   networks::lenet5) {
    const ts::optimizer how = ts::sgd{0.01F, 0.9F};
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        long executions = 0;
        for (std::uint64_t seed = 0; seed < 6; ++seed) {
            CAPTURE(seed);
            ts::host::backend_options options;
            options.how = ts::host::tuning::random;
            options.seed = seed;
            executions += check_step<Net>(devices, how, options);
        }
        CHECK(executions > 0); // otherwise nothing was checked
    }
}

#else

TEST_CASE("allocations of a step are not counted under a sanitizer") {}

#endif
