// SPDX-License-Identifier: Apache-2.0
// Bodies of shuffle.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/shuffle.hpp"

namespace tessera::io {

TESSERA_INLINE epoch_order::epoch_order(std::int64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_{static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0))} {
    // Few bits have few different permutations; a longer walk through more of them makes all orders of few samples
    // equally likely.
    const auto bits =
        static_cast<unsigned>(std::max(6, static_cast<int>(std::bit_width(std::max<std::uint64_t>(size_, 1) - 1))));
    low_bits_ = bits / 2;
    low_ = (std::uint64_t{1} << low_bits_) - 1;
    high_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
    const std::uint64_t key = op::mix(op::mix(seed) ^ epoch);
    for (std::uint64_t r = 0; r < rounds; ++r) keys_[r] = op::mix(key + r);
}

TESSERA_INLINE std::int64_t epoch_order::operator()(std::int64_t position) const {
    auto x = static_cast<std::uint64_t>(position);
    do x = encrypt(x);
    while (x >= size_);
    return static_cast<std::int64_t>(x);
}

TESSERA_INLINE std::uint64_t epoch_order::encrypt(std::uint64_t x) const {
    std::uint64_t left = x >> low_bits_;
    std::uint64_t right = x & low_;
    for (std::uint64_t r = 0; r < rounds; r += 2) {
        left ^= op::mix(keys_[r] ^ right) & high_;
        right ^= op::mix(keys_[r + 1] ^ left) & low_;
    }
    return left << low_bits_ | right;
}

TESSERA_INLINE std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed, std::uint64_t epoch) {
    const epoch_order at(size, seed, epoch);
    std::vector<std::int64_t> order(to_size(at.size()));
    for (std::int64_t i = 0; i < at.size(); ++i) order[to_size(i)] = at(i);
    return order;
}

TESSERA_INLINE batch_options resume(const data_position& from, std::int64_t set_size, bool drop_last,
                                    std::optional<std::uint64_t> set_hash) {
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

} // namespace tessera::io

#include "tessera/base/end_header.inl"
