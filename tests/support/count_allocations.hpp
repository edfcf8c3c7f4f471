// SPDX-License-Identifier: Apache-2.0
// Counts every way into the heap that a program of glibc has, on all threads, and which of it happens inside oneDNN's
// dnnl_primitive_execute. Defines malloc and its kin: include it in one source of a program alone.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

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

namespace test_support {

/// Allocations of all threads while something ran.
struct allocation_counts {
    long total = 0;
    long inside_onednn = 0; ///< of them during dnnl_primitive_execute, on the thread that called it
    long executions = 0;    ///< calls of dnnl_primitive_execute
    long own() const { return total - inside_onednn; }
};

namespace detail {

// Constants only: these are used before any constructor has run.
inline std::atomic<bool> counting{false};
inline std::atomic<long> allocations{0};
inline std::atomic<long> inside{0};
inline std::atomic<long> executions{0};
inline constinit thread_local int onednn_depth = 0;

inline void count() {
    if (counting.load(std::memory_order_relaxed)) {
        allocations.fetch_add(1, std::memory_order_relaxed);
        if (onednn_depth > 0) {
            inside.fetch_add(1, std::memory_order_relaxed);
        }
    }
}

} // namespace detail

/// What `what` allocates.
template <class What>
allocation_counts counted(What&& what) {
    detail::allocations.store(0);
    detail::inside.store(0);
    detail::executions.store(0);
    detail::counting.store(true);
    what();
    detail::counting.store(false);
    return {detail::allocations.load(), detail::inside.load(), detail::executions.load()};
}

} // namespace test_support

#if TESSERA_TEST_COUNTS_ALLOCATIONS

// operator new, oneDNN and OpenMP all end in these.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* what, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
    test_support::detail::count();
    return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) noexcept {
    test_support::detail::count();
    return __libc_calloc(number, size);
}
void* realloc(void* what, std::size_t size) noexcept {
    test_support::detail::count();
    return __libc_realloc(what, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
    test_support::detail::count();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    test_support::detail::count();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
    test_support::detail::count();
    *out = __libc_memalign(alignment, size);
    return *out == nullptr ? ENOMEM : 0;
}

/// Stands before oneDNN's own, which it calls.
dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                     const dnnl_exec_arg_t* arguments) {
    static const auto library =
        reinterpret_cast<decltype(&dnnl_primitive_execute)>(dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
    test_support::detail::executions.fetch_add(1, std::memory_order_relaxed);
    ++test_support::detail::onednn_depth;
    const dnnl_status_t status = library(primitive, stream, count, arguments);
    --test_support::detail::onednn_depth;
    return status;
}
}

#endif
