// SPDX-License-Identifier: Apache-2.0
// The host's kernels of attention against plain double loops: all options, any rectangle, on every instruction set that
// this machine has.
#include "support/instruction_sets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tessera/backend/host/kernels/attention.hpp"
#include "tessera/op/mask.hpp"

namespace {

namespace k = tessera::host::kernels;
using test_support::on_every_instruction_set;
using test_support::scratch_memory;

using floats = std::vector<float>;
using doubles = std::vector<double>;

/// A whole attention with its numbers. Rows of operands are longer than their heads, so that strides matter.
struct problem {
    k::attention_shape s; ///< of all of it
    std::ptrdiff_t gap = 0;
    floats query, keys, value, dy, bias;
    std::vector<std::int32_t> lengths, mask;

    std::ptrdiff_t heads() const { return s.groups * s.group_heads; }
    std::ptrdiff_t row(bool of_query, bool of_value) const {
        return (of_query ? heads() : s.groups) * (of_value ? s.value_width : s.width) + gap;
    }
    std::size_t at(bool of_query, bool of_value, std::ptrdiff_t n, std::ptrdiff_t h, std::ptrdiff_t t, int i) const {
        return tessera::to_size((n * (of_query ? s.queries : s.keys) + t) * row(of_query, of_value) +
                                h * (of_value ? s.value_width : s.width) + i);
    }
    std::size_t elements(bool of_query, bool of_value) const {
        return tessera::to_size(s.samples * (of_query ? s.queries : s.keys) * row(of_query, of_value));
    }
    std::size_t rows() const { return tessera::to_size(s.samples * heads() * s.queries); }
    std::size_t row_at(std::ptrdiff_t n, std::ptrdiff_t h, std::ptrdiff_t t) const {
        return tessera::to_size((n * heads() + h) * s.queries + t);
    }
    std::ptrdiff_t bias_head() const { return s.queries + s.keys - 1 + 63; }
    std::size_t bias_at(std::ptrdiff_t h, std::ptrdiff_t t, std::ptrdiff_t key) const {
        return tessera::to_size(h * bias_head() + s.keys - 1 + t - key);
    }
    bool sees(std::ptrdiff_t n, std::ptrdiff_t t, std::ptrdiff_t key) const {
        const std::ptrdiff_t apart = t + s.keys - s.queries - key;
        return !(s.causal && apart < 0) && !(s.window > 0 && std::abs(apart) >= s.window) &&
               !(!lengths.empty() && key >= lengths[tessera::to_size(n)]) &&
               !(!mask.empty() && mask[tessera::to_size(n * s.keys + key)] == 0);
    }
};

/// A part of it.
struct rectangle {
    std::ptrdiff_t sample[2], group[2], query[2], key[2];
};
rectangle whole(const problem& p) { return {{0, p.s.samples}, {0, p.s.groups}, {0, p.s.queries}, {0, p.s.keys}}; }

/// What it is cut into by one place of its samples, groups, queries and keys each, without what is empty.
std::vector<rectangle> cut_at(const problem& p, const std::ptrdiff_t (&at)[4]) {
    std::vector<rectangle> parts;
    for (int corner = 0; corner < 16; ++corner) {
        rectangle r = whole(p);
        std::ptrdiff_t* const sides[4] = {r.sample, r.group, r.query, r.key};
        bool empty = false;
        for (int i = 0; i < 4; ++i) {
            sides[i][(corner >> i & 1) != 0 ? 0 : 1] = at[i];
            empty = empty || sides[i][0] == sides[i][1];
        }
        if (!empty) {
            parts.push_back(r);
        }
    }
    return parts;
}

floats random_floats(std::size_t count, std::mt19937& engine, float most = 1) {
    std::uniform_real_distribution<float> draw{-most, most};
    floats result(count);
    for (float& f : result) f = draw(engine);
    return result;
}

problem random_problem(unsigned seed) {
    std::mt19937 engine{seed};
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>{low, high}(engine); };
    const auto one_in = [&](int n) { return draw(1, n) == 1; };
    problem p;
    k::attention_shape& s = p.s;
    s.samples = draw(1, 2);
    s.groups = draw(1, 2);
    s.group_heads = s.group_step = one_in(3) ? draw(2, 3) : 1;
    s.queries = one_in(5) ? 1 : draw(1, 150);
    s.keys = one_in(3) ? s.queries : one_in(6) ? 1 : draw(1, 190);
    s.width = one_in(3) ? 16 * draw(1, 2) : draw(1, 37);
    s.value_width = one_in(2) ? s.width : draw(1, 40);
    s.all_heads = p.heads();
    s.all_queries = s.queries;
    s.all_keys = s.keys;
    s.scale = one_in(4) ? -0.3F : 1 / std::sqrt(static_cast<float>(s.width));
    s.cap = one_in(3) ? 1.5F : 0.0F;
    s.causal = one_in(2);
    s.window = one_in(3) ? draw(1, 100) : 0;
    s.dropped_percent = one_in(3) ? draw(1, 90) : 0;
    s.mask_key = tessera::op::mask_key(seed, 3, 5);
    p.gap = draw(0, 3);
    // Scores between -10 and 10 or so: the largest one comes late in some rows.
    p.query = random_floats(p.elements(true, false), engine, 4);
    p.keys = random_floats(p.elements(false, false), engine, 3);
    p.value = random_floats(p.elements(false, true), engine);
    p.dy = random_floats(p.elements(true, true), engine);
    if (one_in(3)) p.bias = random_floats(tessera::to_size(p.heads() * p.bias_head()), engine, 2);
    if (one_in(3))
        for (std::ptrdiff_t n = 0; n < s.samples; ++n)
            p.lengths.push_back(one_in(4) ? 0 : draw(1, static_cast<int>(s.keys) + 1));
    if (const int few = draw(1, 8); one_in(3)) // keys here and there, or nearly all
        for (std::ptrdiff_t i = 0; i < s.samples * s.keys; ++i) p.mask.push_back(draw(0, 8) > few ? 0 : 1);
    return p;
}

