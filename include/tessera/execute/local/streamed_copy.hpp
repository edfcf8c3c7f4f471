// SPDX-License-Identifier: Apache-2.0
// Copies of much memory that is not read again soon, past the caches.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tessera::detail {

/// From so many bytes on: the C library writes past the caches only from three quarters of them on, which may be
/// hundreds of megabytes; until then every line that is written is read first, a third of the traffic.
inline constexpr std::size_t streamed_from = std::size_t{1} << 18U;

/// What memcpy does.
inline void copy_streamed(const void* from, void* to, std::size_t bytes) {
#if defined(__x86_64__)
    if (bytes >= streamed_from) {
        const auto* f = static_cast<const unsigned char*>(from);
        auto* t = static_cast<unsigned char*>(to);
        const std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(t) % 64) % 64;
        std::memcpy(t, f, head);
        f += head;
        t += head;
        bytes -= head;
        for (; bytes >= 64; f += 64, t += 64, bytes -= 64) {
            const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(f));
            const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + 16));
            const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + 32));
            const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + 48));
            _mm_stream_si128(reinterpret_cast<__m128i*>(t), a);
            _mm_stream_si128(reinterpret_cast<__m128i*>(t + 16), b);
            _mm_stream_si128(reinterpret_cast<__m128i*>(t + 32), c);
            _mm_stream_si128(reinterpret_cast<__m128i*>(t + 48), d);
        }
        _mm_sfence(); // before another thread reads them
        from = f;
        to = t;
    }
#endif
    std::memcpy(to, from, bytes);
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
