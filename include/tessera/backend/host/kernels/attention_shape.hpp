// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "shapes.hpp"

/// What the kernels of attention work on, as plain values: see attention.hpp.
namespace tessera::host::kernels {

/// A rectangle of one attention: samples, groups of heads, positions of queries and of keys. A group's heads read the
/// same keys and values.
struct attention_shape {
    std::ptrdiff_t samples = 0, groups = 0, queries = 0, keys = 0; ///< of the rectangle
    int group_heads = 1;                                           ///< heads of queries in a group
    int group_step = 1; ///< heads from a group's first to the next one's, of which the rectangle need not have all
    int width = 0, value_width = 0;                                                  ///< of a head
    std::ptrdiff_t first_sample = 0, first_head = 0, first_query = 0, first_key = 0; ///< where it begins
    std::ptrdiff_t all_heads = 0, all_queries = 0, all_keys = 0;                     ///< of the whole attention

    float scale = 1;           ///< of a score
    float cap = 0;             ///< scores are cap * tanh(score / cap); 0: as they are
    bool causal = false;       ///< a query sees no key behind it; the last query is at the last key's position
    std::ptrdiff_t window = 0; ///< a query sees keys less than this away; 0: at any distance
    int dropped_percent = 0;   ///< of the weights
    std::uint64_t mask_key = 0;
};

/// Where an operand's part of the rectangle begins, and the floats from one position, or sample, to the next. Heads lie
/// side by side.
template <class Float>
struct attention_rows {
    Float* at = nullptr;
    std::ptrdiff_t position = 0, sample = 0;

    /// From a column on.
    [[nodiscard]] Float* row(std::ptrdiff_t n, std::ptrdiff_t t, std::ptrdiff_t column) const noexcept {
        return at + n * sample + t * position + column;
    }
};

/// A number for each row of a head, positions side by side.
template <class Float>
struct attention_numbers {
    Float* at = nullptr;
    std::ptrdiff_t head = 0, sample = 0;

    [[nodiscard]] Float* row(std::ptrdiff_t n, std::ptrdiff_t h, std::ptrdiff_t first) const noexcept {
        return at == nullptr ? nullptr : at + n * sample + h * head + first;
    }
};

/// What is added to scores by position, and the keys that there are.
struct attention_extras {
    /// The score of head h, query t and key s, all counted from the rectangle's first, gets
    /// bias[h * bias_head + t - s]; another 63 floats behind a head's last one are read. Null: none.
    const float* bias = nullptr;
    std::ptrdiff_t bias_head = 0;
    /// Of each sample of the rectangle: how many of all keys there are. Null: all.
    const std::int32_t* lengths = nullptr;
    /// Of each of them, and of each key of the rectangle: 0 where nobody sees it. Null: all are seen.
    const std::int32_t* mask = nullptr;
    std::ptrdiff_t mask_sample = 0; ///< from one sample's to the next one's

    [[nodiscard]] const std::int32_t* mask_of(std::ptrdiff_t n) const noexcept {
        return mask == nullptr ? nullptr : mask + n * mask_sample;
    }
};

/// What forward computes of a row. With the keys divided the first step's results are combined by their maximum, and
/// those of the two others are added up, over all parts of the keys.
enum class attention_step : std::uint8_t {
    all,     ///< output, maximum and sum, from all of the keys
    maxima,  ///< the maximum alone
    sums,    ///< the sum, given the maximum of all keys
    outputs, ///< the output, given both
};

struct attention_forward_arrays {
    attention_rows<const float> query, key, value;
    attention_extras extras;
    attention_rows<float> output;
    attention_numbers<float> maximum; ///< of a row's scores; minus infinity for a row without keys
    attention_numbers<float> sum;     ///< of exp(score - maximum)
    /// attention_step::all: the three hold what was made of other keys, and get what is of all.
    bool continues = false;
};

struct attention_backward_arrays {
    attention_rows<const float> query, key, value;
    attention_extras extras;
    attention_rows<const float> output_gradient;
    attention_numbers<const float> maximum, sum; ///< of all keys
    attention_numbers<const float> means;        ///< likewise: what attention_means() makes, over all parts
    attention_rows<float> query_gradient, key_gradient, value_gradient; ///< null: not wanted
    float* bias_gradient = nullptr; ///< laid out as the bias; added to. Null: not wanted
};

namespace detail {

inline constexpr int attention_queries = 64; ///< queries at a time: a lane of a vector each
inline constexpr int attention_keys = 64;    ///< keys at a time, in strips of 16
inline constexpr int attention_strip = 16;
inline constexpr int attention_strips = attention_keys / 2; ///< at most: between two of them a key is masked
inline constexpr int attention_together = 4; ///< blocks of queries that forward takes through the keys together

[[nodiscard]] constexpr std::ptrdiff_t smaller(std::ptrdiff_t a, std::ptrdiff_t b) noexcept { return a < b ? a : b; }

/// Of 64 queries, one in each lane: the keys that they see, counted from the rectangle's first. Both ends grow with the
/// query.
struct attention_lanes {
    alignas(64) std::int32_t begin[attention_queries];
    alignas(64) std::int32_t end[attention_queries];
    alignas(64) float maximum[attention_queries];
    alignas(64) float sum[attention_queries];
    const std::int32_t* mask = nullptr; ///< of the sample's keys: 0 where no lane sees one
    std::ptrdiff_t first = 0;           ///< of the rectangle's queries
    int queries = 0; ///< the lanes behind them are copies of the last one, whose results nobody reads

