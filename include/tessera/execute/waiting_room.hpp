// SPDX-License-Identifier: Apache-2.0
// Threads that sleep until something has changed.
#pragma once
#include "tessera/base/begin_header.inl"

#include <pthread.h>

namespace tessera::detail {

/// A mutex, and threads that sleep until something has changed.
class waiting_room {
public:
    ~waiting_room() { pthread_cond_destroy(&changed_); }
    /// Calls `look` under the lock until it says true; sleeps between until leave() was called.
    template <class Look>
    void wait(Look&& look) {
        const hold mine(m_);
        while (!look()) {
            pthread_cond_wait(&changed_, &m_);
        }
    }
    template <class Change>
    void leave(Change&& change) {
        const hold mine(m_);
        change();
        pthread_cond_broadcast(&changed_);
    }

private:
    struct hold {
        explicit hold(pthread_mutex_t& m) : m_(m) { pthread_mutex_lock(&m_); }
        ~hold() { pthread_mutex_unlock(&m_); }
        hold(const hold&) = delete;
        hold& operator=(const hold&) = delete;
        pthread_mutex_t& m_;
    };
    pthread_mutex_t m_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
