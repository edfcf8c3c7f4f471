// SPDX-License-Identifier: Apache-2.0
// A deadline for calls that have none, such as those of MPI: a thread that ends the process when one has not returned in time.
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
    explicit watchdog(double patience) : patience_(patience) {
        pthread_condattr_t by;
        pthread_condattr_init(&by);
        pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
        pthread_cond_init(&changed_, &by);
        pthread_condattr_destroy(&by);
        if (patience > 0 && pthread_create(&thread_, nullptr, &sit, this) != 0) {
            throw error("tessera: the system has no thread that watches calls of MPI; end other programs");
        }
    }
    ~watchdog() {
        if (patience_ > 0) {
            set({}, nullptr, true);
            pthread_join(thread_, nullptr);
        }
        pthread_cond_destroy(&changed_);
        pthread_mutex_destroy(&mutex_);
    }
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// What the system, and so other processes, call the thread: at most 15 characters.
    void rename(const char* name) {
        if (patience_ > 0) {
            pthread_setname_np(thread_, name);
        }
    }

    /// Runs `call`, which is `what`. Where it has not returned in time, says so, with what `more()` adds, and ends the process with exit code 1.
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

    void set(void* what, words w, bool stops) {
        pthread_mutex_lock(&mutex_);
        context_ = what;
        words_ = w;
        stops_ = stops;
        clock_gettime(CLOCK_MONOTONIC, &until_);
        until_.tv_sec += static_cast<time_t>(patience_) + 1;
        pthread_cond_signal(&changed_);
        pthread_mutex_unlock(&mutex_);
    }

    static void* sit(void* where) {
        static_cast<watchdog*>(where)->watch();
        return nullptr;
    }
    void watch() {
        pthread_mutex_lock(&mutex_);
        while (!stops_) {
            if (words_ == nullptr) {
                pthread_cond_wait(&changed_, &mutex_);
                continue;
            }
            const timespec until = until_;
            if (pthread_cond_timedwait(&changed_, &mutex_, &until) == ETIMEDOUT && words_ != nullptr && !stops_ &&
                until.tv_sec == until_.tv_sec && until.tv_nsec == until_.tv_nsec) {
                const std::string text = words_(context_);
                std::fprintf(stderr, "tessera: %s has not returned within %s s\n", text.c_str(),
                             fixed_text(patience_, 0).c_str());
                std::fflush(stderr);
                remove_files_of_ranks(); // the launcher ends the others, which cannot
                _exit(1);
            }
        }
        pthread_mutex_unlock(&mutex_);
    }

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

#include "tessera/base/end_header.inl"