    [[nodiscard]] int blocks() const noexcept { return (queries + block_samples - 1) / block_samples; }
    [[nodiscard]] bool sees(int lane, std::ptrdiff_t key) const noexcept {
        return key >= begin[lane] && key < end[lane] && !hides(key);
    }
    [[nodiscard]] bool hides(std::ptrdiff_t key) const noexcept { return mask != nullptr && mask[key] == 0; }
    /// Whether a lane sees any key.
    [[nodiscard]] bool sees_any(int lane) const noexcept {
        std::ptrdiff_t key = begin[lane];
        while (key < end[lane] && hides(key)) ++key;
        return key < end[lane];
    }
};

/// At most 16 keys side by side that are not masked, and the blocks of 16 lanes among which there are some that see one
/// of them.
struct attention_keys_strip {
    std::ptrdiff_t first = 0; ///< of the rectangle's keys
    int row = 0;              ///< in the block of keys
    int keys = 0;
    int from = 0, to = 0; ///< blocks of lanes
    bool whole = false;   ///< all of these lanes see all of the keys
};

/// The lanes [first, first + queries) of a sample.
inline void see_keys(const attention_shape& s, const attention_extras& extras, std::ptrdiff_t n, std::ptrdiff_t first,
                     int queries, attention_lanes& to) noexcept {
    const std::ptrdiff_t length = extras.lengths == nullptr ? s.all_keys : extras.lengths[n];
    to.mask = extras.mask_of(n);
    to.first = first;
    to.queries = queries;
    const std::ptrdiff_t there = length < s.all_keys ? length : s.all_keys;
    for (int lane = 0; lane < attention_queries; ++lane) {
        const std::ptrdiff_t at = // of the query among the keys
            s.first_query + first + smallest(lane, queries - 1) + s.all_keys - s.all_queries;
        std::ptrdiff_t begin = s.window > 0 ? at - s.window + 1 : 0;
        std::ptrdiff_t end = s.causal ? at + 1 : s.window > 0 ? at + s.window : there;
        end = (end < there ? end : there) - s.first_key;
        begin -= s.first_key;
        to.begin[lane] = static_cast<std::int32_t>(begin < 0 ? 0 : begin < s.keys ? begin : s.keys);
        to.end[lane] = static_cast<std::int32_t>(end < 0 ? 0 : end < s.keys ? end : s.keys);
    }
}

/// The strips of the keys [first, end) that some lane sees; how many.
inline int strips_of(const attention_lanes& lanes, std::ptrdiff_t first, std::ptrdiff_t end,
                     attention_keys_strip (&to)[attention_strips]) noexcept {
    int count = 0;
    for (std::ptrdiff_t at = first, next = at; at < end; at = next) {
        next = at + 1;
        if (lanes.hides(at)) continue;
        while (next < end && next - first < (at - first) / attention_strip * attention_strip + attention_strip &&
               !lanes.hides(next))
            ++next;
        attention_keys_strip s;
        s.first = at;
        s.row = static_cast<int>(at - first);
        s.keys = static_cast<int>(next - at);
        s.to = lanes.blocks();
        while (s.from < s.to && lanes.end[16 * s.from + 15] <= at) ++s.from;
        while (s.to > s.from && lanes.begin[16 * s.to - 16] >= at + s.keys) --s.to;
        if (s.from == s.to) continue;
        s.whole = lanes.begin[16 * s.to - 1] <= at && lanes.end[16 * s.from] >= at + s.keys;
        to[count++] = s;
    }
    return count;
}

/// Floats from row to row of copies whose rows are vectors.
[[nodiscard]] constexpr int padded_width(int width) noexcept { return (width + block_samples - 1) / 16 * 16; }

/// Keys whose gradients backward holds together: what there is of each key takes half a megabyte.
[[nodiscard]] constexpr int attention_held(const attention_shape& s) noexcept {
    const int held = 65536 / (padded_width(s.width) + padded_width(s.value_width)) / attention_keys * attention_keys;
    const std::ptrdiff_t all = (s.keys + attention_keys - 1) / attention_keys * attention_keys;
    return static_cast<int>(smaller(largest(held, attention_keys), all));
}

} // namespace detail

/// Whether the kernels can count what there is of a rectangle; they check nothing themselves.
[[nodiscard]] constexpr bool fits(const attention_shape& s) noexcept {
    constexpr int widest = 1 << 16;
    constexpr std::ptrdiff_t most = INT32_MAX - detail::attention_keys;
    return s.width <= widest && s.value_width <= widest && s.queries < most && s.keys < most;
}

/// Bytes of scratch that attention_forward wants.
[[nodiscard]] constexpr std::size_t attention_forward_scratch(const attention_shape& s) noexcept {
    using namespace detail;
    const std::size_t w = to_size(padded_width(s.width)), v = to_size(padded_width(s.value_width));
    return 64 + sizeof(float) * (((attention_together + 1) * w + attention_together * v) * attention_queries +
                                 (w + v + attention_queries) * attention_keys);
}

/// Bytes of scratch that attention_means wants.
[[nodiscard]] constexpr std::size_t attention_means_scratch(const attention_shape& s) noexcept {
    return 64 + sizeof(float) * 2 * to_size(detail::padded_width(s.value_width)) * detail::attention_queries;
}

/// Bytes of scratch that attention_backward wants.
[[nodiscard]] constexpr std::size_t attention_backward_scratch(const attention_shape& s) noexcept {
    using namespace detail;
    const std::size_t w = to_size(padded_width(s.width)), v = to_size(padded_width(s.value_width));
    return 64 + sizeof(float) * ((3 * w + 2 * v + 2 * attention_keys) * attention_queries +
                                 2 * (w + v) * to_size(attention_held(s)));
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
