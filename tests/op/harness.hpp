// SPDX-License-Identifier: Apache-2.0
// One operator with tensors of its own, run by the reference kernels whole or in shards.
#pragma once

#include "op/table.hpp"
#include "tessera/backend/reference/kernels.hpp"

#include <limits>

namespace tests {

/// A part of an operand, in the element type of its description (f32 being double here).
struct tile {
    ts::box region;
    std::vector<double> numbers;
    std::vector<std::int32_t> integers;
};

/// Row-major position of every element of `part` in a dense array over `from`.
inline std::vector<std::size_t> positions(const ts::box& part, const ts::box& from) {
    std::vector<std::size_t> found;
    ts::index_t x[ts::max_rank]{};
    const ts::index_t count = part.volume();
    for (ts::index_t i = 0; i < count; ++i) {
        ts::index_t rest = i;
        for (int k = part.rank - 1; k >= 0; --k) {
            x[k] = rest % part.dim[k].size();
            rest /= part.dim[k].size();
        }
        ts::index_t where = 0;
        for (int k = 0; k < part.rank; ++k) {
            where = where * from.dim[k].size() + part.dim[k].begin + x[k] - from.dim[k].begin;
        }
        found.push_back(ts::to_size(where));
    }
    return found;
}

inline tile part_of(const tile& all, const ts::box& region) {
    tile t{region, {}, {}};
    for (const std::size_t i : positions(region, all.region)) {
        if (all.integers.empty()) {
            t.numbers.push_back(all.numbers[i]);
        } else {
            t.integers.push_back(all.integers[i]);
        }
    }
    return t;
}

struct op_instance {
    const op_case& row;
    std::uint64_t seed;
    ts::description d;
    ts::run_state run{.seed = 11, .step = 3};
    double loss_scale = 0.375;
    std::vector<tile> value;
    std::vector<tile> gradient;

    /// Inputs and parameters hold different numbers, no two nearer than 1/500 and none nearer to 0: no finite
    /// difference crosses a kink of relu or of a maximum. `gradient[output]` is random.
    explicit op_instance(const op_case& c, std::uint64_t number = 1) : row(c), seed(number), d(c.describe()) {
        random_numbers random{seed};
        for (int o = 0; o < d.operands.size(); ++o) {
            const ts::operand& x = d.operands[o];
            const auto count = ts::to_size(x.extents.volume());
            tile t{ts::whole(x.extents), {}, {}};
            gradient.push_back(t);
            gradient.back().numbers.resize(count);
            if (x.type == ts::element::i32) {
                for (std::size_t i = 0; i < count; ++i) {
                    t.integers.push_back(static_cast<std::int32_t>(random.below(c.integers())));
                }
            } else {
                t.numbers = x.kind == ts::operand_kind::state ? running(count) : spread(random, count);
                for (double& v : t.numbers) {
                    v += x.kind == ts::operand_kind::input ? c.shift_of(ts::to_size(x.slot)) : 0;
                }
            }
            value.push_back(t);
        }
        gradient[ts::to_size(d.output())].numbers = spread(random, gradient[ts::to_size(d.output())].numbers.size());
    }

    bool is_loss() const { return d.facts.loss; }

    ts::compute_call call(ts::pass what) const {
        ts::compute_call c;
        c.d = &d;
        c.attributes = row.attributes;
        c.op = 5;
        c.what = what;
        c.last_nest = d.nests.size() - 1;
        c.loss_scale = loss_scale;
        c.run = &run;
        const loop_ranges all(d);
        for (int l = 0; l < ts::max_loops; ++l) {
            c.ranges[l] = all.range[l];
        }
        return c;
    }

    static ts::tile_view view(tile& t) {
        return {t.integers.empty() ? static_cast<void*>(t.numbers.data()) : static_cast<void*>(t.integers.data()),
                t.region};
    }

    void forward(ts::pass what = ts::pass::forward) {
        ts::compute_call c = call(what);
        for (int o = 0; o < d.operands.size(); ++o) {
            c.value[o] = view(value[ts::to_size(o)]);
        }
        ts::reference::compute<double>(c);
    }

    void backward() {
        ts::compute_call c = call(ts::pass::backward);
        for (int o = 0; o < d.operands.size(); ++o) {
            c.value[o] = view(value[ts::to_size(o)]);
            c.gradient[o] = view(gradient[ts::to_size(o)]);
            c.emits |= ts::gradient_nest(d, o) >= 0 ? ts::bit(o) : 0;
        }
        ts::reference::compute<double>(c);
    }

    /// A scalar of which `gradient[output]` (for a loss, loss_scale) is the gradient.
    double objective() {
        forward();
        const std::vector<double>& y = value[ts::to_size(d.output())].numbers;
        const std::vector<double>& dy = gradient[ts::to_size(d.output())].numbers;
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            sum += y[i] * (is_loss() ? loss_scale : dy[i]);
        }
        return sum;
    }

private:
    static std::vector<double> spread(random_numbers& random, std::size_t count) {
        std::vector<double> numbers;
        for (std::size_t i = 0; i < count; ++i) {
            numbers.push_back((static_cast<double>(i) - static_cast<double>(count) / 2 + 0.25) / 250);
        }
        for (std::size_t i = count; i > 1; --i) {
            std::swap(numbers[i - 1], numbers[ts::to_size(random.below(static_cast<ts::index_t>(i)))]);
        }
        return numbers;
    }
    static std::vector<double> running(std::size_t count) {
        std::vector<double> numbers(count);
        for (std::size_t i = 0; i < count; ++i) {
            numbers[i] = i < count / 2 ? 0.1 * static_cast<double>(i) : 0.5 + static_cast<double>(i);
        }
        return numbers;
    }
};

} // namespace tests
