// SPDX-License-Identifier: Apache-2.0
// Attention, 64 queries and 64 keys at a time. See vector.hpp and attention.hpp.

/// e^x of a score less the largest one, to about 1e-7 relative: zero below -87.3, NaN stays NaN. The polynomial of
/// degree 6 has its largest error on |r| <= ln 2 / 2, 3e-9, as small as can be.
[[gnu::always_inline]] inline vec weight_of(vec x) noexcept {
    const vec magic = broadcast(12582912.0F + 127.0F); // adding it rounds, and its last bits are an exponent
    const vec rounded = fma(x, broadcast(1.44269504F), magic);
    const vec n = rounded - magic;
    vec r;
    if constexpr (fused) {
        r = fma(n, broadcast(-0.693147181F), x);
    } else {
        r = fma(n, broadcast(-0.693359375F), x);
        r = fma(n, broadcast(2.12194440e-4F), r);
    }
    vec p = broadcast(1.38145987e-3F);
    p = fma(p, r, broadcast(8.36871699e-3F));
    p = fma(p, r, broadcast(4.16683881e-2F));
    p = fma(p, r, broadcast(0.166665206F));
    p = fma(p, r, broadcast(0.499999934F));
    p = fma(p, r, broadcast(1.0F));
    p = fma(p, r, broadcast(1.0F));
    const vec power = reinterpret_cast<vec>(reinterpret_cast<ivec>(rounded) << 23);
    return x < broadcast(-87.33F) ? vec{} : p * power;
}

[[gnu::always_inline]] inline vec larger(vec a, vec b) noexcept { return a > b ? a : b; }

/// What is subtracted from the scores of rows while they are gone over: where there has been none but minus infinity,
/// nothing.
[[gnu::always_inline]] inline vec subtracted(vec maximum) noexcept {
    return maximum == broadcast(-HUGE_VALF) ? vec{} : maximum;
}

[[gnu::always_inline]] inline ivec load_numbers(const std::int32_t* p) noexcept {
    ivec v;
    std::memcpy(&v, p, sizeof(v));
    return v;
}

/// out[row][lane] = (add ? what is there : 0) + the sum over terms of scalars[row] * vectors[lane]. Lanes come in
/// blocks of 16.
struct lane_product {
    const float* scalars;
    std::ptrdiff_t scalar_row, scalar_term;
    const float* vectors;
    std::ptrdiff_t vector_block, vector_term;
    float* out;
    std::ptrdiff_t out_row, out_block;
    int rows, blocks, terms;
    bool add;
};

/// Four rows and some vectors of lanes at a time: `step` vectors apart is the next vector, of the operand and the
/// result.
template <int Columns>
void multiply_columns(const lane_product& p, const float* vectors, std::ptrdiff_t vector_step, float* out,
                      std::ptrdiff_t out_step) noexcept {
    constexpr int rows = 4;
    const float* right[Columns];
    for (int b = 0; b < Columns; ++b) right[b] = vectors + b * vector_step;
    for (int first = 0; first < p.rows; first += rows) {
        const float* left[rows];
        float* to[rows]; // beyond the last row it once more, with the same result
        for (int a = 0; a < rows; ++a) {
            const std::ptrdiff_t row = detail::smallest(first + a, p.rows - 1);
            left[a] = p.scalars + row * p.scalar_row;
            to[a] = out + row * p.out_row;
        }
        vec sum[rows][Columns];
        if (p.add) {
#pragma GCC unroll 4
            for (int a = 0; a < rows; ++a)
#pragma GCC unroll 4
                for (int b = 0; b < Columns; ++b) sum[a][b] = load(to[a] + b * out_step);
        } else {
#pragma GCC unroll 4
            for (int a = 0; a < rows; ++a)
#pragma GCC unroll 4
                for (int b = 0; b < Columns; ++b) sum[a][b] = vec{};
        }
        std::ptrdiff_t scalar = 0, vector = 0;
        for (int i = 0; i < p.terms; ++i, scalar += p.scalar_term, vector += p.vector_term)
            outer_product<rows, Columns>(sum, scalars_at<rows>{left, scalar}, vectors_at<Columns>{right, vector});
#pragma GCC unroll 4
        for (int a = 0; a < rows; ++a)
#pragma GCC unroll 4
            for (int b = 0; b < Columns; ++b) store(to[a] + b * out_step, sum[a][b]);
    }
}

inline void multiply_lanes(const lane_product& p) noexcept {
    if constexpr (width == block_samples) {
        for (int b = 0; b < p.blocks; b += 4) {
            const float* const vectors = p.vectors + b * p.vector_block;
            float* const out = p.out + b * p.out_block;
            switch (p.blocks - b) {
            case 1:
                multiply_columns<1>(p, vectors, p.vector_block, out, p.out_block);
                break;
            case 2:
                multiply_columns<2>(p, vectors, p.vector_block, out, p.out_block);
                break;
            case 3:
                multiply_columns<3>(p, vectors, p.vector_block, out, p.out_block);
                break;
            default:
                multiply_columns<4>(p, vectors, p.vector_block, out, p.out_block);
            }
        }
    } else {
        for (int b = 0; b < p.blocks; ++b)
            for (int part = 0; part < parts; part += 2)
                multiply_columns<2>(p, p.vectors + b * p.vector_block + part * width, width,
                                    p.out + b * p.out_block + part * width, width);
    }
}

