// SPDX-License-Identifier: Apache-2.0
// Expressions, a vector at a time. See vector.hpp.

[[gnu::always_inline]] inline vec absolute(vec x) noexcept {
    return reinterpret_cast<vec>(reinterpret_cast<ivec>(x) & 0x7fffffff);
}

/// log x to 2e-7: x = m 2^n with m between sqrt(1/2) and sqrt(2), log m = 2 artanh((m - 1) / (m + 1)) by its series to
/// the 9th power.
[[gnu::always_inline]] inline vec logarithm(vec x) noexcept {
    const vec least = broadcast(1.17549435e-38F); // below it numbers are denormal: they are made 2^23 times as large
    const vec scaled = x < least ? x * broadcast(8388608.0F) : x;
    const ivec bits = reinterpret_cast<ivec>(scaled);
    ivec exponent = ((bits - 0x3f3504f3) >> 23);
    const vec m = reinterpret_cast<vec>(bits - (exponent << 23));
    exponent = x < least ? exponent - 23 : exponent;
    const vec n = __builtin_convertvector(exponent, vec);
    const vec s = (m - broadcast(1.0F)) / (m + broadcast(1.0F));
    const vec square = s * s;
    vec p = broadcast(2.0F / 9);
    p = fma(p, square, broadcast(2.0F / 7));
    p = fma(p, square, broadcast(2.0F / 5));
    p = fma(p, square, broadcast(2.0F / 3));
    p = fma(p * square, s, s + s);
    vec result = fma(n, broadcast(0.693359375F), fma(n, broadcast(-2.12194440e-4F), p));
    result = x == broadcast(HUGE_VALF) ? x : result;
    result = x == vec{} ? broadcast(-HUGE_VALF) : result;
    return x >= vec{} ? result : broadcast(__builtin_nanf(""));
}

/// log(1 + x) of x in [0, 1]: what the sum rounds away is put back by a factor (Kahan).
[[gnu::always_inline]] inline vec logarithm_of_one_more(vec x) noexcept {
    const vec sum = x + broadcast(1.0F);
    const vec kept = sum - broadcast(1.0F);
    return kept == vec{} ? x : logarithm(sum) * (x / kept);
}

[[gnu::always_inline]] inline vec round_down(vec x) noexcept {
    const vec magic = broadcast(12582912.0F); // 1.5 * 2^23: adding it rounds to an integer
    const vec nearest = x + magic - magic;
    const vec below = nearest > x ? nearest - broadcast(1.0F) : nearest;
    return absolute(x) < broadcast(4194304.0F) && below != x ? below : x;
}

/// A function that is computed number by number.
template <class Function>
[[gnu::noinline]] vec lane_by_lane(vec a, vec b, Function f) noexcept {
    for (int i = 0; i < width; ++i) a[i] = f(a[i], b[i]);
    return a;
}

/// sin (Shift 0) or cos (Shift 1) to 2e-7: x less a multiple of pi / 2, in three parts, and Taylor's series. Numbers
/// above 8192 one by one.
template <int Shift>
[[gnu::always_inline]] inline vec wave(vec x) noexcept {
    const ivec too_large = !(absolute(x) < broadcast(8192.0F));
    for (int i = 0; i < width; ++i)
        if (too_large[i] != 0)
            return lane_by_lane(x, x, [](float a, float) { return Shift == 0 ? std::sin(a) : std::cos(a); });
    const vec magic = broadcast(12582912.0F);
    const vec rounded = x * broadcast(0.636619772F) + magic;
    const vec n = rounded - magic;
    vec r = fma(n, broadcast(-1.5703125F), x);
    r = fma(n, broadcast(-4.83751297e-4F), r);
    r = fma(n, broadcast(-7.5497901e-8F), r);
    const ivec quarter = reinterpret_cast<ivec>(rounded) + Shift;
    const vec square = r * r;
    vec sine = broadcast(1.0F / 362880);
    sine = fma(sine, square, broadcast(-1.0F / 5040));
    sine = fma(sine, square, broadcast(1.0F / 120));
    sine = fma(sine, square, broadcast(-1.0F / 6));
    sine = fma(sine * square, r, r);
    vec cosine = broadcast(-1.0F / 3628800);
    cosine = fma(cosine, square, broadcast(1.0F / 40320));
    cosine = fma(cosine, square, broadcast(-1.0F / 720));
    cosine = fma(cosine, square, broadcast(1.0F / 24));
    cosine = fma(cosine, square, broadcast(-0.5F));
    cosine = fma(cosine, square, broadcast(1.0F));
    const vec value = (quarter & 1) != 0 ? cosine : sine;
    return (quarter & 2) != 0 ? -value : value;
}

