// SPDX-License-Identifier: Apache-2.0
// edge_times() at run time, many times as fast: most pairs of configurations are priced without a look at their shards.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/tiling.hpp"

#include <algorithm>

namespace tessera::cost {

namespace detail {

/// Prices one edge of the additive model. A template, so that only programs that search at run time pay for compiling
/// it.
template <class Tiles>
class edge_pricer {
public:
    edge_pricer(const Tiles& from, const Tiles& to) : from_(from), to_(to) {
        int length = 1;
        for (const Tiles* t : {&from, &to}) {
            for (const tiled& c : t->each.items) {
                length = std::max(length, c.shards);
            }
        }
        dimensions_.reserve(to_size(from.rank));
        for (int k = 0; k < from.rank; ++k) {
            dimensions_.emplace_back(from, to, k, length, pool_);
        }
        needed_.resize(to_size(to.each.size()));
        for (std::size_t j = 0; j < needed_.size(); ++j) {
            for (const dimension& d : dimensions_) {
                needed_[j].take(d.needed[d.readers.of[j]]);
                seen_as_.push_back({d.readers.of[j], to_size(d.readers.all[d.readers.of[j]].grid)});
            }
        }
    }

    std::vector<index_t> times(index_t element_bytes, bool gradient, const machine& on) const {
        std::vector<index_t> all(to_size(from_.each.size()) * needed_.size());
        std::size_t next = 0;
        for (std::size_t i = 0; i < from_.each.items.size(); ++i) {
            rows at_writer;
            for (std::size_t k = 0; k < dimensions_.size(); ++k) {
                const dimension& d = dimensions_[k];
                at_writer.own[k] = d.own.data() + d.writers.of[i] * d.readers.all.size();
                at_writer.read[k] = d.read.data() + d.writers.of[i] * d.grids;
            }
            for (std::size_t j = 0; j < needed_.size(); ++j) {
                const largest most = received(at_writer, from_.each.items[i], j);
                all[next++] = on.transfer_time(most.forward * element_bytes) +
                              (gradient ? on.transfer_time(most.backward * element_bytes) : 0);
            }
        }
        return all;
    }

private:
    struct pattern {
        int grid = 0;
        std::uint32_t apart = 0;
        std::vector<std::uint16_t> piece{}; ///< of every shard
    };
    /// Ways in which the shards of a tiling's configurations lie along one dimension, each once, and which one a
    /// configuration has. They go on for `length` shards: after its last shard a configuration begins anew.
    struct patterns {
        std::vector<pattern> all;
        std::vector<std::size_t> of; ///< of every configuration

        patterns(const Tiles& t, int k, int length) {
            of.reserve(t.each.items.size());
            for (const tiled& c : t.each.items) {
                std::size_t i = 0;
                while (i < all.size() && (all[i].grid != c.grids[k] || all[i].apart != c.apart[k])) {
                    ++i;
                }
                of.push_back(i);
                if (i < all.size()) {
                    continue;
                }
                all.push_back({c.grids[k], c.apart[k]});
                const std::uint16_t* const first = t.places.begin() + c.first_place + k;
                for (int s = 0, own = 0; s < length; ++s) {
                    all.back().piece.push_back(first[own * t.rank]);
                    own = own + 1 < c.shards ? own + 1 : 0;
                }
            }
        }
    };

    /// A number for every shard, along one dimension: the same for all; or that or 0; or each its own.
    struct shard_numbers {
        index_t value = 0;
        std::uint64_t none = 0; ///< shards that have 0 instead
        int first = -1;         ///< in a pool of numbers, where each shard has its own; -1: not so
    };

    /// Makes shard_numbers, and keeps what does not fit into them.
    class number_pool {
    public:
        template <class Number>
        shard_numbers make(int count, const Number& number) {
            shard_numbers n;
            const std::size_t first = pool_.size();
            bool own = count > 64;
            for (int s = 0; s < count && !own; ++s) {
                const index_t x = number(to_size(s));
                own = x != 0 && n.value != 0 && x != n.value;
                n.value = x != 0 ? x : n.value;
                n.none |= static_cast<std::uint64_t>(x == 0) << s;
            }
            for (int s = 0; s < count && own; ++s) {
                pool_.push_back(number(to_size(s)));
            }
            n.first = own ? static_cast<int>(first) : -1;
            return n;
        }
        const index_t* at(int first) const { return pool_.data() + first; }

    private:
        std::vector<index_t> pool_;
    };

    /// A product of shard_numbers over dimensions.
    struct shard_product {
        index_t value = 1;
        std::uint64_t none = 0;
        int first[max_rank]{}; ///< of the dimensions in which each shard has its own
        int owns = 0;

        void take(const shard_numbers& n) {
            if (n.first >= 0) {
                first[owns++] = n.first;
            } else {
                value *= n.value;
                none |= n.none;
            }
        }
        bool is_even() const { return owns == 0; }
        index_t at(int s, const number_pool& pool) const {
            index_t x = s < 64 && (none >> s & 1) != 0 ? 0 : value;
            for (int k = 0; k < owns; ++k) {
                x *= pool.at(first[k])[s];
            }
            return x;
        }
    };

