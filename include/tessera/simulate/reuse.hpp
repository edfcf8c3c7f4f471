// SPDX-License-Identifier: Apache-2.0
// Where a task of a plan finds its memory when the plan runs again and again: how much else was touched since (the LRU
// stack distance of Mattson et al., IBM Systems Journal 9(2), 1970), and whether another device touched it last.
// Devices are threads that share a cache.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"

#include <algorithm>

namespace tessera::simulation {

/// Whose caches hold memory when a device comes back to it.
enum class holder : std::uint8_t {
    own,    ///< nobody else wrote it since; nor read it, if it is to be written
    theirs, ///< another device wrote it
    shared, ///< another device read it, and it is to be written: all copies must be given up first, line by line
};

/// What one access of a task meets.
struct reuse {
    access what;     ///< as accesses_of lists it
    index_t own = 0; ///< distinct bytes that the device touched since it touched this memory itself
    index_t all = 0; ///< distinct bytes that all devices touched since any of them touched it
    holder held = holder::own;
    bool written = false; ///< it was last touched by a write
};

namespace detail {

/// Bytes by the time at which they were last touched (a Fenwick tree), for one stream of accesses.
class touch_history {
public:
    touch_history(std::size_t ranges, std::size_t touches) : when_(ranges, -1), sums_(touches + 1, 0) {}

    /// Distinct bytes touched since the range was; -1: never.
    index_t since(std::size_t range) const { return when_[range] < 0 ? -1 : total_ - up_to(when_[range]); }
    void touch(std::size_t range, index_t bytes);

private:
    void add(index_t time, index_t bytes);
    index_t up_to(index_t time) const;

    std::vector<index_t> when_;
    std::vector<index_t> sums_;
    index_t now_ = 0;
    index_t total_ = 0;
};

/// Memory by address: a space for every arena of every device and for every input, cut into ranges wherever an access
/// begins or ends.
class address_ranges {
public:
    address_ranges(const plan& p, const std::vector<std::vector<access>>& accesses);
    std::size_t size() const { return cuts_.size(); }
    index_t bytes(std::size_t range) const { return cuts_[range + 1].second - cuts_[range].second; }
    /// Ranges [first, last) of an access.
    std::pair<std::size_t, std::size_t> of(const plan& p, const access& a) const;

private:
    struct place {
        int space = 0;
        index_t begin = 0;
        index_t end = 0;
    };
    static place place_of(const plan& p, const access& a);
    std::vector<std::pair<int, index_t>> cuts_;
};

} // namespace detail

/// For every task of a bound plan, its tiles in their places, what each of its accesses meets in the second of two
/// runs, tasks taken in the plan's order. An access of several stretches that were last touched at different times
/// counts as its largest one.
std::vector<std::vector<reuse>> reuse_of(const plan& p);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/reuse.inl"
#endif

#include "tessera/base/end_header.inl"
