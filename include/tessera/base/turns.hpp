// SPDX-License-Identifier: Apache-2.0
// Turns of threads: one at a time changes things, or several at a time read them.
#pragma once
#include "tessera/base/begin_header.inl"

#include <pthread.h>

namespace tessera {

/// A lock that a thread may take again while it has it, or several threads may share. Threads that want it alone come
/// before those that would share it, so that a stream of readers does not keep a writer out for good. (<shared_mutex>
/// knows neither.)
class turns {
public:
    turns() = default;
    turns(const turns&) = delete;
    turns& operator=(const turns&) = delete;
    ~turns();

    /// Waits until no other thread has it.
    void take();
    /// The same without waiting: false where another thread has it.
    bool try_take();
    void give();

    /// With other threads that share it. Not for a thread that has it alone.
    void share();
    void unshare();

private:
    bool is_mine() const { return depth_ > 0 && pthread_equal(owner_, pthread_self()) != 0; }
    void mine();

    pthread_mutex_t m_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
    pthread_t owner_{};
    int depth_ = 0; ///< how often the owner has taken it
    int readers_ = 0;
    int waiting_ = 0; ///< threads that want it alone
};

/// Has the turn for as long as it lives.
class turn {
public:
    explicit turn(turns& t) : t_(t) { t_.take(); }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() { t_.give(); }

private:
    turns& t_;
};

/// Shares it for as long as it lives.
class shared_turn {
public:
    explicit shared_turn(turns& t) : t_(t) { t_.share(); }
    shared_turn(const shared_turn&) = delete;
    shared_turn& operator=(const shared_turn&) = delete;
    ~shared_turn() { t_.unshare(); }

private:
    turns& t_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/turns.inl"
#endif

#include "tessera/base/end_header.inl"