/// The same without the terms that seen(row, lane, term) denies: a masked weight is zero, and zero times what is not
/// finite would be NaN. For the few strips where there is something to mask and something that is not finite.
template <class Seen>
void multiply_seen(const lane_product& p, Seen seen) noexcept {
    for (int row = 0; row < p.rows; ++row)
        for (int lane = 0; lane < p.blocks * block_samples; ++lane) {
            float& out = p.out[row * p.out_row + lane / 16 * p.out_block + lane % 16];
            float sum = p.add ? out : 0.0F;
            for (int i = 0; i < p.terms; ++i)
                if (seen(row, lane, i))
                    sum += p.scalars[row * p.scalar_row + i * p.scalar_term] *
                           p.vectors[lane / 16 * p.vector_block + lane % 16 + i * p.vector_term];
            out = sum;
        }
}

/// Whether all of some rows is finite.
inline bool all_finite(const float* rows, std::ptrdiff_t row_stride, int count, int length) noexcept {
    vec sum{};
    float rest = 0;
    for (int r = 0; r < count; ++r) {
        const float* const row = rows + r * row_stride;
        int i = 0;
        for (; i + width <= length; i += width) sum += load(row + i) * vec{};
        for (; i < length; ++i) rest += row[i] * 0.0F;
    }
    for (int lane = 0; lane < width; ++lane) rest += sum[lane];
    return rest == 0.0F;
}

/// Rows times a factor, `to_row` floats apart, filled up with zeros.
inline void copy_rows(const float* from, std::ptrdiff_t row_stride, int count, int length, float factor, float* to,
                      std::ptrdiff_t to_row) noexcept {
    for (int r = 0; r < count; ++r, from += row_stride, to += to_row) {
        map(from, to, length, scaled{factor});
        if (to_row > length) std::memset(to + length, 0, to_size(to_row - length) * sizeof(float));
    }
}

/// Adds rows times a factor to those of a rectangle, or overwrites them; nothing where that is null.
inline void put_rows(const attention_rows<float>& to, std::ptrdiff_t sample, std::ptrdiff_t first,
                     std::ptrdiff_t column, const float* rows, std::ptrdiff_t row_stride, int count, int length,
                     float factor, bool add) noexcept {
    if (to.at == nullptr) return;
    float* out = to.row(sample, first, column);
    for (int r = 0; r < count; ++r, out += to.position, rows += row_stride)
        for (int i = 0; i < length; i += width) {
            const vec x = load_some(rows + i, length - i, 0.0F) * broadcast(factor);
            store_some(out + i, add ? load_some(out + i, length - i, 0.0F) + x : x, length - i);
        }
}

/// Which weights dropout keeps (op/mask.hpp): 1/(1-p) for them, 0 for the others.
struct kept_weights {
    using numbers = std::uint64_t __attribute__((vector_size(sizeof(vec))));
    using words = std::uint32_t __attribute__((vector_size(sizeof(vec))));
    using half_words = std::uint32_t __attribute__((vector_size(sizeof(vec) / 2)));

    numbers key{}, step{};
    words least{}; ///< that is kept
    vec factor{};
    std::uint64_t stride = 0; ///< from query to query
    bool drops = false;

    explicit kept_weights(const attention_shape& s) noexcept : drops(s.dropped_percent > 0) {
        const auto percent = static_cast<std::uint64_t>(s.dropped_percent);
        stride = static_cast<std::uint64_t>(s.all_keys);
        key += s.mask_key;
        least += static_cast<std::uint32_t>(((percent << 32U) + 99) / 100);
        factor += static_cast<float>(100.0 / (100.0 - s.dropped_percent));
        for (int i = 0; i < width / 2; ++i) step[i] = static_cast<std::uint64_t>(i) * stride;
    }

    [[gnu::always_inline]] half_words drawn(std::uint64_t index) const noexcept {
        numbers z = key ^ (step + index);
        z += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        z = z ^ (z >> 31U);
        return __builtin_convertvector(z >> 32U, half_words);
    }

    /// Of a vector of queries from this element of the whole matrix of weights on.
    [[gnu::always_inline]] vec operator()(std::uint64_t index) const noexcept {
        const half_words both[2] = {drawn(index), drawn(index + stride * (width / 2))};
        words all;
        std::memcpy(&all, both, sizeof(all));
        return all >= least ? factor : vec{};
    }
    /// Of what is dropped nothing is left, whatever it was.
    [[gnu::always_inline]] vec part_of(vec x, vec kept) const noexcept { return kept == vec{} ? vec{} : x * kept; }
};

/// What all scores of a head and 64 queries have in common.
struct attention_scores {
    const attention_shape& s;
    const detail::attention_lanes& lanes;
    const float* bias = nullptr; ///< of the first query and the rectangle's first key
    std::uint64_t index = 0;     ///< likewise in the whole matrix of weights
    bool as_they_are = false;    ///< no cap, no bias

    attention_scores(const attention_shape& shape, const detail::attention_lanes& l, const attention_extras& extras,
                     std::ptrdiff_t sample, std::ptrdiff_t head) noexcept
        : s(shape), lanes(l) {
        const std::ptrdiff_t query = s.first_query + l.first;
        if (extras.bias != nullptr) bias = extras.bias + head * extras.bias_head + l.first;
        index = static_cast<std::uint64_t>(
            (((s.first_sample + sample) * s.all_heads + s.first_head + head) * s.all_queries + query) * s.all_keys +
            s.first_key);
        as_they_are = !(s.cap > 0) && bias == nullptr;
    }

