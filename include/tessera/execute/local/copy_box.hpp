// SPDX-License-Identifier: Apache-2.0
// Copies and sums of boxes between dense tiles in host memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/bfloat16.hpp"
#include "tessera/op/description.hpp"

#include <cstring>

namespace tessera {

/// A box of one dense tile and the same box of another, as nested rows: dimensions that are contiguous in both are
/// merged.
struct box_copy {
    index_t count[max_rank] = {1, 1, 1, 1, 1};
    index_t from_stride[max_rank]{};
    index_t to_stride[max_rank]{};
    index_t from_start = 0;
    index_t to_start = 0;
    index_t row = 1; ///< contiguous elements

    constexpr box_copy() = default;
    constexpr box_copy(const box& what, const box& from, const box& to) {
        index_t from_inner = 1;
        index_t to_inner = 1;
        bool contiguous = true;
        for (int d = what.rank - 1; d >= 0; --d) {
            const index_t size = what.dim[d].size();
            from_start += (what.dim[d].begin - from.dim[d].begin) * from_inner;
            to_start += (what.dim[d].begin - to.dim[d].begin) * to_inner;
            if (contiguous) {
                row *= size;
            } else {
                count[d] = size;
                from_stride[d] = from_inner;
                to_stride[d] = to_inner;
            }
            contiguous = contiguous && size == from.dim[d].size() && size == to.dim[d].size();
            from_inner *= from.dim[d].size();
            to_inner *= to.dim[d].size();
        }
    }

    template <class Row>
    void for_each_row(Row&& body) const {
        for (index_t a = 0; a < count[0]; ++a) {
            for (index_t b = 0; b < count[1]; ++b) {
                for (index_t c = 0; c < count[2]; ++c) {
                    for (index_t d = 0; d < count[3]; ++d) {
                        for (index_t e = 0; e < count[4]; ++e) {
                            body(from_start + a * from_stride[0] + b * from_stride[1] + c * from_stride[2] +
                                     d * from_stride[3] + e * from_stride[4],
                                 to_start + a * to_stride[0] + b * to_stride[1] + c * to_stride[2] + d * to_stride[3] +
                                     e * to_stride[4]);
                        }
                    }
                }
            }
        }
    }

    /// Overwrites, adds or takes the larger, element by element.
    template <class T>
    void apply(const T* from, T* to, bool overwrite, reducer combine) const {
        for_each_row([&](index_t f, index_t t) {
            if (overwrite) {
                std::memcpy(to + t, from + f, to_size(row) * sizeof(T));
            } else if (combine == reducer::max) {
                for (index_t i = 0; i < row; ++i) {
                    const T x = from[f + i]; // NaN is larger than everything
                    // NOLINTNEXTLINE(misc-redundant-expression): tells what is not finite
                    to[t + i] = to[t + i] < x || x != x ? x : to[t + i];
                }
            } else {
                for (index_t i = 0; i < row; ++i) {
                    to[t + i] += from[f + i];
                }
            }
        });
    }
    void apply(const void* from, void* to, element type, bool overwrite, reducer combine) const;
    /// From what a caller hands in for an input of `type`: floats for one of bf16, rounded on the way.
    void apply_input(const void* from, void* to, element type) const;
};

/// The numbers of a tile of f32 or bf16 as floats, and back.
void numbers_of(element type, const std::byte* from, index_t count, float* to);
void store_numbers(element type, const float* from, index_t count, std::byte* to);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/copy_box.inl"
#endif

#include "tessera/base/end_header.inl"