struct numbers {
    doubles y, maximum, sum, dq, dk, dv, dbias;
};

/// The weights of a row, of which dropout knows nothing yet; those of masked keys are zero.
struct plain_row {
    doubles score, weight, bent; ///< bent: the slope of the cap
    double maximum = -HUGE_VAL, sum = 0;
};

plain_row row_of(const problem& p, std::ptrdiff_t n, std::ptrdiff_t h, std::ptrdiff_t t) {
    const k::attention_shape& s = p.s;
    plain_row r;
    r.score.resize(tessera::to_size(s.keys));
    r.weight.resize(tessera::to_size(s.keys));
    r.bent.assign(tessera::to_size(s.keys), 1);
    bool nan = false;
    for (std::ptrdiff_t key = 0; key < s.keys; ++key) {
        if (!p.sees(n, t, key)) continue;
        double x = 0;
        for (int i = 0; i < s.width; ++i)
            x += static_cast<double>(p.query[p.at(true, false, n, h, t, i)]) *
                 static_cast<double>(p.keys[p.at(false, false, n, h / s.group_heads, key, i)]);
        x *= static_cast<double>(s.scale);
        if (s.cap > 0) {
            const double bent = std::tanh(x / static_cast<double>(s.cap));
            x = static_cast<double>(s.cap) * bent;
            r.bent[tessera::to_size(key)] = 1 - bent * bent;
        }
        if (!p.bias.empty()) x += static_cast<double>(p.bias[p.bias_at(h, t, key)]);
        r.score[tessera::to_size(key)] = x;
        nan = nan || std::isnan(x);
        r.maximum = std::max(r.maximum, x);
    }
    for (std::ptrdiff_t key = 0; key < s.keys; ++key)
        if (p.sees(n, t, key))
            r.sum += r.weight[tessera::to_size(key)] = std::exp(r.score[tessera::to_size(key)] - r.maximum);
    if (nan) r.maximum = r.sum = NAN;
    for (std::ptrdiff_t key = 0; key < s.keys; ++key)
        if (p.sees(n, t, key)) r.weight[tessera::to_size(key)] /= r.sum;
    return r;
}

