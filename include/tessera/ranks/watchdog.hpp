// SPDX-License-Identifier: Apache-2.0
// A deadline for calls that have none, such as those of MPI: a thread that ends the process when one has not returned
// in time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/ranks/leftovers.hpp"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string>

#include <pthread.h>
#include <unistd.h>

namespace tessera::ranks {

/// One for a process.
class watchdog {
public:
    /// `patience`: seconds for each call; 0: it watches nothing.
    explicit watchdog(double patience);
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// What the system, and so other processes, call the thread: at most 15 characters.
    void rename(const char* name);

    /// Runs `call`, which is `what`. Where it has not returned in time, says so, with what `more()` adds, and ends the
    /// process with exit code 1.
    template <class Call, class More>
    auto run(const char* what, More more, Call&& call) {
        struct armed {
            watchdog& dog;
            ~armed() { dog.set({}, nullptr, false); }
        } const while_it_runs{*this};
        watched<More> c{what, more};
        set(
            &c,
            [](void* from) {
                auto& of = *static_cast<watched<More>*>(from);
                return std::string(of.what) + of.more();
            },
            false);
        return call();
    }

private:
    template <class More>
    struct watched {
        const char* what;
        More more;
    };
    using words = std::string (*)(void*);

    void set(void* what, words w, bool stops);

    static void* sit(void* where);
    void watch();

    double patience_;
    pthread_t thread_{};
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed_{};
    void* context_ = nullptr;
    words words_ = nullptr;
    bool stops_ = false;
    timespec until_{};
};

} // namespace tessera::ranks

#ifndef TESSERA_COMPILED
#include "tessera/ranks/watchdog.inl"
#endif

#include "tessera/base/end_header.inl"
