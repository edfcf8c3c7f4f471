// SPDX-License-Identifier: Apache-2.0
// The order of an epoch as a function: which sample stands at a position follows from seed, epoch and position alone, so that no array of the
// order is kept and a training goes on in the middle of an epoch at once.
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

/// A permutation of 0 .. size-1, keyed by seed and epoch: a Feistel network (Luby and Rackoff 1988, with halves that may differ by a bit) on the next power
/// of two, walked along its cycle until it is below the size (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). A step of
/// the walk leaves the size with a chance below 1/2, from 64 samples on.
class epoch_order {
public:
    epoch_order(std::int64_t size, std::uint64_t seed, std::uint64_t epoch)
        : size_{static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0))} {
        // Few bits have few different permutations; a longer walk through more of them makes all orders of few samples equally likely.
        const auto bits =
            static_cast<unsigned>(std::max(6, static_cast<int>(std::bit_width(std::max<std::uint64_t>(size_, 1) - 1))));
        low_bits_ = bits / 2;
        low_ = (std::uint64_t{1} << low_bits_) - 1;
        high_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
        const std::uint64_t key = op::mix(op::mix(seed) ^ epoch);
        for (std::uint64_t r = 0; r < rounds; ++r) keys_[r] = op::mix(key + r);
    }

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_); }
    /// The sample at a position, which must be below size().
    [[nodiscard]] std::int64_t operator()(std::int64_t position) const {
        auto x = static_cast<std::uint64_t>(position);
        do x = encrypt(x);
        while (x >= size_);
        return static_cast<std::int64_t>(x);
    }

private:
    static constexpr std::uint64_t rounds = 10;

    [[nodiscard]] std::uint64_t encrypt(std::uint64_t x) const {
        std::uint64_t left = x >> low_bits_;
        std::uint64_t right = x & low_;
        for (std::uint64_t r = 0; r < rounds; r += 2) {
            left ^= op::mix(keys_[r] ^ right) & high_;
            right ^= op::mix(keys_[r + 1] ^ left) & low_;
        }
        return left << low_bits_ | right;
    }

    std::uint64_t size_;
    unsigned low_bits_ = 0;
    std::uint64_t low_ = 0, high_ = 0; // masks of the halves
    std::uint64_t keys_[rounds] = {};
};

/// The whole order of an epoch: each of 0 .. size-1 once.
inline std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed, std::uint64_t epoch) {
    const epoch_order at(size, seed, epoch);
    std::vector<std::int64_t> order(static_cast<std::size_t>(at.size()));
    for (std::int64_t i = 0; i < at.size(); ++i) order[static_cast<std::size_t>(i)] = at(i);
    return order;
}

/// How far a training has come in its data: the next sample, of an order that is a function of seed and epoch (see epoch_order).
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

/// Goes on where a training stopped, in the same epoch or, at its end, in the next: set.batches(64, resume(*state.data, set)). Throws tessera::error
/// where the set has another size than the one of the position, so that its order would be another, or other contents, where both say it.
inline batch_options resume(const data_position& from, std::int64_t set_size, bool drop_last = false,
                            std::optional<std::uint64_t> set_hash = {}) {
    if (from.set_size != set_size)
        throw error("training cannot go on at sample " + std::to_string(from.next_sample) + " of a set of " +
                    std::to_string(from.set_size) + " in a set of " + std::to_string(set_size) +
                    "; hand in the same set, or start a new epoch");
    if (from.set_hash && set_hash && *from.set_hash != *set_hash)
        throw error("training cannot go on at sample " + std::to_string(from.next_sample) + " of another set of " +
                    std::to_string(set_size) +
                    " samples: its contents are not those of the set that it stopped in (their hashes differ); hand in "
                    "the same set, or start a new epoch");
    if (from.next_sample < 0 || from.next_sample > set_size)
        throw error("a set of " + std::to_string(set_size) + " samples has no position " +
                    std::to_string(from.next_sample) + "; give one from 0 to the size");
    const std::optional<std::uint64_t> hash = set_hash ? set_hash : from.set_hash;
    if (from.next_sample == set_size) return {from.shuffle_seed, from.epoch + 1, drop_last, 0, hash};
    return {from.shuffle_seed, from.epoch, drop_last, from.next_sample, hash};
}

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

#include "tessera/base/end_header.inl"
