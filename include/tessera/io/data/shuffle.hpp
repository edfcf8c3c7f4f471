// SPDX-License-Identifier: Apache-2.0
// The order of an epoch as a function: which sample stands at a position follows from seed, epoch and position alone,
// so that no array of the order is kept and a training goes on in the middle of an epoch at once.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/op/mask.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

/// A permutation of 0 .. size-1, keyed by seed and epoch: a Feistel network (Luby and Rackoff 1988, with halves that
/// may differ by a bit) on the next power of two, walked along its cycle until it is below the size (Black and Rogaway,
/// "Ciphers with arbitrary finite domains", 2002). A step of the walk leaves the size with a chance below 1/2, from 64
/// samples on.
class epoch_order {
public:
    epoch_order(std::int64_t size, std::uint64_t seed, std::uint64_t epoch);

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_); }
    /// The sample at a position, which must be below size().
    [[nodiscard]] std::int64_t operator()(std::int64_t position) const;

private:
    static constexpr std::uint64_t rounds = 10;

    [[nodiscard]] std::uint64_t encrypt(std::uint64_t x) const;

    std::uint64_t size_;
    unsigned low_bits_ = 0;
    std::uint64_t low_ = 0, high_ = 0; // masks of the halves
    std::uint64_t keys_[rounds] = {};
};

/// The whole order of an epoch: each of 0 .. size-1 once.
std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed, std::uint64_t epoch);

/// How far a training has come in its data: the next sample, of an order that is a function of seed and epoch (see
/// epoch_order).
struct data_position {
    std::optional<std::uint64_t> shuffle_seed{}; ///< none: in the order of the set
    std::uint64_t epoch = 0;                     ///< counted from 0
    std::int64_t next_sample = 0;                ///< of the epoch's order
    std::int64_t set_size = 0;                   ///< samples of the set
    std::optional<std::uint64_t> set_hash{};     ///< of the set's contents, by its hash(); none: not said
    friend bool operator==(const data_position&, const data_position&) = default;
};

/// How a set is gone through. Train with a seed and count the epochs up: each has an order of its own.
struct batch_options {
    std::optional<std::uint64_t> shuffle_seed{}; ///< without one, in the order of the set
    std::uint64_t epoch = 0;
    bool drop_last = false;                  ///< leaves out the last batch if it is short
    std::int64_t first_sample = 0;           ///< where in the epoch's order a loop begins
    std::optional<std::uint64_t> set_hash{}; ///< for next_position()
};

/// A number for the contents of a set, number by number, on top of what came before.
template <class Element>
std::uint64_t hash_of_elements(std::span<const Element> all, std::uint64_t before = 0) {
    static_assert(sizeof(Element) == 4);
    std::uint64_t h = op::mix(before ^ all.size());
    for (const Element x : all) h = op::mix(h ^ std::bit_cast<std::uint32_t>(x));
    return h;
}

/// Goes on where a training stopped, in the same epoch or, at its end, in the next: set.batches(64, resume(*state.data,
/// set)). Throws tessera::error where the set has another size than the one of the position, so that its order would be
/// another, or other contents, where both say it.
batch_options resume(const data_position& from, std::int64_t set_size, bool drop_last = false,
                     std::optional<std::uint64_t> set_hash = {});

namespace detail {

template <class Set>
std::optional<std::uint64_t> hash_of_set(const Set& set) {
    if constexpr (requires { set.hash(); }) {
        return set.hash();
    } else {
        return {};
    }
}

} // namespace detail

/// The same with all that the set says of itself: its contents too, where it has hash().
template <class Set>
requires requires(const Set& set) { set.size(); }
batch_options resume(const data_position& from, const Set& set, bool drop_last = false) {
    return resume(from, static_cast<std::int64_t>(set.size()), drop_last, detail::hash_of_set(set));
}

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/shuffle.inl"
#endif

#include "tessera/base/end_header.inl"
