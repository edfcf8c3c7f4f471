// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that every index is one, that copies cover their targets and that sums have every part
// once.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Every index is one; every task is in its list once; every segment lies in its source and its target.
TESSERA_INLINE bool verifier::structure() {
    if (p_.streams < 1 || p_.streams > 3 || p_.order.size() != to_size(p_.lists())) {
        return refuse(nullptr, "it has " + std::to_string(p_.order.size()) + " lists for " +
                                   std::to_string(p_.devices) + " devices of " + std::to_string(p_.streams) +
                                   " streams");
    }
    std::vector<int> seen(p_.tasks.size(), 0);
    for (std::size_t l = 0; l < p_.order.size(); ++l) {
        for (std::size_t i = 0; i < p_.order[l].size(); ++i) {
            const int t = p_.order[l][i];
            if (t < 0 || to_size(t) >= p_.tasks.size() || p_.list_of(p_.tasks[to_size(t)]) != static_cast<int>(l) ||
                p_.tasks[to_size(t)].position != static_cast<int>(i)) {
                return refuse(nullptr, "the list of " + text_of_list(p_, static_cast<int>(l)) +
                                           " names a task that is not its own");
            }
            ++seen[to_size(t)];
        }
    }
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        const int root = p_.root(static_cast<int>(i));
        if (p_.tiles[to_size(root)].type != p_.tiles[i].type) {
            return refuse(nullptr, "tile " + std::to_string(i) + " is another name for elements of another type");
        }
    }
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        const task& t = p_.tasks[i];
        if (seen[i] != 1) {
            return refuse(&t, "a task is not in its device's list exactly once");
        }
        if (t.stream != task_stream::compute && t.kind() == task_kind::compute) {
            return refuse(&t, "a computation is on a communication stream");
        }
        if ((t.stream == task_stream::queue) != (t.priority >= 0) ||
            (t.priority >= 0 && t.params().method != exchange::server)) {
            return refuse(&t, "a task is in a queue without a priority, has one outside, or goes to no server");
        }
        for (const int a : t.after) {
            if (a < 0 || to_size(a) >= p_.tasks.size() || !p_.is_queued(a)) {
                return refuse(&t, "a task waits by itself for one that is in no queue");
            }
        }
        for (const std::vector<int>* list : {&t.reads, &t.writes}) {
            for (int k : *list) {
                if (k < 0 || to_size(k) >= p_.tiles.size()) {
                    return refuse(&t, "a task touches a tile that does not exist");
                }
            }
        }
        for (int k : t.writes) {
            const bool shares = t.kind() == task_kind::update || t.kind() == task_kind::average ||
                                (t.kind() == task_kind::reduce && t.params().message >= 0);
            const bool pushes =
                (shares && (t.params().slices > 1 || t.params().method == exchange::server)) || brings_up(t);
            if (p_.tiles[to_size(k)].device != t.device && !pushes) {
                return refuse(&t, "a task writes to another device's memory");
            }
        }
        for (int k : t.reads) {
            if (t.kind() == task_kind::compute && p_.tiles[to_size(k)].device != t.device) {
                return refuse(&t, "a computation reads another device's memory; a copy is missing");
            }
        }
        const bool reorders = t.kind() == task_kind::reorder;
        if ((reorders || t.kind() == task_kind::copy) && (t.writes.empty() || (reorders && t.reads.empty()))) {
            return refuse(&t, "a copy has no target, or a reorder no source");
        }
        if ((t.kind() == task_kind::copy && !copy_is_complete(t)) || (t.kind() == task_kind::sum && !sum_is_sound(t)) ||
            (t.kind() == task_kind::gather && !gather_is_complete(t)) ||
            (t.kind() == task_kind::average && !average_is_complete(t))) {
            return false;
        }
    }
    return true;
}

/// A copy covers its target: every element is overwritten exactly once before others are added, or cleared first.
TESSERA_INLINE bool verifier::copy_is_complete(const task& t) {
    const box& target = p_.tiles[to_size(t.writes[0])].region;
    index_t overwritten = 0;
    for (std::size_t i = 0; i < t.copy().segments.size(); ++i) {
        const copy_segment& s = t.copy().segments[i];
        const bool listed = std::find(t.reads.begin(), t.reads.end(), s.source) != t.reads.end();
        const box& source = p_.tiles[to_size(s.source)].region;
        const bool ranked =
            s.region.rank == target.rank && s.region.rank == source.rank; // which contains() leaves open
        if (!listed || !ranked || !source.contains(s.region) || !target.contains(s.region)) {
            return refuse(&t, "a copy reads a region that its source does not have");
        }
        if (p_.tiles[to_size(s.source)].type != p_.tiles[to_size(t.writes[0])].type) {
            return refuse(&t, "a copy changes the type of elements");
        }
        overwritten += s.overwrite ? s.region.volume() : 0;
        for (std::size_t j = 0; j < i; ++j) {
            if (s.overwrite && t.copy().segments[j].overwrite &&
                !intersect(s.region, t.copy().segments[j].region).empty()) {
                return refuse(&t, "a copy writes an element twice");
            }
        }
    }
    if (t.copy().clear ? overwritten != 0 : overwritten != target.volume()) {
        return refuse(&t, "a copy leaves elements of its target unwritten");
    }
    return true;
}