    [[gnu::always_inline]] vec biased(vec x, std::ptrdiff_t key, int lane) const noexcept {
        return bias == nullptr ? x : x + load(bias + lane - key);
    }
    [[gnu::always_inline]] std::uint64_t index_of(std::ptrdiff_t key, int lane) const noexcept {
        return index + static_cast<std::uint64_t>(lane) * static_cast<std::uint64_t>(s.all_keys) +
               static_cast<std::uint64_t>(key);
    }
    /// Where a lane sees the key, `x`, elsewhere `otherwise`.
    [[gnu::always_inline]] vec where_seen(std::ptrdiff_t key, int lane, vec x, vec otherwise) const noexcept {
        const ivec at = ivec{} + static_cast<std::int32_t>(key);
        const ivec seen = (at >= load_numbers(lanes.begin + lane)) & (at < load_numbers(lanes.end + lane));
        return seen != 0 ? x : otherwise;
    }
};

/// of[key][query] of a strip: keys, or values, times queries, or gradients, that lie across: [16][length][16]. `rows`
/// are those of the block of keys.
inline void multiply_strip(const detail::attention_keys_strip& strip, const float* rows, int wide, const float* across,
                           int length, float* of) noexcept {
    const std::ptrdiff_t block = std::ptrdiff_t{length} * block_samples;
    multiply_lanes({.scalars = rows + std::ptrdiff_t{strip.row} * wide,
                    .scalar_row = wide,
                    .scalar_term = 1,
                    .vectors = across + strip.from * block,
                    .vector_block = block,
                    .vector_term = block_samples,
                    .out = of + strip.row * detail::attention_queries + strip.from * block_samples,
                    .out_row = detail::attention_queries,
                    .out_block = block_samples,
                    .rows = strip.keys,
                    .blocks = strip.to - strip.from,
                    .terms = length,
                    .add = false});
}

/// What is done to the scores of a strip before their maximum is taken, and that, which is NaN where a score is.
inline void finish_scores(const attention_scores& of, const detail::attention_keys_strip& strip, float* scores,
                          float* most) noexcept {
    const bool as_they_are = of.as_they_are && strip.whole;
    for (int lane = strip.from * block_samples; lane < strip.to * block_samples; lane += width) {
        float* at = scores + strip.row * detail::attention_queries + lane;
        vec top = load(most + lane), odd{};
        if (as_they_are) {
            for (int k = 0; k < strip.keys; ++k, at += detail::attention_queries) {
                const vec x = load(at);
                top = larger(x, top);
                odd = x == x ? odd : x; // NOLINT(misc-redundant-expression): false for NaN alone
            }
        } else {
            for (int k = 0; k < strip.keys; ++k, at += detail::attention_queries) {
                vec x = load(at);
                if (of.s.cap > 0) x = broadcast(of.s.cap) * tanh_of(x * broadcast(1 / of.s.cap));
                x = of.biased(x, strip.first + k, lane);
                if (!strip.whole) x = of.where_seen(strip.first + k, lane, x, broadcast(-HUGE_VALF));
                store(at, x);
                top = larger(x, top);
                odd = x == x ? odd : x; // NOLINT(misc-redundant-expression)
            }
        }
        store(most + lane, odd == odd ? top : odd); // NOLINT(misc-redundant-expression)
    }
}

/// Scores become weights, and are added up. `inverse`: of sums that are given, with the maxima; null: both are still
/// found out.
inline void weigh(const attention_scores& of, const detail::attention_keys_strip& strip, const kept_weights& kept,
                  const float* inverse, float* scores, float* sums) noexcept {
    for (int lane = strip.from * block_samples; lane < strip.to * block_samples; lane += width) {
        float* at = scores + strip.row * detail::attention_queries + lane;
        const vec maximum = load(of.lanes.maximum + lane);
        const vec less = inverse == nullptr ? subtracted(maximum) : maximum;
        vec sum = load(sums + lane);
        for (int k = 0; k < strip.keys; ++k, at += detail::attention_queries) {
            vec p = weight_of(load(at) - less);
            if (inverse != nullptr) p *= load(inverse + lane);
            if (!strip.whole) p = of.where_seen(strip.first + k, lane, p, vec{});
            sum += p;
            if (kept.drops) p = kept.part_of(p, kept(of.index_of(strip.first + k, lane)));
            store(at, p);
        }
        store(sums + lane, sum);
    }
}

/// How many strips from this one on are alike: side by side, with the same lanes, whole or of finite numbers alone.
inline int alike(const detail::attention_keys_strip* strips, int count, const bool* plain) noexcept {
    int n = 1;
    while (n < count && plain[0] && plain[n] && strips[n].from == strips[0].from && strips[n].to == strips[0].to &&
           strips[n].row == strips[n - 1].row + strips[n - 1].keys)
        ++n;
    return n;
}

