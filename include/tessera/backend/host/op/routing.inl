// SPDX-License-Identifier: Apache-2.0
// Bodies of routing.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/routing.hpp"

#include <algorithm>

namespace tessera::host {

namespace detail {

TESSERA_INLINE slot_table::slot_table(const tile_view& t)
    : data(static_cast<const std::int32_t*>(t.data)), region(t.region) {}

TESSERA_INLINE const std::int32_t* slot_table::of(index_t n, index_t e) const {
    return data + reference::detail::place_in(region, n, e, region.dim[2].begin);
}

TESSERA_INLINE row_tile::row_tile(const tile_view& t) : data(floats(t.data)), region(t.region) {}

TESSERA_INLINE float* row_tile::at(index_t n, index_t row, index_t column) const {
    return data + reference::detail::place_in(region, n, row, column);
}

} // namespace detail

TESSERA_INLINE void dispatch_job::run(const run_state&) {
    const bool is_forward_pass = is_forward(c_.what);
    if (!is_forward_pass) {
        std::fill_n(detail::floats(c_.gradient[input].data), c_.gradient[input].region.volume(), 0.0F);
    }
    for (index_t n = c_.ranges[0].begin; n < c_.ranges[0].end; ++n) {
        if (!is_forward_pass) {
            backward(n);
            continue;
        }
        for (index_t e = c_.ranges[1].begin; e < c_.ranges[1].end; ++e) {
            forward(n, e);
        }
    }
}

TESSERA_INLINE void dispatch_job::forward(index_t n, index_t e) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile x(c_.value[input]);
    const detail::row_tile y(c_.value[output]);
    const interval own = c_.ranges[tokens];
    for (index_t s = 0; s < slots.slots(); ++s) {
        const index_t t = index_t{slots.of(n, e)[s]} - 1;
        float* const to = y.at(n, e * slots.slots() + s, c_.ranges[channels].begin);
        if (t >= own.begin && t < own.end) {
            std::copy_n(x.at(n, t, c_.ranges[channels].begin), c_.ranges[channels].size(), to);
        } else {
            std::fill_n(to, c_.ranges[channels].size(), 0.0F);
        }
    }
}

TESSERA_INLINE void dispatch_job::backward(index_t n) const {
    const detail::row_tile dx(c_.gradient[input]);
    const detail::row_tile dy(c_.gradient[output]);
    const index_t first = c_.ranges[channels].begin;
    const index_t width = c_.ranges[channels].size();
    const detail::slot_table slots(c_.value[table]);
    slots.for_each(n, c_.ranges[1], c_.ranges[tokens], [&](index_t, index_t row, index_t t) {
        const float* const from = dy.at(n, row, first);
        float* const to = dx.at(n, t, first);
        for (index_t c = 0; c < width; ++c) {
            to[c] += from[c];
        }
    });
}

TESSERA_INLINE void combine_job::run(const run_state&) {
    for (const int o : {gates, made}) {
        if (!is_forward(c_.what) && has(c_.emits, o)) {
            std::fill_n(detail::floats(c_.gradient[o].data), c_.gradient[o].region.volume(), 0.0F);
        }
    }
    for (index_t n = c_.ranges[0].begin; n < c_.ranges[0].end; ++n) {
        if (is_forward(c_.what)) {
            forward(n);
            continue;
        }
        if (has(c_.emits, gates)) {
            gradient_of_gates(n);
        }
        if (has(c_.emits, made)) {
            gradient_of_rows(n);
        }
    }
}

TESSERA_INLINE void combine_job::forward(index_t n) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile gate(c_.value[gates]);
    const detail::row_tile x(c_.value[made]);
    const detail::row_tile y(c_.value[output]);
    const interval own = c_.ranges[tokens];
    const index_t first = c_.ranges[channels].begin;
    const index_t width = c_.ranges[channels].size();
    for (index_t t = own.begin; t < own.end; ++t) {
        std::fill_n(y.at(n, t, first), width, 0.0F);
    }
    slots.for_each(n, c_.ranges[experts], own, [&](index_t e, index_t row, index_t t) {
        const float weight = *gate.at(n, t, e);
        const float* const from = x.at(n, row, first);
        float* const to = y.at(n, t, first);
        for (index_t c = 0; c < width; ++c) {
            to[c] += weight * from[c];
        }
    });
}

