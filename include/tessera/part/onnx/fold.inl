// SPDX-License-Identifier: Apache-2.0
// Bodies of fold.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold.hpp"

namespace tessera::onnx::folding {

TESSERA_INLINE constant integers_of(std::vector<std::int64_t> all, bool is_list) {
    constant c;
    c.whole = true;
    c.extents = is_list ? std::vector<index_t>{static_cast<index_t>(all.size())} : std::vector<index_t>{};
    c.integers = std::move(all);
    return c;
}

TESSERA_INLINE constant of_extents(constant c, std::vector<index_t> extents) {
    if (elements_of(extents) != static_cast<index_t>(c.size())) {
        throw cannot_say{"a constant of " + std::to_string(c.size()) + " elements is given other extents"};
    }
    c.extents = std::move(extents);
    c.name.clear();
    return c;
}

TESSERA_INLINE std::vector<index_t> said_extents(const std::vector<index_t>& said, const std::vector<index_t>& have,
                                                 bool zeros) {
    std::vector<index_t> out = said;
    index_t known = 1;
    std::size_t open = out.size();
    for (std::size_t d = 0; d < out.size(); ++d) {
        if (out[d] == 0 && !zeros && d < have.size()) {
            out[d] = have[d];
        }
        if (out[d] == -1 && open == out.size()) {
            open = d;
        } else if (out[d] < 0 || __builtin_mul_overflow(known, out[d], &known)) {
            throw cannot_say{"its shape says " + std::to_string(out[d])};
        }
    }
    if (open < out.size()) {
        out[open] = known == 0 ? 0 : elements_of(have) / known;
    }
    return out;
}

TESSERA_INLINE double (*unary_of(const std::string& type))(double) {
    struct named_function {
        const char* name;
        double (*of)(double);
    };
    constexpr named_function all[] = {
        {"Neg", [](double x) { return -x; }},
        {"Abs", [](double x) { return std::abs(x); }},
        {"Sqrt", [](double x) { return std::sqrt(x); }},
        {"Exp", [](double x) { return std::exp(x); }},
        {"Log", [](double x) { return std::log(x); }},
        {"Floor", [](double x) { return std::floor(x); }},
        {"Ceil", [](double x) { return std::ceil(x); }},
        {"Round", [](double x) { return std::nearbyint(x); }},
        {"Reciprocal", [](double x) { return 1 / x; }},
        {"Not", [](double x) { return static_cast<double>(x == 0); }},
        {"Sin", [](double x) { return std::sin(x); }},
        {"Cos", [](double x) { return std::cos(x); }},
        {"Tanh", [](double x) { return std::tanh(x); }},
        {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
        {"Relu", [](double x) { return std::max(x, 0.0); }},
    };
    for (const named_function& f : all) {
        if (type == f.name) {
            return f.of;
        }
    }
    return nullptr;
}

TESSERA_INLINE int binary_of(const std::string& type) {
    constexpr const char* names[] = {"Add", "Sub", "Mul",   "Div",  "Mod",     "Pow",         "Min",
                                     "Max", "And", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
    for (int k = 0; k < 14; ++k) {
        if (type == names[k]) {
            return k;
        }
    }
    return -1;
}

TESSERA_INLINE std::int64_t binary_integers(int which, std::int64_t x, std::int64_t y) {
    std::int64_t r = 0;
    bool bad = (which == 3 || which == 4) && (y == 0 || (y == -1 && x == INT64_MIN));
    switch (which) {
    case 0:
        bad = __builtin_add_overflow(x, y, &r);
        break;
    case 1:
        bad = __builtin_sub_overflow(x, y, &r);
        break;
    case 2:
        bad = __builtin_mul_overflow(x, y, &r);
        break;
    case 3:
        r = bad ? 0 : x / y;
        break;
    case 4:
        r = bad ? 0 : (x % y + y) % y;
        break;
    case 5: {
        const double power = std::pow(static_cast<double>(x), static_cast<double>(y));
        bad = !(std::abs(power) < 9e15);
        r = bad ? 0 : static_cast<std::int64_t>(power);
        break;
    }
    case 6:
        r = std::min(x, y);
        break;
    case 7:
        r = std::max(x, y);
        break;
    default:
        r = which == 8    ? x != 0 && y != 0
            : which == 9  ? x == y
            : which == 10 ? x < y
            : which == 11 ? x > y
            : which == 12 ? x <= y
                          : x >= y;
    }
    if (bad) {
        throw cannot_say{"integers are too large, or are divided by 0"};
    }
    return r;
}

TESSERA_INLINE double binary_numbers(int which, double x, double y) {
    switch (which) {
    case 0:
        return x + y;
    case 1:
        return x - y;
    case 2:
        return x * y;
    case 3:
        return x / y;
    case 4:
        return std::fmod(x, y);
    case 5:
        return std::pow(x, y);
    case 6:
        return std::min(x, y);
    case 7:
        return std::max(x, y);
    default:
        return which == 9 ? x == y : which == 10 ? x < y : which == 11 ? x > y : which == 12 ? x <= y : x >= y;
    }
}

TESSERA_INLINE constant binary(int which, const constant& a, const constant& b) {
    constant c;
    c.extents = broadcast_extents(a.extents, b.extents);
    const bool integers = a.whole && b.whole;
    c.whole = integers || which >= 8;
    const auto count = to_size(elements_of(c.extents, most_elements(std::max(a.size(), b.size()))));
    index_walk walk(c.extents);
    for (std::size_t i = 0; i < count; ++i, walk.next()) {
        const std::size_t x = walk.in(a.extents);
        const std::size_t y = walk.in(b.extents);
        if (integers) {
            c.integers.push_back(binary_integers(which, a.integers[x], b.integers[y]));
        } else if (c.whole) {
            c.integers.push_back(binary_numbers(which, a.at(x), b.at(y)) != 0 ? 1 : 0);
        } else {
            c.numbers.push_back(static_cast<float>(binary_numbers(which, a.at(x), b.at(y))));
        }
    }
    return c;
}

TESSERA_INLINE constant cast(const constant& from, data_type to) {
    if (!is_number(to) && !is_integer(to)) {
        throw cannot_say{"it makes " + to_text(to)};
    }
    constant c = from;
    c.whole = !is_number(to);
    if (from.whole && !c.whole) {
        c.numbers.assign(from.integers.begin(), from.integers.end());
        c.integers.clear();
    } else if (!from.whole && c.whole) {
        c.numbers.clear();
        for (const float x : from.numbers) {
            if (!(std::abs(x) < 9e18F)) {
                throw cannot_say{"a number is too large for an integer"};
            }
            c.integers.push_back(static_cast<std::int64_t>(x));
        }
    }
    for (std::int64_t& x : c.integers) {
        x = to == data_type::boolean ? (x != 0 ? 1 : 0) : x;
    }
    return c;
}

TESSERA_INLINE span_of slice_of(index_t extent, index_t start, index_t end, index_t step) {
    if (step == 0 || step == INT64_MIN) {
        throw cannot_say{"its step is 0"};
    }
    const auto place = [&](index_t x, index_t least, index_t most) {
        return std::clamp(x < 0 ? x + extent : x, least, most);
    };
    span_of s;
    s.step = step;
    s.first = step > 0 ? place(start, 0, extent) : place(start, -1, extent - 1);
    const index_t last = step > 0 ? place(end, 0, extent) : place(end, -1, extent - 1);
    const index_t length = step > 0 ? last - s.first : s.first - last;
    const index_t by = step > 0 ? step : -step;
    s.count = length <= 0 ? 0 : (length - 1) / by + 1;
    return s;
}

TESSERA_INLINE std::vector<span_of> slices_of(const call& c, const std::vector<index_t>& extents) {
    std::vector<span_of> all;
    for (const index_t e : extents) {
        all.push_back({0, e, 1});
    }
    const std::vector<index_t> starts = c.list(1);
    const std::vector<index_t> ends = c.list(2);
    const std::vector<index_t> axes = c.has(3) ? c.list(3) : std::vector<index_t>{};
    const std::vector<index_t> steps = c.has(4) ? c.list(4) : std::vector<index_t>(starts.size(), 1);
    c.require(starts.size() == ends.size() && steps.size() == starts.size() &&
                  (!c.has(3) || axes.size() == starts.size()) && starts.size() <= extents.size(),
              "its lists are of different lengths");
    for (std::size_t k = 0; k < starts.size(); ++k) {
        const int d = c.axis(c.has(3) ? axes[k] : static_cast<index_t>(k), static_cast<int>(extents.size()));
        all[to_size(d)] = slice_of(extents[to_size(d)], starts[k], ends[k], steps[k]);
    }
    return all;
}

} // namespace tessera::onnx::folding

#include "tessera/base/end_header.inl"