// Which terms there are. `dropped`: of weights that dropout has made zero there is no term either; null where there are
// none.
struct weights_by_key { // a row is an element of values, a term a key
    const detail::attention_lanes& lanes;
    std::ptrdiff_t key;
    int lane;
    const float* dropped;
    bool operator()(int, int at, int term) const noexcept {
        return lanes.sees(lane + at, key + term) &&
               (dropped == nullptr || dropped[term * detail::attention_queries + at] != 0.0F);
    }
};
struct queries_by_key { // a row is a query, a term a key
    const detail::attention_lanes& lanes;
    std::ptrdiff_t key;
    int lane;
    bool operator()(int row, int, int term) const noexcept { return lanes.sees(lane + row, key + term); }
};
struct keys_by_query { // a row is a key, a term a query
    const detail::attention_lanes& lanes;
    std::ptrdiff_t key;
    int lane;
    const float* dropped;
    bool operator()(int row, int, int term) const noexcept {
        return lanes.sees(lane + term, key + row) &&
               (dropped == nullptr || dropped[row * detail::attention_queries + term] != 0.0F);
    }
};

/// Queries of one head as forward goes over the keys.
struct attention_forward_block {
    detail::attention_lanes lanes;
    alignas(64) float inverse[detail::attention_queries]; ///< of the given sums
    bool undefined[detail::attention_queries]{};          ///< what was made of other keys is no number
    const float* across = nullptr;                        ///< queries times the scale: [16][width][16]
    float* out = nullptr;                                 ///< outputs, before they are divided by the sums, likewise
    std::ptrdiff_t head = 0;
};

/// Multiplies what there is of the outputs, lane by lane.
inline void scale_outputs(attention_forward_block& b, int length, const float* factor) noexcept {
    for (int part = 0; part < b.lanes.blocks() * block_samples; part += width) {
        const vec f = load(factor + part);
        float* at = b.out + std::ptrdiff_t{part / block_samples} * length * block_samples + part % block_samples;
        for (int i = 0; i < length; ++i, at += block_samples) store(at, load(at) * f);
    }
}

/// Outputs in memory.
struct held_outputs {
    const float* rows;
    std::ptrdiff_t position;
    int length;
};

/// Goes on with what was made of other keys: outputs are multiplied by the sums that they have been divided by. Where
/// there were none but minus infinity that says nothing of others.
inline void continue_block(attention_forward_block& b, const held_outputs& held, const float* maximum,
                           const float* sum) noexcept {
    to_blocked(held.rows, b.out, b.lanes.queries, held.length, held.position);
    alignas(64) float factor[detail::attention_queries] = {};
    for (int lane = 0; lane < detail::attention_queries; ++lane) {
        const bool given = lane < b.lanes.queries;
        const bool any = given && maximum[lane] != -HUGE_VALF;
        b.undefined[lane] = given && !any && sum[lane] != 0.0F;
        b.lanes.maximum[lane] = any ? maximum[lane] : -HUGE_VALF;
        b.lanes.sum[lane] = factor[lane] = any ? sum[lane] : 0.0F;
    }
    for (int lane = 0; lane < b.lanes.blocks() * block_samples; ++lane)
        if (factor[lane] == 0.0F)
            for (int i = 0; i < held.length; ++i)
                b.out[(std::ptrdiff_t{lane / block_samples} * held.length + i) * block_samples + lane % block_samples] =
                    0;
    scale_outputs(b, held.length, factor);
}

/// Forward of some queries and a block of keys.
class attention_forward_step {
public:
    attention_forward_step(const attention_shape& s, attention_step step, float* scores) noexcept
        : s_(s), step_(step), kept_(s), scores_(scores) {}

    [[nodiscard]] bool all() const noexcept { return step_ == attention_step::all; }
    [[nodiscard]] bool gives_output() const noexcept { return all() || step_ == attention_step::outputs; }
    [[nodiscard]] bool gives_maximum() const noexcept { return all() || step_ == attention_step::maxima; }
    [[nodiscard]] bool gives_sum() const noexcept { return all() || step_ == attention_step::sums; }

    /// `keys` and `values` are the rows of [key, end).
    void run(attention_forward_block& b, const attention_scores& of, std::ptrdiff_t key, std::ptrdiff_t end,
             const float* keys, const float* values) noexcept {
        using namespace detail;
        attention_keys_strip strips[attention_strips];
        const int count = strips_of(b.lanes, key, end, strips);
        if (count == 0) return;
        alignas(64) float most[attention_queries], sums[attention_queries] = {};
        std::memcpy(most, b.lanes.maximum, sizeof(most));
        for (int i = 0; i < count; ++i) {
            multiply_strip(strips[i], keys, padded_width(s_.width), b.across, s_.width, scores_);
            finish_scores(of, strips[i], scores_, most);
        }
        if (gives_maximum()) grow(b, most);
        if (step_ == attention_step::maxima) return;
        for (int i = 0; i < count; ++i) weigh(of, strips[i], kept_, all() ? nullptr : b.inverse, scores_, sums);
        for (int lane = 0; lane < b.lanes.blocks() * block_samples; lane += width)
            store(b.lanes.sum + lane, load(b.lanes.sum + lane) + load(sums + lane));
        if (gives_output()) add_outputs(b, strips, count, values);
    }

