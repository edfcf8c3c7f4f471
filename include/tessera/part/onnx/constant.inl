// SPDX-License-Identifier: Apache-2.0
// Bodies of constant.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/constant.hpp"

namespace tessera::onnx {

TESSERA_INLINE double constant::at(std::size_t i) const {
    return whole ? static_cast<double>(integers[i]) : static_cast<double>(numbers[i]);
}

TESSERA_INLINE void constant::take(std::size_t to, const constant& from, std::size_t at) {
    if (whole) {
        integers[to] = from.integers[at];
    } else {
        numbers[to] = from.numbers[at];
    }
}

TESSERA_INLINE index_t elements_of(const std::vector<index_t>& extents, index_t most) {
    index_t n = 1;
    for (const index_t e : extents) {
        if (e < 0 || __builtin_mul_overflow(n, e, &n) || n > most) {
            throw cannot_say{"a tensor of " + std::to_string(extents.size()) + " dimensions, one of them " +
                             std::to_string(e) + ", is too large or has a negative extent"};
        }
    }
    return n;
}

} // namespace tessera::onnx

namespace tessera::onnx::detail {

TESSERA_INLINE std::int64_t raw_integer(data_type type, std::string_view raw, std::size_t i) {
    switch (type) {
    case data_type::u8:
    case data_type::boolean:
        return raw_at<std::uint8_t>(raw, i);
    case data_type::i8:
        return raw_at<std::int8_t>(raw, i);
    case data_type::u16:
        return raw_at<std::uint16_t>(raw, i);
    case data_type::i16:
        return raw_at<std::int16_t>(raw, i);
    case data_type::i32:
        return raw_at<std::int32_t>(raw, i);
    case data_type::u32:
        return raw_at<std::uint32_t>(raw, i);
    default:
        return raw_at<std::int64_t>(raw, i);
    }
}

TESSERA_INLINE float number_of_bits(data_type type, std::uint16_t bits) {
    return type == data_type::f16 ? float_of_half(bits) : static_cast<float>(bfloat16::of_bits(bits));
}

} // namespace tessera::onnx::detail

namespace tessera::onnx {

TESSERA_INLINE constant constant_of(const tensor& t) {
    constant c;
    c.extents = t.extents;
    c.name = t.name;
    const bool number = is_number(t.type);
    if (!number && !is_integer(t.type)) {
        throw cannot_say{"the tensor '" + t.name + "' is of " + to_text(t.type) +
                         ", and float, double, float16, bfloat16, integers and bool are read"};
    }
    const auto count = to_size(elements_of(t.extents));
    const auto have = t.has_raw                  ? t.raw.size() / to_size(bytes_of(t.type))
                      : t.type == data_type::f32 ? t.floats.size()
                      : t.type == data_type::f64 ? t.doubles.size()
                                                 : t.integers.size();
    if (have != count || (t.has_raw && t.raw.size() != count * to_size(bytes_of(t.type)))) {
        throw cannot_say{"the tensor '" + t.name + "' has " + std::to_string(have) + " elements, and its extents say " +
                         std::to_string(count)};
    }
    if (!number) {
        c.whole = true;
        c.integers = t.integers;
        for (std::size_t i = 0; t.has_raw && i < count; ++i) {
            c.integers.push_back(detail::raw_integer(t.type, t.raw, i));
        }
        return c;
    }
    c.numbers.resize(count);
    if (t.type == data_type::f32) {
        if (!t.has_raw) {
            c.numbers = t.floats;
        } else if (count > 0) {
            std::memcpy(c.numbers.data(), t.raw.data(), t.raw.size());
        }
        return c;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (t.type == data_type::f64) {
            c.numbers[i] = static_cast<float>(t.has_raw ? detail::raw_at<double>(t.raw, i) : t.doubles[i]);
        } else {
            c.numbers[i] = detail::number_of_bits(t.type, t.has_raw ? detail::raw_at<std::uint16_t>(t.raw, i)
                                                                    : static_cast<std::uint16_t>(t.integers[i]));
        }
    }
    return c;
}

TESSERA_INLINE void index_walk::next() {
    for (std::size_t d = extents_.size(); d-- > 0;) {
        if (++index_[d] < extents_[d]) {
            return;
        }
        index_[d] = 0;
    }
}

TESSERA_INLINE std::size_t index_walk::in(const std::vector<index_t>& other) const {
    index_t place = 0;
    for (std::size_t d = 0; d < other.size(); ++d) {
        const index_t i = index_[d + index_.size() - other.size()];
        place = place * other[d] + (other[d] == 1 ? 0 : i);
    }
    return to_size(place);
}

TESSERA_INLINE std::vector<index_t> broadcast_extents(const std::vector<index_t>& a, const std::vector<index_t>& b) {
    std::vector<index_t> out(std::max(a.size(), b.size()), 1);
    for (std::size_t k = 0; k < out.size(); ++k) {
        const index_t x = k + a.size() < out.size() ? 1 : a[k + a.size() - out.size()];
        const index_t y = k + b.size() < out.size() ? 1 : b[k + b.size() - out.size()];
        if (x != y && x != 1 && y != 1) {
            throw cannot_say{"extents " + std::to_string(x) + " and " + std::to_string(y) + " cannot be broadcast"};
        }
        out[k] = x == 1 ? y : x;
    }
    return out;
}

TESSERA_INLINE constant broadcast_constant(const constant& c, const std::vector<index_t>& out) {
    return gathered(c, out, [&](const index_walk& w) { return w.in(c.extents); });
}

TESSERA_INLINE constant transposed_constant(const constant& c, const std::vector<int>& order) {
    std::vector<index_t> out;
    for (const int d : order) {
        out.push_back(c.extents[to_size(d)]);
    }
    return gathered(c, out, [&](const index_walk& w) {
        std::vector<index_t> index(order.size());
        for (std::size_t k = 0; k < order.size(); ++k) {
            index[to_size(order[k])] = w.at(k);
        }
        index_t place = 0;
        for (std::size_t d = 0; d < index.size(); ++d) {
            place = place * c.extents[d] + index[d];
        }
        return to_size(place);
    });
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