/// Forward of everything, and the gradients that a rectangle contributes.
numbers plain(const problem& p, const rectangle& part) {
    const k::attention_shape& s = p.s;
    numbers o;
    o.y.assign(p.elements(true, true), 0);
    o.maximum.assign(p.rows(), 0);
    o.sum.assign(p.rows(), 0);
    o.dq.assign(p.elements(true, false), 0);
    o.dk.assign(p.elements(false, false), 0);
    o.dv.assign(p.elements(false, true), 0);
    o.dbias.assign(p.bias.size(), 0);
    for (std::ptrdiff_t n = 0; n < s.samples; ++n)
        for (std::ptrdiff_t h = 0; h < p.heads(); ++h)
            for (std::ptrdiff_t t = 0; t < s.queries; ++t) {
                const std::ptrdiff_t g = h / s.group_heads;
                const plain_row r = row_of(p, n, h, t);
                o.maximum[p.row_at(n, h, t)] = r.maximum;
                o.sum[p.row_at(n, h, t)] = r.sum;
                const auto kept = [&](std::ptrdiff_t key) {
                    const std::ptrdiff_t index = ((n * p.heads() + h) * s.queries + t) * s.keys + key;
                    return s.dropped_percent == 0 ? 1.0
                           : tessera::op::keeps(s.mask_key, index, s.dropped_percent)
                               ? tessera::op::kept_scale(s.dropped_percent)
                               : 0.0;
                };
                double dot = 0;
                for (int i = 0; i < s.value_width; ++i) {
                    double sum = 0;
                    for (std::ptrdiff_t key = 0; key < s.keys; ++key)
                        if (p.sees(n, t, key) && kept(key) > 0)
                            sum += r.weight[tessera::to_size(key)] * kept(key) *
                                   static_cast<double>(p.value[p.at(false, true, n, g, key, i)]);
                    o.y[p.at(true, true, n, h, t, i)] = sum;
                    dot += sum * static_cast<double>(p.dy[p.at(true, true, n, h, t, i)]);
                }
                if (n < part.sample[0] || n >= part.sample[1] || g < part.group[0] || g >= part.group[1] ||
                    t < part.query[0] || t >= part.query[1])
                    continue;
                for (std::ptrdiff_t key = part.key[0]; key < part.key[1]; ++key) {
                    if (!p.sees(n, t, key)) continue;
                    double d = 0;
                    for (int i = 0; i < s.value_width && kept(key) > 0; ++i) {
                        const auto slope = static_cast<double>(p.dy[p.at(true, true, n, h, t, i)]);
                        d += slope * static_cast<double>(p.value[p.at(false, true, n, g, key, i)]);
                        o.dv[p.at(false, true, n, g, key, i)] += r.weight[tessera::to_size(key)] * kept(key) * slope;
                    }
                    const double ds = r.weight[tessera::to_size(key)] * (d * kept(key) - dot);
                    if (!p.bias.empty()) o.dbias[p.bias_at(h, t, key)] += ds;
                    const double scaled = ds * r.bent[tessera::to_size(key)] * static_cast<double>(s.scale);
                    for (int i = 0; i < s.width; ++i) {
                        o.dq[p.at(true, false, n, h, t, i)] +=
                            scaled * static_cast<double>(p.keys[p.at(false, false, n, g, key, i)]);
                        o.dk[p.at(false, false, n, g, key, i)] +=
                            scaled * static_cast<double>(p.query[p.at(true, false, n, h, t, i)]);
                    }
                }
            }
    return o;
}

/// What the kernels make of it.
struct results {
    floats y, maximum, sum, dq, dk, dv, dbias;
    explicit results(const problem& p, float filled = 0)
        : y(p.elements(true, true), filled), maximum(p.rows(), filled), sum(p.rows(), filled),
          dq(p.elements(true, false), filled), dk(p.elements(false, false), filled),
          dv(p.elements(false, true), filled), dbias(p.bias.size(), filled) {}
};

k::attention_shape shape_of(const problem& p, const rectangle& r) {
    k::attention_shape s = p.s;
    s.first_sample = r.sample[0], s.samples = r.sample[1] - r.sample[0];
    s.first_head = r.group[0] * s.group_heads, s.groups = r.group[1] - r.group[0];
    s.first_query = r.query[0], s.queries = r.query[1] - r.query[0];
    s.first_key = r.key[0], s.keys = r.key[1] - r.key[0];
    return s;
}

template <class Float, class Floats>
k::attention_rows<Float> rows_of(const problem& p, const rectangle& r, Floats& all, bool of_query, bool of_value) {
    const std::ptrdiff_t head = of_query ? r.group[0] * p.s.group_heads : r.group[0];
    return {all.data() + p.at(of_query, of_value, r.sample[0], head, of_query ? r.query[0] : r.key[0], 0),
            p.row(of_query, of_value), p.row(of_query, of_value) * (of_query ? p.s.queries : p.s.keys)};
}
template <class Float, class Floats>
k::attention_numbers<Float> numbers_of(const problem& p, const rectangle& r, Floats& all) {
    return {all.data() + p.row_at(r.sample[0], r.group[0] * p.s.group_heads, r.query[0]), p.s.queries,
            p.s.queries * p.heads()};
}
k::attention_extras extras_of(const problem& p, const rectangle& r) {
    return {p.bias.empty() ? nullptr : p.bias.data() + p.bias_at(r.group[0] * p.s.group_heads, r.query[0], r.key[0]),
            p.bias_head(), p.lengths.empty() ? nullptr : p.lengths.data() + r.sample[0],
            p.mask.empty() ? nullptr : p.mask.data() + r.sample[0] * p.s.keys + r.key[0], p.s.keys};
}