    /// Divides outputs by sums. Where all that a row sees is minus infinity, no weight is a number; of weights that are
    /// none nothing is left where dropout leaves none of them.
    void finish(attention_forward_block& b, const attention_scores& of) noexcept {
        for (int lane = 0; lane < detail::attention_queries; ++lane) {
            float& sum = b.lanes.sum[lane];
            if (b.lanes.maximum[lane] == -HUGE_VALF && (b.lanes.sees_any(lane) || b.undefined[lane])) sum = NAN;
            b.inverse[lane] = sum == 0.0F ? 0.0F : 1 / sum;
            bool kept = sum == sum || !kept_.drops; // NOLINT(misc-redundant-expression)
            for (std::ptrdiff_t key = b.lanes.begin[lane]; key < b.lanes.end[lane] && !kept; ++key)
                kept = !b.lanes.hides(key) && kept_(of.index_of(key, lane))[0] != 0.0F;
            if (!kept) b.inverse[lane] = 0;
        }
        scale_outputs(b, s_.value_width, b.inverse);
    }

private:
    /// What has been summed up so far was of scores less the maximum of before.
    void grow(attention_forward_block& b, const float* most) const noexcept {
        alignas(64) float factor[detail::attention_queries];
        ivec grows{};
        for (int lane = 0; lane < b.lanes.blocks() * block_samples; lane += width) {
            const vec before = load(b.lanes.maximum + lane), now = load(most + lane);
            const vec f = weight_of(before - subtracted(now));
            grows |= now > before;
            store(factor + lane, f);
            store(b.lanes.maximum + lane, now);
            store(b.lanes.sum + lane, load(b.lanes.sum + lane) * f);
        }
        bool any = false;
        for (int i = 0; i < width; ++i) any = any || grows[i] != 0;
        if (any && gives_output()) scale_outputs(b, s_.value_width, factor);
    }

    void add_outputs(attention_forward_block& b, const detail::attention_keys_strip* strips, int count,
                     const float* values) const noexcept {
        const int wide = detail::padded_width(s_.value_width);
        const std::ptrdiff_t block = std::ptrdiff_t{s_.value_width} * block_samples;
        bool plain[detail::attention_strips];
        for (int i = 0; i < count; ++i)
            plain[i] = (strips[i].whole && !kept_.drops) ||
                       all_finite(values + std::ptrdiff_t{strips[i].row} * wide, wide, strips[i].keys, s_.value_width);
        for (int i = 0; i < count;) {
            const detail::attention_keys_strip& strip = strips[i];
            const int together = alike(strips + i, count - i, plain + i);
            const int from = strip.from * block_samples;
            const lane_product p = {
                .scalars = values + std::ptrdiff_t{strip.row} * wide,
                .scalar_row = 1,
                .scalar_term = wide,
                .vectors = scores_ + strip.row * detail::attention_queries + from,
                .vector_block = block_samples,
                .vector_term = detail::attention_queries,
                .out = b.out + strip.from * block,
                .out_row = block_samples,
                .out_block = block,
                .rows = s_.value_width,
                .blocks = strip.to - strip.from,
                .terms = strips[i + together - 1].row + strips[i + together - 1].keys - strip.row,
                .add = true,
            };
            if (plain[i])
                multiply_lanes(p);
            else
                multiply_seen(p, weights_by_key{b.lanes, strip.first, from, kept_.drops ? p.vectors : nullptr});
            i += together;
        }
    }

    const attention_shape& s_;
    attention_step step_;
    kept_weights kept_;
    float* scores_; ///< [key][query], which become weights
};

inline void attention_forward(const attention_shape& s, const attention_forward_arrays& a, attention_step step,
                              void* scratch) noexcept {
    using namespace detail;
    scratch_cursor cursor{scratch};
    const int w = s.width, v = s.value_width;
    const int wide = padded_width(w), value_wide = padded_width(v);
    float* const rows = cursor.take<float>(to_size(wide) * attention_queries);
    float* const across = cursor.take<float>(to_size(wide) * attention_queries * attention_together);
    float* const out = cursor.take<float>(to_size(value_wide) * attention_queries * attention_together);
    float* const keys = cursor.take<float>(to_size(wide) * attention_keys);
    float* const values = cursor.take<float>(to_size(value_wide) * attention_keys);
    attention_forward_step forward(s, step, cursor.take<float>(to_size(attention_keys) * attention_queries));
    attention_forward_block some[attention_together];
    const std::ptrdiff_t of_head = (s.queries + attention_queries - 1) / attention_queries;
    const std::ptrdiff_t of_group = of_head * s.group_heads;

    for (std::ptrdiff_t at = 0; at < s.samples * s.groups; ++at)
        for (std::ptrdiff_t begin = 0; begin < of_group; begin += attention_together) {
            const std::ptrdiff_t n = at / s.groups, group = at % s.groups;
            const int blocks = static_cast<int>(smaller(of_group - begin, attention_together));
            std::ptrdiff_t from = s.keys, to = 0;
            for (int i = 0; i < blocks; ++i) {
                attention_forward_block& b = some[i];
                const std::ptrdiff_t first = (begin + i) % of_head * attention_queries;
                const int queries = static_cast<int>(smaller(s.queries - first, attention_queries));
                b.head = group * s.group_step + (begin + i) / of_head;
                see_keys(s, a.extras, n, first, queries, b.lanes);
                from = smaller(from, b.lanes.begin[0]);
                to = -smaller(-to, -b.lanes.end[queries - 1]);
                float* const to_across = across + std::ptrdiff_t{i} * wide * attention_queries;
                copy_rows(a.query.row(n, first, b.head * w), a.query.position, queries, w, s.scale, rows, wide);
                to_blocked(rows, to_across, queries, w, wide);
                b.across = to_across;
                b.out = out + std::ptrdiff_t{i} * value_wide * attention_queries;
                if (forward.gives_output()) std::memset(b.out, 0, to_size(b.lanes.blocks()) * to_size(v) * 64);
                const float* const maximum = a.maximum.row(n, b.head, first);
                const float* const sum = a.sum.row(n, b.head, first);
                for (int lane = 0; lane < attention_queries; ++lane) {
                    const bool given = lane < queries;
                    b.lanes.maximum[lane] = given && !forward.gives_maximum() ? maximum[lane] : -HUGE_VALF;
                    b.lanes.sum[lane] = 0;
                    b.inverse[lane] = 1;
                    if (given && step == attention_step::outputs)
                        b.inverse[lane] = sum[lane] == 0.0F ? 0.0F : 1 / sum[lane];
                }
                if (a.continues)
                    continue_block(b, {a.output.row(n, first, b.head * v), a.output.position, v}, maximum, sum);
            }

            for (std::ptrdiff_t key = from / attention_strip * attention_strip; key < to; key += attention_keys) {
                const std::ptrdiff_t end = key + smaller(to - key, attention_keys);
                const int count = static_cast<int>(end - key);
                copy_rows(a.key.row(n, key, group * w), a.key.position, count, w, 1, keys, wide);
                if (forward.gives_output())
                    copy_rows(a.value.row(n, key, group * v), a.value.position, count, v, 1, values, value_wide);
                for (int i = 0; i < blocks; ++i)
                    forward.run(some[i], attention_scores(s, some[i].lanes, a.extras, n, some[i].head), key,
                                smaller(end, some[i].lanes.end[some[i].lanes.queries - 1]), keys, values);
            }

            for (int i = 0; i < blocks; ++i) {
                attention_forward_block& b = some[i];
                const std::size_t numbers = to_size(b.lanes.queries) * sizeof(float);
                if (forward.gives_maximum())
                    std::memcpy(a.maximum.row(n, b.head, b.lanes.first), b.lanes.maximum, numbers);
                const attention_scores of(s, b.lanes, a.extras, n, b.head);
                if (forward.all()) forward.finish(b, of);
                if (forward.gives_sum()) std::memcpy(a.sum.row(n, b.head, b.lanes.first), b.lanes.sum, numbers);
                if (!forward.gives_output()) continue;
                to_plain(b.out, a.output.row(n, b.lanes.first, b.head * v), b.lanes.queries, v, a.output.position);
            }
        }
}

