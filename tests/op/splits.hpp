// SPDX-License-Identifier: Apache-2.0
// Shards of an operator, each given its regions alone, against the whole: values and gradients, in double.
#pragma once

#include "op/harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace tests::splits {

struct shard_of_op {
    ts::interval ranges[ts::max_loops];
    bool first_part = true;
};

/// Cut points of some loops; others stay whole.
using cuts = std::vector<std::vector<ts::index_t>>;

inline std::vector<shard_of_op> make_shards(const ts::description& d, const cuts& cut) {
    const std::uint32_t reduced = ts::reduced_loops(d, d.nests.size() - 1);
    std::vector<shard_of_op> shards(1);
    for (int l = 0; l < d.loops.size(); ++l) {
        std::vector<ts::index_t> ends = cut[ts::to_size(l)];
        ends.push_back(d.loops[l].extent);
        std::vector<shard_of_op> next;
        for (const shard_of_op& s : shards) {
            ts::index_t begin = 0;
            for (const ts::index_t end : ends) {
                next.push_back(s);
                next.back().ranges[l] = {begin, end};
                next.back().first_part = s.first_part && (begin == 0 || !ts::has(reduced, l));
                begin = end;
            }
        }
        shards = next;
    }
    return shards;
}

/// Adds a shard's result to the whole, or takes the larger.
inline void combine(tile& all, const tile& part, bool largest) {
    std::size_t i = 0;
    for (const std::size_t where : positions(part.region, all.region)) {
        if (part.integers.empty()) {
            double& to = all.numbers[where];
            to = largest ? std::max(to, part.numbers[i]) : to + part.numbers[i];
        } else {
            all.integers[where] += part.integers[i];
        }
        ++i;
    }
}

