// SPDX-License-Identifier: Apache-2.0
// Turns of threads: one at a time changes things, or several at a time read them.
#pragma once
#include "tessera/base/begin_header.inl"

#include <pthread.h>

namespace tessera {

/// A lock that a thread may take again while it has it, or several threads may share. Threads that want it alone come before those that would share it, so
/// that a stream of readers does not keep a writer out for good. (<shared_mutex> knows neither.)
class turns {
public:
    turns() = default;
    turns(const turns&) = delete;
    turns& operator=(const turns&) = delete;
    ~turns() {
        pthread_cond_destroy(&changed_);
        pthread_mutex_destroy(&m_);
    }

    /// Waits until no other thread has it.
    void take() {
        pthread_mutex_lock(&m_);
        ++waiting_;
        while (!is_mine() && (depth_ > 0 || readers_ > 0)) {
            pthread_cond_wait(&changed_, &m_);
        }
        --waiting_;
        mine();
    }
    /// The same without waiting: false where another thread has it.
    bool try_take() {
        pthread_mutex_lock(&m_);
        if (!is_mine() && (depth_ > 0 || readers_ > 0)) {
            pthread_mutex_unlock(&m_);
            return false;
        }
        mine();
        return true;
    }
    void give() {
        pthread_mutex_lock(&m_);
        --depth_;
        depth_ == 0 ? void(pthread_cond_broadcast(&changed_)) : void();
        pthread_mutex_unlock(&m_);
    }

    /// With other threads that share it. Not for a thread that has it alone.
    void share() {
        pthread_mutex_lock(&m_);
        while (depth_ > 0 || waiting_ > 0) {
            pthread_cond_wait(&changed_, &m_);
        }
        ++readers_;
        pthread_mutex_unlock(&m_);
    }
    void unshare() {
        pthread_mutex_lock(&m_);
        --readers_;
        readers_ == 0 ? void(pthread_cond_broadcast(&changed_)) : void();
        pthread_mutex_unlock(&m_);
    }

private:
    bool is_mine() const { return depth_ > 0 && pthread_equal(owner_, pthread_self()) != 0; }
    void mine() {
        owner_ = pthread_self();
        ++depth_;
        pthread_mutex_unlock(&m_);
    }

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

#include "tessera/base/end_header.inl"
