// SPDX-License-Identifier: Apache-2.0
// Bodies of contain.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/contain.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void whole_tiles::run() {
    find_users();
    std::vector<char> gone(p_.tasks.size(), 0);
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        task& t = p_.tasks[i];
        if (t.kind() == task_kind::copy && t.writes.size() == 1) {
            gone[i] = take_from_whole(t) ? 1 : 0;
            gone[i] = gone[i] != 0 || (put_into_whole(t) && is_renamed(t)) ? 1 : 0;
        }
    }
    std::vector<task> left;
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        if (gone[i] == 0) {
            left.push_back(std::move(p_.tasks[i]));
        }
    }
    p_.tasks = std::move(left);
}

TESSERA_INLINE void whole_tiles::find_users() {
    readers_.assign(p_.tiles.size(), {});
    writers_.assign(p_.tiles.size(), {});
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        for (const int r : p_.tasks[to_size(i)].reads) {
            readers_[to_size(r)].push_back(i);
        }
        for (const int w : p_.tasks[to_size(i)].writes) {
            writers_[to_size(w)].push_back(i);
        }
    }
    for (const tile& x : p_.tiles) {
        if (x.alias >= 0) { // by another name
            readers_[to_size(x.alias)].push_back(-1);
            writers_[to_size(x.alias)].push_back(-1);
        }
    }
}

TESSERA_INLINE bool whole_tiles::is_within(const box& part, const box& whole) {
    return part.rank >= 4 && whole.rank == part.rank && part.dim[0] == whole.dim[0] && part.dim[1] == whole.dim[1] &&
           !(part == whole) && whole.contains(part);
}

TESSERA_INLINE bool whole_tiles::may_have(int number, bool value, int tile, const box& whole) const {
    if (number < 0) {
        return false;
    }
    const task& t = p_.tasks[to_size(number)];
    const operator_row* const row = t.kind() == task_kind::compute ? row_of(g_.ops[t.op].attributes) : nullptr;
    if (row == nullptr || row->takes_tile == nullptr) {
        return false;
    }
    const description d = g_.describe(t.op);
    const int input = d.find_operand(operand_kind::input);
    int uses = 0;
    for (int o = 0; o < max_operands; ++o) {
        uses += (t.compute().value[o] == tile ? 1 : 0) + (t.compute().gradient[o] == tile ? 1 : 0);
    }
    return uses == 1 && (value ? t.compute().value[input] : t.compute().gradient[input]) == tile &&
           row->takes_tile(g_.ops[t.op].attributes, d, t.compute().ranges, whole);
}

TESSERA_INLINE bool whole_tiles::take_from_whole(const task& t) {
    if (t.copy().clear || t.copy().segments.size() != 1 || !t.copy().segments[0].overwrite) {
        return false;
    }
    const int from = t.copy().segments[0].source;
    const int to = t.writes[0];
    const tile& source = p_.tiles[to_size(from)];
    const tile& target = p_.tiles[to_size(to)];
    if (source.device != t.device || source.type != target.type || target.keep || target.alias >= 0 ||
        !(t.copy().segments[0].region == target.region) || !is_within(target.region, source.region) ||
        writers_[to_size(to)].size() != 1 || readers_[to_size(to)].empty() ||
        !std::all_of(readers_[to_size(to)].begin(), readers_[to_size(to)].end(),
                     [&](int reader) { return may_have(reader, true, to, source.region); })) {
        return false;
    }
    for (const int reader : readers_[to_size(to)]) {
        task& user = p_.tasks[to_size(reader)];
        replace_tile(user, to, from);
    }
    return true;
}

TESSERA_INLINE bool whole_tiles::put_into_whole(task& t) {
    const box whole = p_.tiles[to_size(t.writes[0])].region;
    bool all = true;
    bool any = false;
    for (copy_segment& s : t.mutable_copy().segments) {
        tile& x = p_.tiles[to_size(s.source)];
        const std::vector<int>& writers = writers_[to_size(s.source)];
        if (x.device == t.device && x.alias < 0 && !x.keep && is_within(x.region, whole) && s.region == x.region &&
            readers_[to_size(s.source)].size() == 1 && writers.size() == 1 &&
            may_have(writers[0], false, s.source, whole)) {
            x.region = whole;
            x.elements = whole.volume();
            s.region = whole;
            any = true;
        }
        all = all && s.region == whole;
    }
    if (all && t.copy().clear && !t.copy().segments.empty() && t.copy().reduce == reducer::sum) {
        t.mutable_copy().clear = false;
        t.mutable_copy().segments[0].overwrite = true;
    }
    return any;
}

TESSERA_INLINE bool whole_tiles::is_renamed(const task& t) {
    const int to = t.writes[0];
    const int from = t.copy().segments[0].source;
    const tile& target = p_.tiles[to_size(to)];
    if (t.copy().segments.size() != 1 || t.copy().clear || target.keep || target.alias >= 0 ||
        writers_[to_size(to)].size() != 1 ||
        std::find(readers_[to_size(to)].begin(), readers_[to_size(to)].end(), -1) != readers_[to_size(to)].end()) {
        return false;
    }
    for (const int reader : readers_[to_size(to)]) {
        task& user = p_.tasks[to_size(reader)];
        replace_tile(user, to, from);
    }
    return true;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
