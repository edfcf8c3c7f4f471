// SPDX-License-Identifier: Apache-2.0
// Constants of a foreign graph: its initializers, and what is computed of them and of shapes while a network is made.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/bfloat16.hpp"
#include "tessera/base/half.hpp"
#include "tessera/part/onnx/model.hpp"
#include "tessera/part/onnx/writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::onnx {

/// Numbers in row-major order: fp32, or integers (booleans are 0 and 1).
struct constant {
    std::vector<index_t> extents;
    bool whole = false; ///< integers
    std::vector<float> numbers;
    std::vector<std::int64_t> integers;
    std::string name; ///< of the initializer; "" where it was computed

    std::size_t size() const { return whole ? integers.size() : numbers.size(); }
    double at(std::size_t i) const;
    int rank() const { return static_cast<int>(extents.size()); }
    /// An element becomes that of another constant of the same type.
    void take(std::size_t to, const constant& from, std::size_t at);
};

/// The elements of these extents, at most `most`. Throws cannot_say for more, and for negative extents.
index_t elements_of(const std::vector<index_t>& extents, index_t most = index_t{1} << 40);

namespace detail {

template <class T>
T raw_at(std::string_view raw, std::size_t i) {
    T x;
    std::memcpy(&x, raw.data() + i * sizeof(T), sizeof(T));
    return x;
}

std::int64_t raw_integer(data_type type, std::string_view raw, std::size_t i);

float number_of_bits(data_type type, std::uint16_t bits);

} // namespace detail

/// The elements of a tensor. Throws cannot_say for types that are not read, and where they are more or fewer than its
/// extents say.
constant constant_of(const tensor& t);

/// Walks over the elements of `extents` in order; `at(d)` is the index along dimension d.
class index_walk {
public:
    explicit index_walk(const std::vector<index_t>& extents) : extents_(extents), index_(extents.size(), 0) {}
    index_t at(std::size_t d) const { return index_[d]; }
    void next();
    /// The place in a tensor of these extents that is broadcast, aligned from the right as NumPy aligns shapes.
    std::size_t in(const std::vector<index_t>& other) const;

private:
    const std::vector<index_t>& extents_;
    std::vector<index_t> index_;
};

/// The extents that both are broadcast to. Throws cannot_say where they cannot be.
std::vector<index_t> broadcast_extents(const std::vector<index_t>& a, const std::vector<index_t>& b);

/// The most elements that are computed of `size` others: a small file makes no large constants.
inline index_t most_elements(std::size_t size) { return std::max(static_cast<index_t>(size), index_t{1} << 22); }

/// The elements of `out` dimensions, each taken from `c` where `from` says: from(walk) is a place in c.
template <class From>
constant gathered(const constant& c, const std::vector<index_t>& out, const From& from) {
    constant r;
    r.extents = out;
    r.whole = c.whole;
    const auto count = to_size(elements_of(out, most_elements(c.size())));
    c.whole ? r.integers.resize(count) : r.numbers.resize(count);
    index_walk walk(r.extents);
    for (std::size_t i = 0; i < count; ++i, walk.next()) {
        r.take(i, c, from(walk));
    }
    return r;
}

constant broadcast_constant(const constant& c, const std::vector<index_t>& out);
constant transposed_constant(const constant& c, const std::vector<int>& order);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/constant.inl"
#endif

#include "tessera/base/end_header.inl"