    /// Elements that some shard receives at most.
    struct largest {
        index_t forward = 0;
        index_t backward = 0;
    };

    struct dimension {
        patterns writers;
        patterns readers;
        std::size_t grids = 0;           ///< the readers'
        std::vector<shard_numbers> own;  ///< [writers' pattern][readers']: what shards of equal numbers have in common
        std::vector<shard_numbers> read; ///< [writers' pattern][readers' grid]: what all of the grid's pieces read
        std::vector<shard_numbers> needed; ///< [readers' pattern]

        dimension(const Tiles& from, const Tiles& to, int k, int length, number_pool& pool)
            : writers(from, k, length), readers(to, k, length), grids(to_size(to.grids[k].size())) {
            const std::size_t wide = to_size(to.pieces[k].size());
            const std::size_t tall = to_size(from.pieces[k].size());
            const auto add = [](index_t a, index_t b) { return a + b; };
            const std::vector<index_t> common = common_sizes(from.pieces[k], to.pieces[k]);
            const std::vector<index_t> sums = common_with(to.grids[k], to.pieces[k], from.pieces[k], add);
            for (const pattern& u : writers.all) {
                for (const pattern& v : readers.all) {
                    own.push_back(
                        pool.make(length, [&](std::size_t s) { return common[u.piece[s] * wide + v.piece[s]]; }));
                }
                for (std::size_t g = 0; g < grids; ++g) {
                    read.push_back(pool.make(length, [&](std::size_t s) { return sums[g * tall + u.piece[s]]; }));
                }
            }
            for (const pattern& v : readers.all) {
                needed.push_back(
                    pool.make(length, [&](std::size_t s) { return to.pieces[k].items[v.piece[s]].size(); }));
            }
        }
    };

    static std::uint64_t first(int n) { return n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0}; }

    /// What one of the shards `who` lacks at most of `wanted`, where `have` says who has `own`.
    static index_t most_missing(std::uint64_t who, index_t wanted, std::uint64_t have, index_t own) {
        return who == 0 ? 0 : wanted - ((who & ~have) != 0 ? 0 : own);
    }
    /// The same of the first so many shards, one by one; the first `both` have something of their own.
    index_t most_missing(int shards, int both, const shard_product& wanted, index_t times,
                         const shard_product& own) const {
        index_t most = 0;
        for (int s = 0; s < shards; ++s) {
            most = std::max(most, times * wanted.at(s, pool_) - (s < both ? own.at(s, pool_) : 0));
        }
        return most;
    }

    /// What a writer's configuration shares with every way in which readers lie, by dimension.
    struct rows {
        const shard_numbers* own[max_rank]{};
        const shard_numbers* read[max_rank]{};
    };

    largest received(const rows& writer, const tiled& u, std::size_t j) const {
        const tiled& v = to_.each.items[j];
        const int both = std::min(u.shards, v.shards);
        const shard_product& needed = needed_[j];
        const std::size_t rank = dimensions_.size();
        const seen_as* const seen = seen_as_.data() + j * rank;
        shard_numbers own{1};
        shard_numbers read{v.readers};
        for (std::size_t k = 0; k < rank; ++k) {
            const shard_numbers& o = writer.own[k][seen[k].pattern];
            const shard_numbers& r = writer.read[k][seen[k].grid];
            own.value *= o.value;
            own.none |= o.none;
            own.first &= o.first; // stays -1 where all are
            read.value *= r.value;
            read.none |= r.none;
            read.first &= r.first;
        }
        if ((own.first & read.first) < 0 && needed.is_even()) {
            const std::uint64_t have = first(both) & ~own.none;
            return {most_missing(first(v.shards) & ~needed.none, u.parts * needed.value, have, own.value),
                    most_missing(first(u.shards) & ~read.none, read.value, have, own.value)};
        }
        shard_product each_own;
        shard_product each_read;
        for (std::size_t k = 0; k < rank; ++k) {
            each_own.take(writer.own[k][seen[k].pattern]);
            each_read.take(writer.read[k][seen[k].grid]);
        }
        return {most_missing(v.shards, both, needed, u.parts, each_own),
                most_missing(u.shards, both, each_read, v.readers, each_own)};
    }

    /// How a reader's configuration lies along a dimension.
    struct seen_as {
        std::size_t pattern = 0;
        std::size_t grid = 0;
    };

    const Tiles& from_;
    const Tiles& to_;
    number_pool pool_;
    std::vector<dimension> dimensions_;
    std::vector<shard_product> needed_; ///< by each of the reader's configurations
    std::vector<seen_as> seen_as_;      ///< [reader's configuration][dimension]
};

} // namespace detail

/// What edge_times() fills in. Where splits are even and no operator reads beyond its own shard's edges, what shards of
/// equal numbers have in common is the same for all of them or nothing, so that a bit for each shard says all of it.
template <class Tiles>
std::vector<index_t> edge_table(const Tiles& from, const Tiles& to, index_t element_bytes, bool gradient,
                                const machine& on) {
    return detail::edge_pricer<Tiles>(from, to).times(element_bytes, gradient, on);
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
