// SPDX-License-Identifier: Apache-2.0
// Bodies of watchdog.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/watchdog.hpp"

namespace tessera::ranks {

TESSERA_INLINE watchdog::watchdog(double patience) : patience_(patience) {
    pthread_condattr_t by;
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    pthread_cond_init(&changed_, &by);
    pthread_condattr_destroy(&by);
    if (patience > 0 && pthread_create(&thread_, nullptr, &sit, this) != 0) {
        throw error("tessera: the system has no thread that watches calls of MPI; end other programs");
    }
}

TESSERA_INLINE watchdog::~watchdog() {
    if (patience_ > 0) {
        set({}, nullptr, true);
        pthread_join(thread_, nullptr);
    }
    pthread_cond_destroy(&changed_);
    pthread_mutex_destroy(&mutex_);
}

TESSERA_INLINE void watchdog::rename(const char* name) {
    if (patience_ > 0) {
        pthread_setname_np(thread_, name);
    }
}

TESSERA_INLINE void watchdog::set(void* what, words w, bool stops) {
    pthread_mutex_lock(&mutex_);
    context_ = what;
    words_ = w;
    stops_ = stops;
    clock_gettime(CLOCK_MONOTONIC, &until_);
    until_.tv_sec += static_cast<time_t>(patience_) + 1;
    pthread_cond_signal(&changed_);
    pthread_mutex_unlock(&mutex_);
}

TESSERA_INLINE void* watchdog::sit(void* where) {
    static_cast<watchdog*>(where)->watch();
    return nullptr;
}

TESSERA_INLINE void watchdog::watch() {
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

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
