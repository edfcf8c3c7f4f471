// SPDX-License-Identifier: Apache-2.0
// A vector of fixed capacity that lives in constant expressions and never allocates.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>

namespace tessera {

/// A sequence of at most `Capacity` elements stored in place. `push_back` beyond the capacity is refused: in a constant
/// expression it does not compile, at run time it returns false and leaves the vector as it was.
template <class T, int Capacity>
struct fixed_vector {
    T items[static_cast<std::size_t>(Capacity)]{};
    int count = 0;

    constexpr int size() const { return count; }
    constexpr bool empty() const { return count == 0; }
    static constexpr int capacity() { return Capacity; }
    constexpr T& operator[](int i) { return items[static_cast<std::size_t>(i)]; }
    constexpr const T& operator[](int i) const { return items[static_cast<std::size_t>(i)]; }
    constexpr bool push_back(const T& value) {
        if (count >= Capacity) {
            return false;
        }
        items[static_cast<std::size_t>(count++)] = value;
        return true;
    }
    constexpr T* begin() { return items; }
    constexpr T* end() { return items + count; }
    constexpr const T* begin() const { return items; }
    constexpr const T* end() const { return items + count; }
    friend constexpr bool operator==(const fixed_vector& a, const fixed_vector& b) {
        if (a.count != b.count) {
            return false;
        }
        for (int i = 0; i < a.count; ++i) {
            if (!(a[i] == b[i])) {
                return false;
            }
        }
        return true;
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
