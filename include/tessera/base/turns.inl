// SPDX-License-Identifier: Apache-2.0
// Bodies of turns.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/turns.hpp"

namespace tessera {

TESSERA_INLINE turns::~turns() {
    pthread_cond_destroy(&changed_);
    pthread_mutex_destroy(&m_);
}

TESSERA_INLINE void turns::take() {
    pthread_mutex_lock(&m_);
    ++waiting_;
    while (!is_mine() && (depth_ > 0 || readers_ > 0)) {
        pthread_cond_wait(&changed_, &m_);
    }
    --waiting_;
    mine();
}

TESSERA_INLINE bool turns::try_take() {
    pthread_mutex_lock(&m_);
    if (!is_mine() && (depth_ > 0 || readers_ > 0)) {
        pthread_mutex_unlock(&m_);
        return false;
    }
    mine();
    return true;
}

TESSERA_INLINE void turns::give() {
    pthread_mutex_lock(&m_);
    --depth_;
    if (depth_ == 0) {
        pthread_cond_broadcast(&changed_);
    }
    pthread_mutex_unlock(&m_);
}

TESSERA_INLINE void turns::share() {
    pthread_mutex_lock(&m_);
    while (depth_ > 0 || waiting_ > 0) {
        pthread_cond_wait(&changed_, &m_);
    }
    ++readers_;
    pthread_mutex_unlock(&m_);
}

TESSERA_INLINE void turns::unshare() {
    pthread_mutex_lock(&m_);
    --readers_;
    if (readers_ == 0) {
        pthread_cond_broadcast(&changed_);
    }
    pthread_mutex_unlock(&m_);
}

TESSERA_INLINE void turns::mine() {
    owner_ = pthread_self();
    ++depth_;
    pthread_mutex_unlock(&m_);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