/// A gathering reads all slices of its target's region of its parameter, in order.
TESSERA_INLINE bool verifier::gather_is_complete(const task& t) {
    const int n = static_cast<int>(t.reads.size());
    index_t total = 0;
    for (int i = 0; i < n; ++i) {
        const tile& x = p_.tiles[to_size(t.reads[to_size(i)])];
        if (x.kind != tile_kind::parameter || x.tensor != t.params().parameter || x.slices != n || x.slice != i ||
            t.writes.size() != 1 || !(x.region == p_.tiles[to_size(t.writes[0])].region)) {
            return refuse(&t, "a gathering lacks a slice of its parameter, or has one twice or in the wrong place");
        }
        total += x.elements;
    }
    return (n > 0 && total == p_.tiles[to_size(t.writes[0])].elements) ||
           refuse(&t, "a gathering leaves elements of its target unwritten");
}

/// An average reads and writes all copies of one region of its parameter.
TESSERA_INLINE bool verifier::average_is_complete(const task& t) {
    if (brings_up(t)) { // whether every copy is written once is looked at with all updates
        const tile& from = p_.tiles[to_size(t.reads[0])];
        bool right = !t.writes.empty() && from.slice == t.params().slice && from.slices == t.params().slices;
        for (const int w : t.writes) {
            const tile& x = p_.tiles[to_size(w)];
            right = right && x.kind == tile_kind::parameter && x.tensor == from.tensor && x.region == from.region &&
                    x.format == from.format && slice_of(x, t).size() == from.elements &&
                    (x.slices == 1 || (x.slice == from.slice && x.slices == from.slices)) &&
                    std::count(t.writes.begin(), t.writes.end(), w) == 1;
        }
        return right || refuse(&t, "a task brings up to a copy of a parameter what is not its own");
    }
    std::vector<int> copies;
    for (std::size_t i = 0; i < p_.tiles.size() && !t.reads.empty(); ++i) {
        const tile& x = p_.tiles[i];
        if (x.kind == tile_kind::parameter && x.tensor == t.params().parameter &&
            x.region == p_.tiles[to_size(t.reads[0])].region) {
            copies.push_back(static_cast<int>(i));
        }
    }
    std::vector<int> reads = t.reads;
    std::sort(reads.begin(), reads.end());
    return (!copies.empty() && reads == copies && t.writes == t.reads) ||
           refuse(&t, "an average does not read and write every copy of its parameter once");
}

/// Tiles that copies and reorders fill: they hold what other tiles hold.
TESSERA_INLINE std::vector<char> verifier::gathered_tiles() const {
    std::vector<char> gathered(p_.tiles.size(), 0);
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::copy || t.kind() == task_kind::reorder) {
            for (int w : t.writes) {
                gathered[to_size(w)] = 1;
            }
        }
    }
    return gathered;
}

/// True for a copy that adds up several parts of a gradient to what is a part itself.
TESSERA_INLINE bool verifier::is_partial_sum(const plan& p, const task& t) {
    if (t.kind() != task_kind::copy || t.writes.size() != 1) {
        return false;
    }
    const tile& to = p.tiles[to_size(t.writes[0])];
    return to.kind == tile_kind::gradient && to.summand >= 0 && t.copy().segments.size() > 1 &&
           std::all_of(t.copy().segments.begin(), t.copy().segments.end(), [&](const copy_segment& s) {
               const tile& from = p.tiles[to_size(s.source)];
               return from.kind == to.kind && from.tensor == to.tensor && from.region == to.region &&
                      s.region == to.region && from.summand >= 0;
           });
}

/// What adds up some parts of a gradient adds different ones, each as a shard made it or as such a sum before it, and
/// has the least of their numbers.
TESSERA_INLINE bool verifier::note_partial_sums(const std::vector<char>& gathered) {
    std::vector<int> noted(p_.tiles.size(), -1); // which of the sums a tile is
    for (const task& t : p_.tasks) {
        if (!is_partial_sum(p_, t)) {
            continue;
        }
        partial_sum sum{t.writes[0], {}};
        for (const copy_segment& s : t.copy().segments) {
            const int from = p_.tiles[to_size(s.source)].origin >= 0 ? p_.tiles[to_size(s.source)].origin : s.source;
            const int known = noted[to_size(from)];
            if (known >= 0) {
                const std::vector<int>& parts = partial_sums_[to_size(known)].parts;
                sum.parts.insert(sum.parts.end(), parts.begin(), parts.end());
            } else if (gathered[to_size(from)] != 0) {
                return refuse(&t, "a sum of some parts of a gradient adds what is no part and no such sum before it");
            } else {
                sum.parts.push_back(p_.tiles[to_size(from)].summand);
            }
        }
        std::sort(sum.parts.begin(), sum.parts.end());
        if (std::adjacent_find(sum.parts.begin(), sum.parts.end()) != sum.parts.end() ||
            sum.parts[0] != p_.tiles[to_size(sum.tile)].summand) {
            return refuse(&t, "a sum of some parts of a gradient adds one twice, or has another number than the first");
        }
        noted[to_size(sum.tile)] = static_cast<int>(partial_sums_.size());
        partial_sums_.push_back(std::move(sum));
    }
    std::sort(partial_sums_.begin(), partial_sums_.end(),
              [](const partial_sum& a, const partial_sum& b) { return a.tile < b.tile; });
    return true;
}