/// Weights anew, and the gradients of scores, of a strip: `scores` become the weights that the values were multiplied
/// by, `slopes`, gradients of weights, those of the scores before their cap.
inline void slope_scores(const attention_scores& of, const detail::attention_keys_strip& strip,
                         const kept_weights& kept, const float* inverse, const float* dots, float* bias_gradient,
                         float* scores, float* slopes) noexcept {
    const bool caps = of.s.cap > 0;
    for (int lane = strip.from * block_samples; lane < strip.to * block_samples; lane += width) {
        std::ptrdiff_t at = std::ptrdiff_t{strip.row} * detail::attention_queries + lane;
        const vec less = load(of.lanes.maximum + lane);
        const vec share = load(inverse + lane), dot = load(dots + lane);
        for (int k = 0; k < strip.keys; ++k, at += detail::attention_queries) {
            const std::ptrdiff_t key = strip.first + k;
            vec x = load(scores + at), slope = broadcast(1.0F);
            if (caps) {
                const vec bent = tanh_of(x * broadcast(1 / of.s.cap));
                x = broadcast(of.s.cap) * bent;
                slope -= bent * bent;
            }
            const vec p = weight_of(of.biased(x, key, lane) - less) * share;
            vec used = p, d = load(slopes + at);
            if (kept.drops) {
                const vec f = kept(of.index_of(key, lane));
                used = kept.part_of(used, f);
                d = kept.part_of(d, f);
            }
            d = p * (d - dot);
            if (!strip.whole) {
                used = of.where_seen(key, lane, used, vec{});
                d = of.where_seen(key, lane, d, vec{});
            }
            if (bias_gradient != nullptr) {
                float* const to = bias_gradient + lane - key;
                // Of lanes behind the last query nothing, whatever the key is.
                store(to, load(to) + (share == vec{} ? vec{} : d));
            }
            store(scores + at, used);
            store(slopes + at, caps ? d * slope : d);
        }
    }
}

/// A strip's part of the gradients of its keys, or values: factors[key][query] times rows of queries.
inline void add_to_keys(const detail::attention_lanes& lanes, const detail::attention_keys_strip& strip,
                        const float* factors, const float* rows, int wide, bool plain, bool drops, float* to) noexcept {
    const int from = strip.from * block_samples;
    const lane_product p = {
        .scalars = factors + strip.row * detail::attention_queries + from,
        .scalar_row = detail::attention_queries,
        .scalar_term = 1,
        .vectors = rows + std::ptrdiff_t{from} * wide,
        .vector_block = block_samples,
        .vector_term = wide,
        .out = to + std::ptrdiff_t{strip.row} * wide,
        .out_row = wide,
        .out_block = block_samples,
        .rows = strip.keys,
        .blocks = wide / block_samples,
        .terms = detail::smallest(strip.to * block_samples, lanes.queries) - from,
        .add = true,
    };
    if (plain)
        multiply_lanes(p);
    else
        multiply_seen(p, keys_by_query{lanes, strip.first, from, drops ? p.scalars : nullptr});
}

