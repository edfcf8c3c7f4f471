// SPDX-License-Identifier: Apache-2.0
// The threads of a search. The core makes none: who searches hands them in (execute/local/search_threads.hpp makes
// some).
#pragma once
#include "tessera/base/begin_header.inl"

#include <atomic>
#include <cstddef>
#include <exception>

namespace tessera::search {

/// Threads that run jobs by their numbers. Without any, as by default, the caller runs them one after the other.
struct thread_pool {
    using job = void (*)(void* what, std::size_t number);

    int threads = 1;       ///< at most so many jobs at the same time
    void* owner = nullptr; ///< for `start`
    /// Calls one(what, i) for every i below `count`, some of them at the same time, and returns when all have finished.
    /// Jobs throw nothing.
    void (*start)(const thread_pool& pool, std::size_t count, job one, void* what) = nullptr;

    /// Calls action(i) for every i below `count`; when all have finished, rethrows what one of them threw.
    template <class Action>
    void run(std::size_t count, const Action& action) const {
        struct shared {
            const Action& action;
            std::atomic<bool> has_failed{false};
            std::exception_ptr failed{};
        } all{action};
        const job one = [](void* what, std::size_t i) {
            auto& x = *static_cast<shared*>(what);
            try {
                x.action(i);
            } catch (...) {
                if (!x.has_failed.exchange(true)) { // the first one; all are done before it is read
                    x.failed = std::current_exception();
                }
            }
        };
        if (start != nullptr) {
            start(*this, count, one, &all);
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                one(&all, i);
            }
        }
        if (all.failed) {
            std::rethrow_exception(all.failed);
        }
    }
};

} // namespace tessera::search

#include "tessera/base/end_header.inl"
