// SPDX-License-Identifier: Apache-2.0
// Checksums of 32 bits: zlib's CRC-32 of files, and CRC-32C (Castagnoli's polynomial) of records. By carry-less
// products where the processor has them (ten times as fast), else by zlib or a table.
#pragma once
#include "tessera/base/begin_header.inl"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <zlib.h>

#if defined(__x86_64__)
#include <smmintrin.h>
#include <wmmintrin.h>
#endif

namespace tessera::io::detail {

/// CRC-32 of zlib, PNG and Ethernet.
struct crc_of_zlib {
    static constexpr std::uint32_t polynomial = 0x04c11db7U;
    static std::uint32_t by_table(std::uint32_t before, const unsigned char* bytes, std::size_t count);
};

/// CRC-32C of iSCSI (RFC 3720, section 12.1) and TFRecord files.
struct crc_of_castagnoli {
    static constexpr std::uint32_t polynomial = 0x1edc6f41U;
    /// What a byte alone leaves, its bits reversed.
    static constexpr std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> all{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t r = i;
            for (int bit = 0; bit < 8; ++bit) {
                r = (r >> 1U) ^ ((r & 1U) != 0 ? 0x82f63b78U : 0U); // the polynomial, reversed
            }
            all[i] = r;
        }
        return all;
    }();
    static std::uint32_t by_table(std::uint32_t before, const unsigned char* bytes, std::size_t count);
};

/// x^n modulo the polynomial, its bits reversed and shifted by one as products of reversed numbers need it.
template <class Crc>
constexpr std::uint64_t crc_power(int n) {
    std::uint32_t r = 1;
    for (int i = 0; i < n; ++i) {
        r = (r << 1U) ^ ((r >> 31U) != 0 ? Crc::polynomial : 0U);
    }
    std::uint64_t reversed = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
        reversed |= static_cast<std::uint64_t>((r >> bit) & 1U) << (31 - bit);
    }
    return reversed << 1U;
}

#if defined(__x86_64__)
/// Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ instruction" (Intel, 2009): 64 bytes at
/// a time are folded onto the next 64; of the 16 that are left the table makes the sum. At least 64 bytes.
template <class Crc>
__attribute__((target("pclmul,sse4.1"))) inline std::uint32_t
crc_by_products(std::uint32_t before, const unsigned char* bytes, std::size_t count) {
    const auto load = [](const unsigned char* p) __attribute__((target("pclmul,sse4.1"))) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    };
    const auto fold = [](__m128i x, __m128i by, __m128i next) __attribute__((target("pclmul,sse4.1"))) {
        return _mm_xor_si128(next, _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11)));
    };
    constexpr std::uint64_t by_four[] = {crc_power<Crc>(512 + 32), crc_power<Crc>(512 - 32)};
    constexpr std::uint64_t by_one[] = {crc_power<Crc>(128 + 32), crc_power<Crc>(128 - 32)};
    const __m128i four = _mm_set_epi64x(static_cast<long long>(by_four[1]), static_cast<long long>(by_four[0]));
    const __m128i one = _mm_set_epi64x(static_cast<long long>(by_one[1]), static_cast<long long>(by_one[0]));
    __m128i x[4] = {_mm_xor_si128(load(bytes), _mm_cvtsi32_si128(static_cast<int>(~before))), load(bytes + 16),
                    load(bytes + 32), load(bytes + 48)};
    for (bytes += 64, count -= 64; count >= 64; bytes += 64, count -= 64) {
        for (int i = 0; i < 4; ++i) {
            x[i] = fold(x[i], four, load(bytes + 16 * i));
        }
    }
    for (int i = 1; i < 4; ++i) {
        x[0] = fold(x[0], one, x[i]);
    }
    for (; count >= 16; bytes += 16, count -= 16) {
        x[0] = fold(x[0], one, load(bytes));
    }
    alignas(16) unsigned char left[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(left), x[0]);
    return Crc::by_table(Crc::by_table(~std::uint32_t{0}, left, sizeof left), bytes, count);
}
#endif

/// Of bytes that follow those of which it was `before`.
template <class Crc = crc_of_zlib>
inline std::uint32_t crc_of(std::string_view text, std::uint32_t before = 0) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
#if defined(__x86_64__)
    static const bool fast = __builtin_cpu_supports("pclmul") > 0 && __builtin_cpu_supports("sse4.1") > 0;
    if (fast && text.size() >= 64) {
        return crc_by_products<Crc>(before, bytes, text.size());
    }
#endif
    return Crc::by_table(before, bytes, text.size());
}

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/crc32.inl"
#endif

#include "tessera/base/end_header.inl"