/// A strip's part, or that of several alike, of the gradients of the queries that see it: slopes[key][query] times rows
/// of keys.
inline void add_to_queries(const detail::attention_lanes& lanes, const detail::attention_keys_strip& strip, int keys,
                           const float* slopes, const float* rows, int wide, bool plain, float* to) noexcept {
    const int from = strip.from * block_samples;
    const lane_product p = {
        .scalars = slopes + strip.row * detail::attention_queries + from,
        .scalar_row = 1,
        .scalar_term = detail::attention_queries,
        .vectors = rows + std::ptrdiff_t{strip.row} * wide,
        .vector_block = block_samples,
        .vector_term = wide,
        .out = to + std::ptrdiff_t{from} * wide,
        .out_row = wide,
        .out_block = block_samples,
        .rows = detail::smallest(strip.to * block_samples, lanes.queries) - from,
        .blocks = wide / block_samples,
        .terms = keys,
        .add = true,
    };
    if (plain)
        multiply_lanes(p);
    else
        multiply_seen(p, queries_by_key{lanes, strip.first, from});
}

/// Summed up as gradients of weights are, so that of a row with a single key nothing is left of both.
inline void attention_means(const attention_shape& s, const attention_rows<const float>& output,
                            const attention_rows<const float>& output_gradient, const attention_numbers<float>& to,
                            void* scratch) noexcept {
    using namespace detail;
    const int v = s.value_width;
    scratch_cursor cursor{scratch};
    float* const y = cursor.take<float>(to_size(padded_width(v)) * attention_queries);
    float* const dy = cursor.take<float>(to_size(padded_width(v)) * attention_queries);
    alignas(64) float dots[attention_queries];
    for (std::ptrdiff_t n = 0; n < s.samples; ++n)
        for (std::ptrdiff_t group = 0; group < s.groups; ++group)
            for (std::ptrdiff_t h = group * s.group_step; h < group * s.group_step + s.group_heads; ++h)
                for (std::ptrdiff_t first = 0; first < s.queries; first += attention_queries) {
                    const int queries = static_cast<int>(smaller(s.queries - first, attention_queries));
                    const auto across = [&](const attention_rows<const float>& from, float* blocked) {
                        to_blocked(from.row(n, first, h * v), blocked, queries, v, from.position);
                    };
                    across(output, y);
                    across(output_gradient, dy);
                    for (int lane = 0; lane < queries; lane += width) {
                        std::ptrdiff_t at =
                            std::ptrdiff_t{lane / block_samples} * v * block_samples + lane % block_samples;
                        vec dot{};
                        for (int i = 0; i < v; ++i, at += block_samples) dot = fma(load(y + at), load(dy + at), dot);
                        store(dots + lane, dot);
                    }
                    std::memcpy(to.row(n, h, first), dots, to_size(queries) * sizeof(float));
                }
}

/// Gradients of queries go round once for every few keys, whose own are kept together with them in the second cache.
class attention_backward_pass {
public:
    attention_backward_pass(const attention_shape& s, const attention_backward_arrays& a, void* scratch) noexcept
        : s_(s), a_(a), kept_(s), wide_(detail::padded_width(s.width)),
          value_wide_(detail::padded_width(s.value_width)), held_(detail::attention_held(s)) {
        using namespace detail;
        scratch_cursor cursor{scratch};
        query_ = cursor.take<float>(to_size(wide_) * attention_queries);
        query_across_ = cursor.take<float>(to_size(wide_) * attention_queries);
        query_gradient_ = cursor.take<float>(to_size(wide_) * attention_queries);
        output_ = cursor.take<float>(to_size(value_wide_) * attention_queries);
        output_across_ = cursor.take<float>(to_size(value_wide_) * attention_queries);
        scores_ = cursor.take<float>(to_size(attention_keys) * attention_queries);
        slopes_ = cursor.take<float>(to_size(attention_keys) * attention_queries);
        key_ = cursor.take<float>(to_size(wide_) * to_size(held_));
        key_gradient_ = cursor.take<float>(to_size(wide_) * to_size(held_));
        value_ = cursor.take<float>(to_size(value_wide_) * to_size(held_));
        value_gradient_ = cursor.take<float>(to_size(value_wide_) * to_size(held_));
    }

    /// Of a sample and a group.
    void run(std::ptrdiff_t n, std::ptrdiff_t group) noexcept {
        const int w = s_.width, v = s_.value_width;
        for (std::ptrdiff_t first = 0; first < s_.keys || first == 0; first += held_) {
            const int count = static_cast<int>(detail::smaller(s_.keys - first, held_));
            const std::size_t column = to_size(count) * sizeof(float);
            copy_rows(a_.key.row(n, first, group * w), a_.key.position, count, w, 1, key_, wide_);
            copy_rows(a_.value.row(n, first, group * v), a_.value.position, count, v, 1, value_, value_wide_);
            std::memset(key_gradient_, 0, column * to_size(wide_));
            std::memset(value_gradient_, 0, column * to_size(value_wide_));
            for (int h = 0; h < s_.group_heads; ++h)
                for (std::ptrdiff_t q = 0; q < s_.queries; q += detail::attention_queries)
                    run_queries(n, group * s_.group_step + h, q, first, first + count);
            put_rows(a_.key_gradient, n, first, group * w, key_gradient_, wide_, count, w, 1, false);
            put_rows(a_.value_gradient, n, first, group * v, value_gradient_, value_wide_, count, v, 1, false);
        }
    }

private:
    /// Some queries and the keys that are held, [held, held_end).
    void run_queries(std::ptrdiff_t n, std::ptrdiff_t h, std::ptrdiff_t first, std::ptrdiff_t held,
                     std::ptrdiff_t held_end) noexcept {
        const int queries = static_cast<int>(detail::smaller(s_.queries - first, detail::attention_queries));
        see_keys(s_, a_.extras, n, first, queries, lanes_);
        const std::ptrdiff_t end = detail::smaller(lanes_.end[queries - 1], held_end);
        std::ptrdiff_t key = held + (lanes_.begin[0] > held ? lanes_.begin[0] - held : 0) / 16 * 16;
        if (key >= end && held > 0) return; // else there are gradients of zero to write
        begin(n, h, first);
        float* const bias_to =
            a_.bias_gradient == nullptr ? nullptr : a_.bias_gradient + h * a_.extras.bias_head + first;
        const attention_scores of(s_, lanes_, a_.extras, n, h);
        for (; key < end; key += detail::attention_keys)
            run_block(of, key, detail::smaller(end, key + detail::attention_keys), static_cast<int>(key - held),
                      bias_to);
        put_rows(a_.query_gradient, n, first, h * s_.width, query_gradient_, wide_, queries, s_.width, s_.scale,
                 held > 0);
    }