void forward(const problem& p, const rectangle& r, k::attention_step step, results& out) {
    const k::attention_shape s = shape_of(p, r);
    scratch_memory scratch(k::attention_forward_scratch(s), 1);
    k::attention_forward(s,
                         {.query = rows_of<const float>(p, r, p.query, true, false),
                          .key = rows_of<const float>(p, r, p.keys, false, false),
                          .value = rows_of<const float>(p, r, p.value, false, true),
                          .extras = extras_of(p, r),
                          .output = rows_of<float>(p, r, out.y, true, true),
                          .maximum = numbers_of<float>(p, r, out.maximum),
                          .sum = numbers_of<float>(p, r, out.sum)},
                         step, scratch.get());
    CHECK(scratch.intact());
}

void backward(const problem& p, const rectangle& r, results& out) {
    const k::attention_shape s = shape_of(p, r);
    floats means(p.rows(), NAN);
    scratch_memory before(k::attention_means_scratch(s), 1);
    k::attention_means(s, rows_of<const float>(p, r, out.y, true, true), rows_of<const float>(p, r, p.dy, true, true),
                       numbers_of<float>(p, r, means), before.get());
    CHECK(before.intact());
    scratch_memory scratch(k::attention_backward_scratch(s), 1);
    k::attention_backward(s,
                          {.query = rows_of<const float>(p, r, p.query, true, false),
                           .key = rows_of<const float>(p, r, p.keys, false, false),
                           .value = rows_of<const float>(p, r, p.value, false, true),
                           .extras = extras_of(p, r),
                           .output_gradient = rows_of<const float>(p, r, p.dy, true, true),
                           .maximum = numbers_of<const float>(p, r, out.maximum),
                           .sum = numbers_of<const float>(p, r, out.sum),
                           .means = numbers_of<const float>(p, r, means),
                           .query_gradient = rows_of<float>(p, r, out.dq, true, false),
                           .key_gradient = rows_of<float>(p, r, out.dk, false, false),
                           .value_gradient = rows_of<float>(p, r, out.dv, false, true),
                           .bias_gradient = p.bias.empty() ? nullptr
                                                           : out.dbias.data() + p.bias_at(r.group[0] * p.s.group_heads,
                                                                                          r.query[0], r.key[0])},
                          scratch.get());
    CHECK(scratch.intact());
}

/// The largest |a - b| / (1 + |b|). What is not finite must be so in both; where a factor rounds to zero, infinite in
/// one may be NaN in the other.
double difference(const floats& a, const doubles& b) {
    REQUIRE(a.size() == b.size());
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isnan(a[i]) && !std::isfinite(b[i])) continue;
        if (static_cast<double>(a[i]) == b[i]) continue;
        const double d = std::abs(static_cast<double>(a[i]) - b[i]) / (1 + std::abs(b[i]));
        if (!(d <= worst)) worst = std::isnan(d) ? HUGE_VAL : d;
    }
    return worst;
}

void check_forward(const results& found, const numbers& expected) {
    CHECK(difference(found.y, expected.y) < 1e-5);
    CHECK(difference(found.maximum, expected.maximum) < 1e-5);
    CHECK(difference(found.sum, expected.sum) < 1e-5);
}
void check_backward(const results& found, const numbers& expected) {
    CHECK(difference(found.dq, expected.dq) < 3e-5);
    CHECK(difference(found.dk, expected.dk) < 3e-5);
    CHECK(difference(found.dv, expected.dv) < 3e-5);
    CHECK(difference(found.dbias, expected.dbias) < 3e-5);
}

constexpr unsigned settings = 60;

TEST_CASE("attention is that of plain loops, whatever its options") {
    for (unsigned seed = 0; seed < settings; ++seed) {
        CAPTURE(seed);
        const problem p = random_problem(seed);
        const numbers expected = plain(p, whole(p));
        on_every_instruction_set([&] {
            results found(p);
            forward(p, whole(p), k::attention_step::all, found);
            check_forward(found, expected);
            backward(p, whole(p), found);
            check_backward(found, expected);
        });
    }
}