/// The numbers of the parts that a tile which is not the sum of all holds.
TESSERA_INLINE std::vector<int> verifier::parts_of(int t) const {
    const int number = p_.tiles[to_size(t)].origin >= 0 ? p_.tiles[to_size(t)].origin : t;
    const auto found = std::lower_bound(partial_sums_.begin(), partial_sums_.end(), number,
                                        [](const partial_sum& s, int tile) { return s.tile < tile; });
    return found != partial_sums_.end() && found->tile == number ? found->parts
                                                                 : std::vector<int>{p_.tiles[to_size(number)].summand};
}

/// Every sum has every part once: a copy adds each part of its tensor at each element of its target, an update or a
/// reduction each contribution to its parameter.
TESSERA_INLINE bool verifier::parts() {
    const std::vector<char> gathered = gathered_tiles();
    std::vector<std::pair<index_t, int>> pieces; // by tensor
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        if (p_.tiles[i].summand >= 0 && gathered[i] == 0) {
            pieces.push_back({tensor_key(p_.tiles[i]), static_cast<int>(i)});
        }
    }
    std::sort(pieces.begin(), pieces.end());
    const auto pieces_of = [&](const tile& x) {
        const index_t key = tensor_key(x);
        std::vector<const tile*> result; // of equal regions and parts one
        for (auto it = std::lower_bound(pieces.begin(), pieces.end(), std::pair<index_t, int>{key, 0});
             it != pieces.end() && it->first == key; ++it) {
            const tile& own = p_.tiles[to_size(it->second)];
            bool again = false;
            for (const tile* other : result) {
                again = again || (other->summand == own.summand && other->region == own.region);
            }
            if (!again) {
                result.push_back(&own);
            }
        }
        return result;
    };
    if (!note_partial_sums(gathered)) {
        return false;
    }
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::copy && !is_partial_sum(p_, t)) {
            const tile& target = p_.tiles[to_size(t.writes[0])];
            const std::vector<const tile*> all =
                pieces_of(t.copy().segments.empty() ? target : p_.tiles[to_size(t.copy().segments[0].source)]);
            if (!adds_all(t, target, all)) {
                return refuse(&t, "a copy does not add every part of its tensor exactly once");
            }
        }
    }
    return true;
}

TESSERA_INLINE bool verifier::holds_part(int t, int part) const {
    if (partial_sums_.empty()) {
        return origin_of(t).summand == part;
    }
    const std::vector<int> all = parts_of(t);
    return std::binary_search(all.begin(), all.end(), part);
}

TESSERA_INLINE bool verifier::shares_part(const std::vector<int>& a, const std::vector<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int part) { return std::binary_search(b.begin(), b.end(), part); });
}

TESSERA_INLINE bool verifier::adds_all(const task& t, const tile& target,
                                       const std::vector<const tile*>& pieces) const {
    for (std::size_t i = 0; i < t.copy().segments.size(); ++i) {
        const tile& source = origin_of(t.copy().segments[i].source);
        for (std::size_t j = 0; j < i; ++j) {
            const tile& other = origin_of(t.copy().segments[j].source);
            const bool again = other.summand < 0 || source.summand < 0 ||
                               (partial_sums_.empty() ? other.summand == source.summand
                                                      : shares_part(parts_of(t.copy().segments[i].source),
                                                                    parts_of(t.copy().segments[j].source)));
            if (again && !intersect(t.copy().segments[j].region, t.copy().segments[i].region).empty()) {
                return false;
            }
        }
    }
    for (const tile* x : pieces) {
        index_t missing = 0;
        if (target.summand < 0 || x->summand == target.summand) {
            missing = intersect(x->region, target.region).volume();
        }
        for (const copy_segment& s : t.copy().segments) {
            const tile& source = origin_of(s.source);
            if (source.summand < 0) { // a sum, which has every part
                missing -= intersect(x->region, s.region).volume();
            } else if (source.region == x->region && holds_part(s.source, x->summand)) {
                missing -= s.region.volume();
            }
        }
        if (missing != 0) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
