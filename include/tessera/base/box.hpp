// SPDX-License-Identifier: Apache-2.0
// Intervals, boxes (products of intervals) and shapes of tensors.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Extents, offsets and counts of elements.
using index_t = std::int64_t;

/// A count or an index, which is not negative, as the standard library counts: `v[to_size(i)]`. A cast stands instead
/// where a network, its layouts and its strategy are read in constant expressions: compilers limit the steps of these,
/// and a call is one.
constexpr std::size_t to_size(index_t n) noexcept { return static_cast<std::size_t>(n); }

/// Largest number of dimensions of a tensor.
inline constexpr int max_rank = 5;

/// A half-open range [begin, end) of indices; empty when end <= begin.
struct interval {
    index_t begin = 0;
    index_t end = 0;

    constexpr index_t size() const { return end > begin ? end - begin : 0; }
    constexpr bool empty() const { return end <= begin; }
    constexpr bool contains(const interval& other) const {
        return other.empty() || (begin <= other.begin && other.end <= end);
    }
    friend constexpr bool operator==(const interval&, const interval&) = default;
};

constexpr interval intersect(const interval& a, const interval& b) {
    const index_t lo = a.begin > b.begin ? a.begin : b.begin;
    const index_t hi = a.end < b.end ? a.end : b.end;
    return {lo, hi > lo ? hi : lo};
}

/// Part `part` of `parts` when `extent` indices are divided as evenly as possible: [part*extent/parts,
/// (part+1)*extent/parts).
constexpr interval even_part(index_t extent, index_t parts, index_t part) {
    return {part * extent / parts, (part + 1) * extent / parts};
}

/// The extents of a tensor, outermost dimension first.
struct shape {
    int rank = 0;
    index_t extent[max_rank]{};

    constexpr index_t operator[](int d) const { return extent[d]; }
    constexpr index_t volume() const {
        index_t v = 1;
        for (int d = 0; d < rank; ++d) {
            v *= extent[d];
        }
        return v;
    }
    friend constexpr bool operator==(const shape& a, const shape& b) {
        if (a.rank != b.rank) {
            return false;
        }
        for (int d = 0; d < a.rank; ++d) {
            if (a.extent[d] != b.extent[d]) {
                return false;
            }
        }
        return true;
    }
};

template <class... Extents>
constexpr shape make_shape(Extents... extents) {
    static_assert(sizeof...(extents) <= max_rank, "tessera: a tensor has at most max_rank dimensions");
    return shape{static_cast<int>(sizeof...(extents)), {static_cast<index_t>(extents)...}};
}

/// An extent that an int does not hold, or more elements than any machine has (2^48): nothing else is promised not to
/// overflow.
constexpr bool is_too_large(const shape& s) {
    constexpr index_t most = index_t{1} << 48;
    index_t v = 1;
    for (int d = 0; d < s.rank; ++d) {
        if (s.extent[d] > INT32_MAX || (s.extent[d] > 0 && v > most / s.extent[d])) {
            return true;
        }
        v *= s.extent[d];
    }
    return false;
}

/// A rectangular region of a tensor in global coordinates. A box of rank 0 is one element (a scalar).
struct box {
    int rank = 0;
    interval dim[max_rank]{};

    constexpr index_t volume() const {
        index_t v = 1;
        for (int d = 0; d < rank; ++d) {
            v *= dim[d].size();
        }
        return v;
    }
    constexpr bool empty() const { return volume() == 0; }
    constexpr shape extents() const {
        shape s{rank, {}};
        for (int d = 0; d < rank; ++d) {
            s.extent[d] = dim[d].size();
        }
        return s;
    }
    constexpr bool contains(const box& other) const {
        for (int d = 0; d < rank; ++d) {
            if (!dim[d].contains(other.dim[d])) {
                return false;
            }
        }
        return true;
    }
    friend constexpr bool operator==(const box& a, const box& b) {
        if (a.rank != b.rank) {
            return false;
        }
        for (int d = 0; d < a.rank; ++d) {
            if (!(a.dim[d] == b.dim[d])) {
                return false;
            }
        }
        return true;
    }
};

constexpr box whole(const shape& s) {
    box b{s.rank, {}};
    for (int d = 0; d < s.rank; ++d) {
        b.dim[d] = {0, s.extent[d]};
    }
    return b;
}

constexpr box intersect(const box& a, const box& b) {
    box r{a.rank, {}};
    for (int d = 0; d < a.rank; ++d) {
        r.dim[d] = intersect(a.dim[d], b.dim[d]);
    }
    return r;
}

/// Elements of the intersection, in two thirds of the time that making it takes.
constexpr index_t common_volume(const box& a, const box& b) {
    index_t volume = 1;
    for (int d = 0; d < a.rank && volume > 0; ++d) {
        volume *= intersect(a.dim[d], b.dim[d]).size();
    }
    return volume;
}

/// Type of the elements of a tensor.
enum class element : std::uint8_t { f32, f64, i32, bf16 };

constexpr index_t bytes_of(element e) { return e == element::f64 ? 8 : e == element::bf16 ? 2 : 4; }

constexpr const char* to_text(element e) {
    constexpr const char* names[] = {"f32", "f64", "i32", "bf16"};
    return names[static_cast<int>(e)];
}

} // namespace tessera

#include "tessera/base/end_header.inl"