TEST_CASE("parts of samples, heads, queries and keys add up to the whole") {
    for (unsigned seed = 100; seed < 100 + settings; ++seed) {
        CAPTURE(seed);
        const problem p = random_problem(seed);
        std::mt19937 engine{seed};
        const auto cut = [&](std::ptrdiff_t end) {
            return std::uniform_int_distribution<std::ptrdiff_t>{0, end}(engine);
        };
        const std::ptrdiff_t at[4] = {cut(p.s.samples), cut(p.s.groups), cut(p.s.queries), cut(p.s.keys)};
        const rectangle all = whole(p);
        const numbers expected = plain(p, all);
        on_every_instruction_set([&] {
            results found(p), parts(p);
            parts.maximum.assign(p.rows(), -HUGE_VALF);
            // Of each part of the keys the maxima, then the sums, then the outputs, as devices would combine them.
            for (const auto step : {k::attention_step::maxima, k::attention_step::sums, k::attention_step::outputs}) {
                results sum(p);
                sum.maximum = parts.maximum;
                for (const rectangle& r : cut_at(p, at)) {
                    results part = parts;
                    if (step == k::attention_step::maxima) part.maximum.assign(p.rows(), -HUGE_VALF);
                    if (step == k::attention_step::sums) part.sum.assign(p.rows(), 0);
                    if (step == k::attention_step::outputs) part.y.assign(part.y.size(), 0);
                    forward(p, r, step, part);
                    for (std::size_t i = 0; i < p.rows(); ++i) {
                        sum.maximum[i] = std::max(sum.maximum[i], part.maximum[i]);
                        sum.sum[i] += part.sum[i];
                    }
                    for (std::size_t i = 0; i < part.y.size(); ++i) sum.y[i] += part.y[i];
                }
                if (step == k::attention_step::maxima) parts.maximum = sum.maximum;
                if (step == k::attention_step::sums) parts.sum = sum.sum;
                if (step == k::attention_step::outputs) parts.y = sum.y;
            }
            forward(p, all, k::attention_step::all, found);
            CHECK(found.maximum == parts.maximum);
            check_forward(parts, expected);
            for (const rectangle& r : cut_at(p, at)) {
                results part(p);
                part.y = parts.y, part.maximum = parts.maximum, part.sum = parts.sum;
                backward(p, r, part);
                for (floats results::*of : {&results::dq, &results::dk, &results::dv, &results::dbias})
                    for (std::size_t i = 0; i < (part.*of).size(); ++i) (parts.*of)[i] += (part.*of)[i];
            }
            check_backward(parts, expected);
        });
    }
}

TEST_CASE("a part of attention writes its own rectangle and nothing else") {
    for (unsigned seed = 200; seed < 220; ++seed) {
        CAPTURE(seed);
        const problem p = random_problem(seed);
        rectangle r = whole(p);
        r.query[0] = p.s.queries / 3, r.query[1] = p.s.queries - p.s.queries / 4;
        r.group[0] = p.s.groups - 1;
        const numbers all = plain(p, whole(p)), part = plain(p, r);
        on_every_instruction_set([&] {
            results found(p, 7);
            forward(p, r, k::attention_step::all, found);
            results given(p, 7);
            for (std::size_t i = 0; i < all.y.size(); ++i) given.y[i] = static_cast<float>(all.y[i]);
            for (std::size_t i = 0; i < p.rows(); ++i) {
                given.maximum[i] = static_cast<float>(all.maximum[i]);
                given.sum[i] = static_cast<float>(all.sum[i]);
            }
            given.dbias.assign(given.dbias.size(), 0);
            backward(p, r, given);
            for (std::ptrdiff_t n = 0; n < p.s.samples; ++n)
                for (std::ptrdiff_t t = 0; t < p.s.queries; ++t)
                    for (std::ptrdiff_t i = 0; i < p.row(true, true); ++i) {
                        const std::size_t at = tessera::to_size((n * p.s.queries + t) * p.row(true, true) + i);
                        const std::ptrdiff_t h = i / p.s.value_width;
                        const bool inside =
                            t >= r.query[0] && t < r.query[1] && h < p.heads() && h >= r.group[0] * p.s.group_heads;
                        if (inside)
                            CHECK(std::abs(static_cast<double>(found.y[at]) - all.y[at]) < 1e-4);
                        else
                            CHECK(found.y[at] == 7.0F);
                    }
            for (std::ptrdiff_t n = 0; n < p.s.samples; ++n)
                for (std::ptrdiff_t t = 0; t < p.s.keys; ++t)
                    for (std::ptrdiff_t i = 0; i < p.row(false, false); ++i) {
                        const std::size_t at = tessera::to_size((n * p.s.keys + t) * p.row(false, false) + i);
                        const std::ptrdiff_t g = i / p.s.width;
                        if (g < p.s.groups && g >= r.group[0])
                            CHECK(std::abs(static_cast<double>(given.dk[at]) - part.dk[at]) < 1e-3);
                        else
                            CHECK(given.dk[at] == 7.0F);
                    }
        });
    }
}

