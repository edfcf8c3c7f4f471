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
    return data + ((n - region.dim[0].begin) * region.dim[1].size() + e - region.dim[1].begin) * slots();
}

TESSERA_INLINE row_tile::row_tile(const tile_view& t) : data(floats(t.data)), region(t.region) {}

TESSERA_INLINE float* row_tile::at(index_t n, index_t row, index_t column) const {
    return data +
           ((n - region.dim[0].begin) * region.dim[1].size() + row - region.dim[1].begin) * region.dim[2].size() +
           column - region.dim[2].begin;
}

} // namespace detail

TESSERA_INLINE void dispatch_job::run(const run_state&) {
    const bool is_forward_pass = is_forward(c_.what);
    if (!is_forward_pass) {
        std::fill_n(detail::floats(c_.gradient[input].data), c_.gradient[input].region.volume(), 0.0F);
    }
    for (index_t n = c_.ranges[0].begin; n < c_.ranges[0].end; ++n) {
        for (index_t e = c_.ranges[1].begin; e < c_.ranges[1].end; ++e) {
            is_forward_pass ? forward(n, e) : backward(n, e);
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

TESSERA_INLINE void dispatch_job::backward(index_t n, index_t e) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile dx(c_.gradient[input]);
    const detail::row_tile dy(c_.gradient[output]);
    const interval own = c_.ranges[tokens];
    for (index_t s = 0; s < slots.slots(); ++s) {
        const index_t t = index_t{slots.of(n, e)[s]} - 1;
        if (t < own.begin || t >= own.end) {
            continue;
        }
        const float* const from = dy.at(n, e * slots.slots() + s, c_.ranges[channels].begin);
        float* const to = dx.at(n, t, c_.ranges[channels].begin);
        for (index_t c = 0; c < c_.ranges[channels].size(); ++c) {
            to[c] += from[c];
        }
    }
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
    for (index_t e = c_.ranges[experts].begin; e < c_.ranges[experts].end; ++e) {
        for (index_t s = 0; s < slots.slots(); ++s) {
            const index_t t = index_t{slots.of(n, e)[s]} - 1;
            if (t < own.begin || t >= own.end) {
                continue;
            }
            const float weight = *gate.at(n, t, e);
            const float* const from = x.at(n, e * slots.slots() + s, first);
            float* const to = y.at(n, t, first);
            for (index_t c = 0; c < width; ++c) {
                to[c] += weight * from[c];
            }
        }
    }
}

TESSERA_INLINE void combine_job::gradient_of_gates(index_t n) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile x(c_.value[made]);
    const detail::row_tile to(c_.gradient[gates]);
    const detail::row_tile dy(c_.gradient[output]);
    const interval own = c_.ranges[tokens];
    const index_t first = c_.ranges[channels].begin;
    const index_t width = c_.ranges[channels].size();
    for (index_t e = c_.ranges[experts].begin; e < c_.ranges[experts].end; ++e) {
        for (index_t s = 0; s < slots.slots(); ++s) {
            const index_t t = index_t{slots.of(n, e)[s]} - 1;
            if (t < own.begin || t >= own.end) {
                continue;
            }
            const float* const a = x.at(n, e * slots.slots() + s, first);
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
        }
    }
}

TESSERA_INLINE void combine_job::gradient_of_rows(index_t n) const {
    const detail::slot_table slots(c_.value[table]);
    const detail::row_tile gate(c_.value[gates]);
    const detail::row_tile to(c_.gradient[made]);
    const detail::row_tile dy(c_.gradient[output]);
    const interval own = c_.ranges[tokens];
    const index_t first = c_.ranges[channels].begin;
    const index_t width = c_.ranges[channels].size();
    for (index_t e = c_.ranges[experts].begin; e < c_.ranges[experts].end; ++e) {
        for (index_t s = 0; s < slots.slots(); ++s) {
            const index_t t = index_t{slots.of(n, e)[s]} - 1;
            if (t < own.begin || t >= own.end) {
                continue;
            }
            const float weight = *gate.at(n, t, e);
            const float* const from = dy.at(n, t, first);
            float* const into = to.at(n, e * slots.slots() + s, first);
            for (index_t c = 0; c < width; ++c) {
                into[c] = weight * from[c];
            }
        }
    }
}

TESSERA_INLINE void routed_linear_job::run(const run_state&) {
    const detail::slot_table slots(c_.value[table]);
    const bool forward = is_forward(c_.what);
    const bool of_input = !forward && has(c_.emits, input);
    const int written = forward ? output : input;
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
                if (!filled) {
                    if (forward || of_input) {
                        clear(written, !forward, n, begin + s, begin + end);
                    }
                    continue;
                }
                const auto part = [&](int o, bool gradient) { return rows(o, gradient, n, begin + s, begin + end); };
                if (forward) {
                    detail::multiply_matrices(part(input, false), weights(false, e).transposed(), part(output, false),
                                              1);
                } else if (of_input) {
                    detail::multiply_matrices(part(output, true), weights(false, e), part(input, true), 1);
                } else {
                    detail::multiply_matrices(part(output, true).transposed(), part(input, false), weights(true, e), 1,
                                              first_product ? 0.0F : 1.0F);
                    first_product = false;
                }
            }
        }
        if (!forward && !of_input && first_product) { // nothing has come to this expert
            const detail::matrix_view w = weights(true, e);
            for (index_t o = 0; o < w.rows; ++o) {
                std::fill_n(w.data + o * w.row_stride, w.columns, 0.0F);
            }
        }
    }
}

TESSERA_INLINE detail::matrix_view routed_linear_job::rows(int o, bool gradient, index_t n, index_t first,
                                                           index_t end) const {
    const detail::row_tile at(gradient ? c_.gradient[o] : c_.value[o]);
    const interval columns = c_.ranges[o == input ? inputs : outputs];
    return {at.at(n, first, columns.begin), end - first, columns.size(), at.region.dim[2].size(), 1};
}

TESSERA_INLINE detail::matrix_view routed_linear_job::weights(bool gradient, index_t e) const {
    const detail::row_tile at(gradient ? c_.gradient[weight] : c_.value[weight]);
    return {at.at(e, c_.ranges[outputs].begin, c_.ranges[inputs].begin), c_.ranges[outputs].size(),
            c_.ranges[inputs].size(), at.region.dim[2].size(), 1};
}

TESSERA_INLINE void routed_linear_job::clear(int o, bool gradient, index_t n, index_t first, index_t end) const {
    const detail::matrix_view to = rows(o, gradient, n, first, end);
    for (index_t r = 0; r < to.rows; ++r) {
        std::fill_n(to.data + r * to.row_stride, to.columns, 0.0F);
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