/// What a node makes of vectors; conditions are 1 or 0.
template <expression::opcode What>
[[gnu::always_inline]] inline vec node_value(vec a, vec b, vec c) noexcept {
    using expression::opcode;
    const vec one = broadcast(1.0F);
    if constexpr (What == opcode::add) return a + b;
    if constexpr (What == opcode::subtract) return a - b;
    if constexpr (What == opcode::multiply) return a * b;
    if constexpr (What == opcode::divide) return a / b;
    if constexpr (What == opcode::negate) return -a;
    if constexpr (What == opcode::less) return a < b ? one : vec{};
    if constexpr (What == opcode::less_equal) return a <= b ? one : vec{};
    if constexpr (What == opcode::equal) return a == b ? one : vec{};
    if constexpr (What == opcode::select) return a != vec{} ? b : c;
    if constexpr (What == opcode::abs) return absolute(a);
    if constexpr (What == opcode::sign) return a > vec{} ? one : a < vec{} ? -one : a;
    if constexpr (What == opcode::min) return a >= b ? b : b != b ? b : a; // NOLINT(misc-redundant-expression): NaN
    if constexpr (What == opcode::max) return a <= b ? b : b != b ? b : a; // NOLINT(misc-redundant-expression)
    if constexpr (What == opcode::relu) return positive(a);
    if constexpr (What == opcode::floor) return round_down(a);
    if constexpr (What == opcode::sqrt) return square_root(a);
    if constexpr (What == opcode::exp) return exponential(a);
    if constexpr (What == opcode::log) return logarithm(a);
    if constexpr (What == opcode::pow) return lane_by_lane(a, b, [](float x, float y) { return std::pow(x, y); });
    if constexpr (What == opcode::tanh) return tanh_of(a);
    if constexpr (What == opcode::sigmoid) return sigmoid_of(a);
    if constexpr (What == opcode::softplus) return positive(a) + logarithm_of_one_more(exponential(-absolute(a)));
    if constexpr (What == opcode::erf) return error_function(a);
    if constexpr (What == opcode::normal) return normal_below(a);
    if constexpr (What == opcode::sin) return wave<0>(a);
    if constexpr (What == opcode::cos) return wave<1>(a);
    return a; // stop_gradient, straight_through
}

/// Node number I of a formula, from those before it, or from memory: the inputs, the result, its gradient.
template <const expression::formula& F, int Which, std::size_t I>
[[gnu::always_inline]] inline void compute_node(vec* v, const float* const* from, std::ptrdiff_t i,
                                                std::ptrdiff_t live) noexcept {
    using expression::opcode;
    constexpr const expression::node& n = F.nodes.nodes[I];
    if constexpr (F.reads_result(Which) && static_cast<int>(I) == F.result) {
        v[I] = load_some(from[F.inputs] + i, live, 1.0F);
    } else if constexpr (n.what == opcode::input) {
        v[I] = load_some(from[n.of[0]] + i, live, 1.0F);
    } else if constexpr (n.what == opcode::gradient) {
        v[I] = F.loss ? broadcast(*from[F.inputs + 1]) : load_some(from[F.inputs + 1] + i, live, 1.0F);
    } else if constexpr (n.what == opcode::constant) {
        v[I] = broadcast(static_cast<float>(n.constant));
    } else if constexpr (n.what == opcode::attribute) {
        v[I] = broadcast(*from[F.inputs + 2 + n.of[0]]);
    } else {
        constexpr int a = n.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
        constexpr int b = n.of[1] < 0 ? a : n.of[1];
        constexpr int c = n.of[2] < 0 ? a : n.of[2];
        constexpr const expression::node& asked = F.nodes.nodes[a];
        if constexpr (n.what == opcode::select && asked.what == opcode::less) { // no number between
            v[I] = v[asked.of[0]] < v[asked.of[1]] ? v[b] : v[c];
        } else if constexpr (n.what == opcode::select && asked.what == opcode::less_equal) {
            v[I] = v[asked.of[0]] <= v[asked.of[1]] ? v[b] : v[c];
        } else {
            v[I] = node_value<n.what>(v[a], v[b], v[c]);
        }
    }
}

/// to[i] = the result of a formula (expression::the_result), or the gradient of one of its inputs. `from`: the inputs,
/// the result, its gradient, and each attribute as an array of one number.
template <const expression::formula& F, int Which, std::size_t... I, std::size_t... K>
[[gnu::always_inline]] inline void run_formula_nodes(const float* const* from, float* to, std::ptrdiff_t count,
                                                     std::index_sequence<I...>, std::index_sequence<K...>) noexcept {
    static constexpr expression::node_order order = order_of(F, Which);
    const float* const places[] = {from[K]...}; // which `to` cannot be an alias of
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        vec v[expression::max_nodes];
        (compute_node<F, Which, to_size(order.at[I])>(v, places, i, count - i), ...);
        store_some(to + i, v[F.root(Which)], count - i);
    }
}
template <const expression::formula& F, int Which>
void run_formula(const float* const* from, float* to, std::ptrdiff_t count) noexcept {
    constexpr auto nodes = to_size(order_of(F, Which).count);
    constexpr auto leaves = to_size(F.inputs + (Which < 0 && F.attributes == 0 ? 0 : 2 + F.attributes));
    run_formula_nodes<F, Which>(from, to, count, std::make_index_sequence<nodes>{}, std::make_index_sequence<leaves>{});
}