TEST_CASE("long rows of attention, whose largest scores come last") {
    for (const bool causal : {false, true}) {
        problem p;
        p.s = {.samples = 1, .groups = 1, .queries = 70, .keys = 1100, .width = 64, .value_width = 64};
        p.s.all_heads = 1, p.s.all_queries = p.s.queries, p.s.all_keys = p.s.keys;
        p.s.scale = 0.125F, p.s.causal = causal;
        std::mt19937 engine{1};
        p.query = random_floats(p.elements(true, false), engine);
        p.keys = random_floats(p.elements(false, false), engine);
        p.value = random_floats(p.elements(false, true), engine);
        p.dy = random_floats(p.elements(true, true), engine);
        for (std::size_t i = 0; i < p.query.size(); ++i) p.query[i] = std::abs(p.query[i]);
        for (std::size_t i = 0; i < p.keys.size(); ++i) p.keys[i] += static_cast<float>(i / 64) / 500;
        const numbers expected = plain(p, whole(p));
        on_every_instruction_set([&] {
            results found(p), again(p);
            forward(p, whole(p), k::attention_step::all, found);
            check_forward(found, expected);
            backward(p, whole(p), found);
            check_backward(found, expected);
            forward(p, whole(p), k::attention_step::all, again);
            backward(p, whole(p), again);
            CHECK(found.y == again.y);
            CHECK(found.dq == again.dq);
            CHECK(found.dk == again.dk);
            CHECK(found.dv == again.dv);
        });
    }
}

TEST_CASE("what is not finite reaches the rows alone that see it") {
    for (const float bad : {NAN, HUGE_VALF, -HUGE_VALF})
        for (unsigned seed = 300; seed < 340; ++seed) {
            CAPTURE(bad);
            CAPTURE(seed);
            problem p = random_problem(seed);
            p.s.causal = p.s.causal || seed % 2 == 0;
            std::mt19937 engine{seed};
            floats& of = seed % 4 == 0 ? p.query : seed % 4 == 1 ? p.keys : seed % 4 == 2 ? p.value : p.dy;
            of[std::uniform_int_distribution<std::size_t>{0, of.size() - 1}(engine)] = bad;
            const numbers expected = plain(p, whole(p));
            on_every_instruction_set([&] {
                results found(p);
                forward(p, whole(p), k::attention_step::all, found);
                check_forward(found, expected);
                results in_steps(p);
                for (const auto step : {k::attention_step::maxima, k::attention_step::sums, k::attention_step::outputs})
                    forward(p, whole(p), step, in_steps);
                check_forward(in_steps, expected);
                backward(p, whole(p), found);
                check_backward(found, expected);
            });
        }
}

TEST_CASE("rows of attention without keys are zero") {
    on_every_instruction_set([] {
        problem p = random_problem(4);
        p.lengths.assign(tessera::to_size(p.s.samples), 0);
        results found(p, 7);
        forward(p, whole(p), k::attention_step::all, found);
        found.dbias.assign(found.dbias.size(), 0);
        backward(p, whole(p), found);
        const numbers expected = plain(p, whole(p));
        for (std::ptrdiff_t n = 0; n < p.s.samples; ++n)
            for (std::ptrdiff_t t = 0; t < p.s.queries; ++t) {
                CHECK(found.y[p.at(true, true, n, 0, t, 0)] == 0.0F);
                CHECK(found.dq[p.at(true, false, n, 0, t, 0)] == 0.0F);
            }
        CHECK(difference(found.maximum, expected.maximum) == 0);
        CHECK(difference(found.sum, expected.sum) == 0);
    });
}

} // namespace
