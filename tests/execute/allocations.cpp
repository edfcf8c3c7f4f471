// SPDX-License-Identifier: Apache-2.0
// A training step allocates nothing: every way into the heap that a program of glibc has is counted.
#include "examples/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/host.hpp"
#include "tessera/search/baselines.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

// Sanitizers bring an allocator of their own, which must not be replaced.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESSERA_TEST_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TESSERA_TEST_COUNTS_ALLOCATIONS 0
#endif
#endif
#if !defined(TESSERA_TEST_COUNTS_ALLOCATIONS) && defined(__GLIBC__)
#define TESSERA_TEST_COUNTS_ALLOCATIONS 1
#elif !defined(TESSERA_TEST_COUNTS_ALLOCATIONS)
#define TESSERA_TEST_COUNTS_ALLOCATIONS 0
#endif

#if TESSERA_TEST_COUNTS_ALLOCATIONS

namespace {

// Constants only: these are used before any constructor has run.
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

void count() {
    if (counting.load(std::memory_order_relaxed)) {
        allocations.fetch_add(1, std::memory_order_relaxed);
    }
}

} // namespace

// operator new, oneDNN and OpenMP all end in these.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* what, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
    count();
    return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) noexcept {
    count();
    return __libc_calloc(number, size);
}
void* realloc(void* what, std::size_t size) noexcept {
    count();
    return __libc_realloc(what, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
    count();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    count();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
    count();
    *out = __libc_memalign(alignment, size);
    return *out == nullptr ? ENOMEM : 0;
}
}

namespace {

namespace ts = tessera;

using host_session = ts::session<ts::host::backend>;

/// Allocations of all threads while something runs.
template <class What>
long counted(What&& what) {
    allocations.store(0);
    counting.store(true);
    what();
    counting.store(false);
    return allocations.load();
}

/// Allocations during three steps, after two others.
template <class Net>
long allocations_of(ts::host::backend& backend, ts::index_t batch, int devices, const ts::optimizer& how) {
    const ts::graph network = ts::describe<Net>(batch);
    const ts::graph_view g = network.view();
    ts::workers threads(devices);
    host_session s(g, ts::search::data_parallel(g, devices), devices, how, {}, backend, threads);
    const test_support::batch_data data(g, 3);
    s.step(data.inputs);
    s.step(data.inputs);
    return counted([&] {
        for (int i = 0; i < 3; ++i) {
            s.step(data.inputs);
        }
    });
}

} // namespace

TEST_CASE("the hook sees operator new, malloc and aligned memory") {
    allocations.store(0);
    counting.store(true);
    ::operator delete(::operator new(100));
    ::operator delete(::operator new(100, std::align_val_t(64)), std::align_val_t(64));
    std::free(std::malloc(100));
    std::free(std::aligned_alloc(64, 128));
    void* p = nullptr;
    const int failed = posix_memalign(&p, 64, 128);
    counting.store(false);
    std::free(p);
    CHECK(failed == 0);
    CHECK(allocations.load() == 5);
}

TEST_CASE("a step of a session on the host allocates nothing") {
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        for (const auto& how : {ts::optimizer(ts::sgd{0.01F, 0.9F}, 1.0F), ts::optimizer(ts::adam{})}) {
            ts::host::backend backend(how);
            CHECK(allocations_of<networks::small_convnet>(backend, 16, devices, how) == 0);
            CHECK(allocations_of<networks::lenet5>(backend, 16, devices, how) == 0);
        }
    }
}

// oneDNN 2.6 puts the arguments of every execution into a map, so that each of its primitives allocates. What is checked is
// that nothing but its primitives does: a step allocates exactly what they do when called by hand.
TEST_CASE("whatever implementation was chosen, nothing but oneDNN allocates") {
    const ts::optimizer how = ts::sgd{0.01F, 0.9F};
    const ts::graph network = ts::describe<networks::lenet5>(16);
    const ts::graph_view g = network.view();
    const test_support::batch_data data(g, 3);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        CAPTURE(seed);
        ts::host::backend_options options;
        options.how = ts::host::tuning::random;
        options.seed = seed;
        ts::host::backend backend(how, options);
        ts::workers threads(2);
        host_session s(g, ts::search::data_parallel(g, 2), 2, how, {}, backend, threads);
        s.step(data.inputs);
        s.step(data.inputs);
        const long in_a_step = counted([&] { s.step(data.inputs); });

        std::vector<const void*> inputs(static_cast<std::size_t>(g.tensor_count), nullptr);
        for (std::size_t i = 0; i < data.tensors.size(); ++i) {
            inputs[static_cast<std::size_t>(data.tensors[i])] = data.inputs[i].data;
        }
        ts::run_state state;
        state.inputs = inputs.data();
        long by_hand = 0;
        for (const ts::task& t : s.training_plan().tasks) {
            const ts::runnable task = s.training_executor().prepared(t.device, t.position);
            const long n = counted([&] { task.call(task.context, state); });
            by_hand += n;
            const auto engine = static_cast<ts::host::engine_kind>(t.implementation);
            const bool is_onednn = t.kind == ts::task_kind::reorder ||
                                   (t.kind == ts::task_kind::compute && (engine == ts::host::engine_kind::onednn ||
                                                                         engine == ts::host::engine_kind::winograd));
            if (!is_onednn) {
                CAPTURE(std::string(ts::to_text(t.kind)));
                CAPTURE(std::string(t.op >= 0 ? g.ops[t.op].name : ""));
                CAPTURE(std::string(ts::to_text(t.what)));
                CAPTURE(std::string(ts::host::to_text(engine)));
                CHECK(n == 0);
            }
        }
        CHECK(in_a_step == by_hand);
    }
}

#else

TEST_CASE("allocations of a step are not counted under a sanitizer") {}

#endif
