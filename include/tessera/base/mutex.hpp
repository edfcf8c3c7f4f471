// SPDX-License-Identifier: Apache-2.0
// Mutual exclusion by POSIX, for the core does without <mutex>, which takes 40 ms behind tessera.hpp (g++ 12, median of
// 10). In host.hpp it costs nothing that can be measured, but one mutex is enough for the core and what is above it.
#pragma once
#include "tessera/base/begin_header.inl"

#include <pthread.h>

namespace tessera {

class mutex {
public:
    mutex() = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() { pthread_mutex_destroy(&m_); }
    void lock() { pthread_mutex_lock(&m_); }
    void unlock() { pthread_mutex_unlock(&m_); }

private:
    pthread_mutex_t m_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex for as long as it lives.
class locked {
public:
    explicit locked(mutex& m) : m_(m) { m_.lock(); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ~locked() { m_.unlock(); }

private:
    mutex& m_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