/// The difference, relative to the norm.
inline double check_equal(const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (std::isinf(expected[i]) && found[i] == expected[i]) {
            continue; // the largest of no numbers
        }
        error += (found[i] - expected[i]) * (found[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    CHECK(std::sqrt(error) <= 1e-12 * std::sqrt(norm));
    return norm > 0 ? std::sqrt(error / norm) : 0;
}

/// Whether a shard is the first of those that differ only in loops that a nest (or all that read an operand) does not
/// have: the others make copies.
inline bool counts(const ts::description& d, const shard_of_op& s, std::uint32_t loops) {
    bool first = true;
    for (int l = 0; l < d.loops.size(); ++l) {
        first = first && (ts::has(loops, l) || s.ranges[l].begin == 0);
    }
    return first;
}
inline std::uint32_t loops_that_read(const ts::description& d, int o) {
    std::uint32_t loops = 0;
    for (const ts::nest& n : d.nests) {
        loops |= ts::has(n.reads, o) ? n.loops : 0;
    }
    return loops;
}

/// Forward, nest by nest: what a nest writes is complete before the next one reads it. `own`: each shard's output, which
/// may be a part of a sum; empty where that of another shard is the same.
inline double check_forward(const op_instance& whole, op_instance& split, const std::vector<shard_of_op>& shards,
                            ts::pass what, std::vector<tile>& own) {
    double most = 0;
    const ts::description& d = whole.d;
    own.assign(shards.size(), {});
    const bool running = what == ts::pass::evaluate && whole.row.attributes.kind == ts::op_kind::batch_norm;
    for (int k = running ? 1 : 0; k < d.nests.size(); ++k) {
        const int write = d.nests[k].write;
        const bool largest = d.nests[k].reduce == ts::reducer::max;
        tile result{ts::whole(d.operands[write].extents), {}, {}};
        result.numbers.assign(split.value[ts::to_size(write)].numbers.size(),
                              largest ? -std::numeric_limits<double>::infinity() : 0.0);
        result.integers.assign(split.value[ts::to_size(write)].integers.size(), 0);
        for (const shard_of_op& s : shards) {
            if (!counts(d, s, d.nests[k].loops)) {
                continue;
            }
            ts::compute_call call = whole.call(what);
            call.first_nest = call.last_nest = k;
            call.first_part = s.first_part;
            std::copy(s.ranges, s.ranges + ts::max_loops, call.ranges);
            std::vector<tile> tiles(ts::to_size(d.operands.size()));
            for (int o = 0; o < d.operands.size(); ++o) {
                const bool state = running && d.operands[o].kind == ts::operand_kind::state;
                if (ts::has(d.nests[k].reads, o) || o == write || state) {
                    tiles[ts::to_size(o)] = part_of(split.value[ts::to_size(o)], ts::region(d, o, s.ranges));
                    call.value[o] = op_instance::view(tiles[ts::to_size(o)]);
                }
            }
            tiles[ts::to_size(write)].numbers.assign(tiles[ts::to_size(write)].numbers.size(), std::nan(""));
            tiles[ts::to_size(write)].integers.assign(tiles[ts::to_size(write)].integers.size(), -1);
            ts::reference::compute<double>(call);
            combine(result, tiles[ts::to_size(write)], largest);
            if (write == d.output()) {
                own[ts::to_size(&s - shards.data())] = tiles[ts::to_size(write)];
            }
        }
        split.value[ts::to_size(write)].numbers = result.numbers;
        split.value[ts::to_size(write)].integers = result.integers;
        CHECK(result.integers == whole.value[ts::to_size(write)].integers);
        most = std::max(most, check_equal(result.numbers, whole.value[ts::to_size(write)].numbers));
    }
    return most;
}

/// Backward, from the last nest to the first: gradients of intermediates are complete before an earlier nest reads
/// them.
inline double check_backward(const op_instance& whole, op_instance& split, const std::vector<shard_of_op>& shards,
                             const std::vector<tile>& own) {
    double most = 0;
    const ts::description& d = whole.d;
    for (int k = d.nests.size() - 1; k >= 0; --k) {
        for (int o = 0; o < d.operands.size(); ++o) {
            if (ts::gradient_nest(d, o) != k) {
                continue;
            }
            tile result{ts::whole(d.operands[o].extents), {}, {}};
            result.numbers.assign(split.gradient[ts::to_size(o)].numbers.size(), 0.0);
            for (const shard_of_op& s : shards) {
                if (!counts(d, s, loops_that_read(d, o))) {
                    continue;
                }
                ts::compute_call call = whole.call(ts::pass::backward);
                call.emits = ts::bit(o);
                call.first_part = s.first_part;
                std::copy(s.ranges, s.ranges + ts::max_loops, call.ranges);
                std::vector<tile> values(ts::to_size(d.operands.size()));
                std::vector<tile> gradients(ts::to_size(d.operands.size()));
                for (int i = 0; i < d.operands.size(); ++i) {
                    const ts::box region = ts::region(d, i, s.ranges);
                    if (ts::has(d.operands[o].gradient_reads, i)) {
                        const tile& made = own[ts::to_size(&s - shards.data())];
                        const bool is_own = i == d.output() && !made.numbers.empty();
                        values[ts::to_size(i)] = is_own ? made : part_of(split.value[ts::to_size(i)], region);
                        call.value[i] = op_instance::view(values[ts::to_size(i)]);
                    }
                    const bool loss = i == d.output() && whole.is_loss();
                    if (!loss && d.operands[i].type != ts::element::i32) {
                        gradients[ts::to_size(i)] = part_of(split.gradient[ts::to_size(i)], region);
                        call.gradient[i] = op_instance::view(gradients[ts::to_size(i)]);
                    }
                }
                ts::reference::compute<double>(call);
                combine(result, gradients[ts::to_size(o)], false);
            }
            CAPTURE(o);
            split.gradient[ts::to_size(o)].numbers = result.numbers;
            most = std::max(most, check_equal(result.numbers, whole.gradient[ts::to_size(o)].numbers));
        }
    }
    return most;
}

/// An operator whole, and what its shards are to give.
struct split_check {
    op_instance whole;
    op_instance evaluated;
    double largest[2] = {0, 0}; ///< differences forward and backward, relative to the norm

    explicit split_check(const op_case& c, std::uint64_t seed = 1) : whole(c, seed), evaluated(c, seed) {
        whole.forward();
        whole.backward();
        evaluated.forward(ts::pass::evaluate);
    }
    const ts::description& d() const { return whole.d; }

    void check(const cuts& cut, bool backward = true) {
        const std::vector<shard_of_op> shards = make_shards(whole.d, cut);
        op_instance split(whole.row, whole.seed);
        op_instance evaluation(whole.row, whole.seed);
        std::vector<tile> own;
        largest[0] = std::max(largest[0], check_forward(whole, split, shards, ts::pass::forward, own));
        if (backward) {
            largest[1] = std::max(largest[1], check_backward(whole, split, shards, own));
        }
        largest[0] = std::max(largest[0], check_forward(evaluated, evaluation, shards, ts::pass::evaluate, own));
    }

    /// Several loops at once, at random places.
    void check_random(int trials, random_numbers& random, bool backward = true) {
        for (int trial = 0; trial < trials; ++trial) {
            cuts cut(ts::to_size(whole.d.loops.size()));
            for (int l = 0; l < whole.d.loops.size(); ++l) {
                const ts::index_t extent = whole.d.loops[l].extent;
                if (ts::splittable(whole.d, l) && random.below(2) == 0) {
                    cut[ts::to_size(l)] = {1 + random.below(extent - 1)};
                }
            }
            CAPTURE(trial);
            check(cut, backward);
        }
    }
};

} // namespace tests::splits
