// SPDX-License-Identifier: Apache-2.0
// Bodies of move.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/move.hpp"

namespace tessera::host::detail {

TESSERA_INLINE mover::mover(const element_move& m, const float* from, float* to)
    : m_(m), from_(from + m.from_start), to_(to + m.to_start) {
    if (m_.kept == 0) { // one element
        for (int l = m_.loops; l > 0; --l) {
            m_.count[l] = m_.count[l - 1];
            m_.from[l] = m_.from[l - 1];
            m_.to[l] = m_.to[l - 1];
        }
        m_.count[0] = m_.from[0] = m_.to[0] = 1;
        m_.kept = 1;
        ++m_.loops;
    }
    const int inner = m_.kept - 1;
    // Where neighbours of the source lie along another loop, tiles of both make use of what a cache line holds.
    for (int l = 0; l < inner && m_.loops == m_.kept && tessera::detail::distance(m_.from[inner]) > 1; ++l) {
        if (tessera::detail::distance(m_.from[l]) == 1) {
            tiled_ = true;
            for (int k = l; k + 1 < inner; ++k) {
                std::swap(m_.count[k], m_.count[k + 1]);
                std::swap(m_.from[k], m_.from[k + 1]);
                std::swap(m_.to[k], m_.to[k + 1]);
            }
            break;
        }
    }
    outer_ = tiled_ ? inner - 1 : inner;
    // Sums of many neighbours are taken one by one, other sums row by row.
    const int last = m_.loops - 1;
    by_element_ = last > inner && m_.from[last] == 1 && m_.count[last] >= 16;
}

TESSERA_INLINE void mover::descend(int l, const float* from, float* to) const {
    if (l == outer_) {
        return m_.loops > m_.kept ? sum(from, to) : tiled_ ? transpose(from, to) : copy(from, to);
    }
    for (index_t i = 0; i < m_.count[l]; ++i) {
        descend(l + 1, from + i * m_.from[l], to + i * m_.to[l]);
    }
}

TESSERA_INLINE void mover::copy(const float* from, float* to) const {
    const index_t count = m_.count[outer_];
    const index_t step = m_.from[outer_];
    const index_t apart = m_.to[outer_];
    if (step == 1 && apart == 1) {
        std::memcpy(to, from, to_size(count) * sizeof(float));
    } else if (step == 0 && apart == 1) {
        const float value = *from;
        for (index_t i = 0; i < count; ++i) {
            to[i] = value;
        }
    } else {
        for (index_t i = 0; i < count; ++i) {
            to[i * apart] = from[i * step];
        }
    }
}

TESSERA_INLINE void mover::transpose(const float* from, float* to) const {
    const index_t rows = m_.count[outer_];
    const index_t columns = m_.count[outer_ + 1];
    const index_t from_row = m_.from[outer_];
    const index_t from_column = m_.from[outer_ + 1];
    const index_t to_row = m_.to[outer_];
    const index_t to_column = m_.to[outer_ + 1];
    for (index_t r = 0; r < rows; r += tile) {
        const index_t r_end = r + tile < rows ? r + tile : rows;
        for (index_t c = 0; c < columns; c += tile) {
            const index_t c_end = c + tile < columns ? c + tile : columns;
            for (index_t i = r; i < r_end; ++i) {
                for (index_t k = c; k < c_end; ++k) {
                    to[i * to_row + k * to_column] = from[i * from_row + k * from_column];
                }
            }
        }
    }
}

TESSERA_INLINE void mover::sum(const float* from, float* to) const {
    const index_t count = m_.count[outer_];
    const index_t step = m_.from[outer_];
    const index_t apart = m_.to[outer_];
    if (by_element_) {
        for (index_t i = 0; i < count; ++i) {
            to[i * apart] = sum_at(m_.kept, from + i * step);
        }
        return;
    }
    bool first = true;
    add_rows(m_.kept, from, to, first);
}

TESSERA_INLINE void mover::add_rows(int l, const float* from, float* to, bool& first) const {
    for (index_t i = 0; l < m_.loops && i < m_.count[l]; ++i) {
        add_rows(l + 1, from + i * m_.from[l], to, first);
    }
    if (l < m_.loops) {
        return;
    }
    const index_t count = m_.count[outer_];
    const index_t step = m_.from[outer_];
    const index_t apart = m_.to[outer_];
    if (first) {
        copy(from, to);
    } else if (step == 1 && apart == 1) {
        for (index_t i = 0; i < count; ++i) {
            to[i] += from[i];
        }
    } else {
        for (index_t i = 0; i < count; ++i) {
            to[i * apart] += from[i * step];
        }
    }
    first = false;
}

TESSERA_INLINE float mover::sum_at(int l, const float* from) const {
    if (l + 1 < m_.loops) {
        float all = 0;
        for (index_t i = 0; i < m_.count[l]; ++i) {
            all += sum_at(l + 1, from + i * m_.from[l]);
        }
        return all;
    }
    float parts[16]{};
    index_t i = 0;
    for (; i + 16 <= m_.count[l]; i += 16) {
        for (int k = 0; k < 16; ++k) {
            parts[k] += from[i + k];
        }
    }
    for (; i < m_.count[l]; ++i) {
        parts[i % 16] += from[i];
    }
    float all = 0;
    for (const float part : parts) {
        all += part;
    }
    return all;
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE move_job::move_job(const bound_call& b) {
    const compute_call& c = b.call;
    const description& d = *c.d;
    const int out = d.output();
    const bool forward = is_forward(c.what);
    const tile_view& y = forward ? c.value[out] : c.gradient[out];
    index_t written = 0;
    for (int o = 0; o < out; ++o) {
        if (region(d, o, c.ranges).empty() || !(forward || has(c.emits, o))) {
            continue;
        }
        const tile_view& x = forward ? c.value[o] : c.gradient[o];
        const tile_view& from = forward ? x : y;
        const tile_view& to = forward ? y : x;
        const element_move m = move_between(d, forward ? o : out, from.region, forward ? out : o, to.region, c.ranges);
        if (!m.is_empty()) {
            moves_.emplace_back(m, static_cast<const float*>(from.data), static_cast<float*>(to.data));
            written += m.written();
        }
    }
    if (forward && written < y.region.volume()) {
        zeros_ = static_cast<float*>(y.data);
        zero_count_ = to_size(y.region.volume());
    }
}

TESSERA_INLINE void move_job::run(const run_state&) {
    if (zero_count_ > 0) {
        std::memset(zeros_, 0, zero_count_ * sizeof(float));
    }
    for (const detail::mover& m : moves_) {
        m.run();
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