TESSERA_INLINE void combine_job::gradient_of_gates(index_t n) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile x(c_.value[made]);
    const detail::row_tile to(c_.gradient[gates]);
    const detail::row_tile dy(c_.gradient[output]);
    const index_t first = c_.ranges[channels].begin;
    const index_t width = c_.ranges[channels].size();
    slots.for_each(n, c_.ranges[experts], c_.ranges[tokens], [&](index_t e, index_t row, index_t t) {
        const float* const a = x.at(n, row, first);
        const float* const b = dy.at(n, t, first);
        float parts[16] = {}; // side by side, so that the sum is vectorized
        index_t c = 0;
        for (; c + 16 <= width; c += 16) {
            for (int k = 0; k < 16; ++k) {
                parts[k] += a[c + k] * b[c + k];
            }
        }
        for (int k = 0; c + k < width; ++k) {
            parts[k] += a[c + k] * b[c + k];
        }
        float sum = 0;
        for (const float part : parts) {
            sum += part;
        }
        *to.at(n, t, e) += sum;
    });
}

TESSERA_INLINE void combine_job::gradient_of_rows(index_t n) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile gate(c_.value[gates]);
    const detail::row_tile to(c_.gradient[made]);
    const detail::row_tile dy(c_.gradient[output]);
    const index_t first = c_.ranges[channels].begin;
    const index_t width = c_.ranges[channels].size();
    slots.for_each(n, c_.ranges[experts], c_.ranges[tokens], [&](index_t e, index_t row, index_t t) {
        const float weight = *gate.at(n, t, e);
        const float* const from = dy.at(n, t, first);
        float* const into = to.at(n, row, first);
        for (index_t c = 0; c < width; ++c) {
            into[c] = weight * from[c];
        }
    });
}

TESSERA_INLINE void routed_linear_job::run(const run_state&) {
    const detail::slot_table slots(c_.value[table]);
    const bool forward = is_forward(c_.what);
    const bool of_weights = !forward && !has(c_.emits, input);
    for (index_t e = c_.ranges[1].begin; e < c_.ranges[1].end; ++e) {
        bool first_product = true;
        for (index_t n = c_.ranges[0].begin; n < c_.ranges[0].end; ++n) {
            const std::int32_t* const token = slots.of(n, e);
            const index_t begin = e * slots.slots();
            // Runs of filled slots: one at the beginning, as token_slots fills them.
            for (index_t s = 0, end = 0; s < slots.slots(); s = end) {
                const bool filled = token[s] > 0;
                for (end = s + 1; end < slots.slots() && (token[end] > 0) == filled;) {
                    ++end;
                }
                const interval which{begin + s, begin + end};
                if (filled) {
                    multiply(n, e, which, first_product);
                    first_product = false;
                } else if (!of_weights) {
                    clear(rows(forward ? output : input, !forward, n, which));
                }
            }
        }
        if (of_weights && first_product) { // nothing has come to this expert
            clear(weights(true, e));
        }
    }
}

TESSERA_INLINE void routed_linear_job::multiply(index_t n, index_t e, const interval& filled, bool first) const {
    const auto part = [&](int o, bool gradient) { return rows(o, gradient, n, filled); };
    if (is_forward(c_.what)) {
        detail::multiply_matrices(part(input, false), weights(false, e).transposed(), part(output, false), 1);
    } else if (has(c_.emits, input)) {
        detail::multiply_matrices(part(output, true), weights(false, e), part(input, true), 1);
    } else {
        detail::multiply_matrices(part(output, true).transposed(), part(input, false), weights(true, e), 1,
                                  first ? 0.0F : 1.0F);
    }
}

TESSERA_INLINE void routed_linear_job::clear(const detail::matrix_view& to) {
    for (index_t r = 0; r < to.rows; ++r) {
        std::fill_n(to.data + r * to.row_stride, to.columns, 0.0F);
    }
}

TESSERA_INLINE detail::matrix_view routed_linear_job::rows(int o, bool gradient, index_t n,
                                                           const interval& which) const {
    const detail::row_tile at(gradient ? c_.gradient[o] : c_.value[o]);
    const interval columns = c_.ranges[o == input ? inputs : outputs];
    return {at.at(n, which.begin, columns.begin), which.size(), columns.size(), at.region.dim[2].size(), 1};
}

TESSERA_INLINE detail::matrix_view routed_linear_job::weights(bool gradient, index_t e) const {
    const detail::row_tile at(gradient ? c_.gradient[weight] : c_.value[weight]);
    return {at.at(e, c_.ranges[outputs].begin, c_.ranges[inputs].begin), c_.ranges[outputs].size(),
            c_.ranges[inputs].size(), at.region.dim[2].size(), 1};
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