    /// What all keys need of some queries.
    void begin(std::ptrdiff_t n, std::ptrdiff_t h, std::ptrdiff_t first) noexcept {
        using namespace detail;
        const int w = s_.width, v = s_.value_width, queries = lanes_.queries;
        copy_rows(a_.query.row(n, first, h * w), a_.query.position, queries, w, s_.scale, query_, wide_);
        to_blocked(query_, query_across_, queries, w, wide_);
        copy_rows(a_.output_gradient.row(n, first, h * v), a_.output_gradient.position, queries, v, 1, output_,
                  value_wide_);
        to_blocked(output_, output_across_, queries, v, value_wide_);
        const float* const maximum = a_.maximum.row(n, h, first);
        const float* const sum = a_.sum.row(n, h, first);
        const float* const means = a_.means.row(n, h, first);
        for (int lane = 0; lane < attention_queries; ++lane) {
            const bool there = lane < queries;
            lanes_.maximum[lane] = there ? maximum[lane] : 0.0F;
            inverse_[lane] = there && sum[lane] != 0.0F ? 1 / sum[lane] : 0.0F;
            means_[lane] = there ? means[lane] : 0.0F;
        }
        plain_ = all_finite(query_, wide_, queries, w) && all_finite(output_, value_wide_, queries, v);
        std::memset(query_gradient_, 0, to_size(queries) * to_size(wide_) * sizeof(float));
    }

    /// The keys [key, end), of which the first is row `row` of those that are held.
    void run_block(const attention_scores& of, std::ptrdiff_t key, std::ptrdiff_t end, int row,
                   float* bias_to) noexcept {
        using namespace detail;
        const std::ptrdiff_t at = std::ptrdiff_t{row} * wide_, value_at = std::ptrdiff_t{row} * value_wide_;
        attention_keys_strip strips[attention_strips];
        const int count = strips_of(lanes_, key, end, strips);
        bool plain[attention_strips];
        for (int i = 0; i < count; ++i) {
            const attention_keys_strip& strip = strips[i];
            multiply_strip(strip, key_ + at, wide_, query_across_, s_.width, scores_);
            multiply_strip(strip, value_ + value_at, value_wide_, output_across_, s_.value_width, slopes_);
            slope_scores(of, strip, kept_, inverse_, means_, bias_to, scores_, slopes_);
            plain[i] =
                strip.whole || all_finite(key_ + at + std::ptrdiff_t{strip.row} * wide_, wide_, strip.keys, s_.width);
        }
        for (int i = 0; i < count && a_.value_gradient.at != nullptr; ++i)
            add_to_keys(lanes_, strips[i], scores_, output_, value_wide_, (strips[i].whole && !kept_.drops) || plain_,
                        kept_.drops, value_gradient_ + value_at);
        for (int i = 0; i < count && a_.key_gradient.at != nullptr; ++i)
            add_to_keys(lanes_, strips[i], slopes_, query_, wide_, strips[i].whole || plain_, false,
                        key_gradient_ + at);
        if (a_.query_gradient.at == nullptr) return;
        for (int i = 0; i < count;) {
            const int last = i + alike(strips + i, count - i, plain + i) - 1;
            add_to_queries(lanes_, strips[i], strips[last].row + strips[last].keys - strips[i].row, slopes_, key_ + at,
                           wide_, plain[i], query_gradient_);
            i = last + 1;
        }
    }

    const attention_shape& s_;
    const attention_backward_arrays& a_;
    kept_weights kept_;
    int wide_, value_wide_; ///< floats from row to row
    int held_;              ///< keys at most
    float *query_, *query_across_, *query_gradient_;
    float *output_, *output_across_; ///< gradients
    float *scores_, *slopes_;        ///< [key][query], of weights and gradients of scores
    float *key_, *value_, *key_gradient_, *value_gradient_;
    detail::attention_lanes lanes_;
    alignas(64) float inverse_[detail::attention_queries];
    alignas(64) float means_[detail::attention_queries];
    bool plain_ = true; ///< all queries and gradients of outputs are finite
};

inline void attention_backward(const attention_shape& s, const attention_backward_arrays& a, void* scratch) noexcept {
    attention_backward_pass pass(s, a, scratch);
    for (std::ptrdiff_t n = 0; n < s.samples; ++n)
        for (std::ptrdiff_t group = 0; group < s.groups; ++group) pass.run(n, group);
}
