// SPDX-License-Identifier: Apache-2.0
// Every field of a plan and of what it holds, by name, as their own lists have them; of a task its kind, the fields of
// all tasks and those of its kind.
#pragma once

#include "tessera/plan/plan.hpp"

#include <string_view>

namespace test_support {

namespace ts = tessera;

template <class Visit>
void each_field(ts::interval& x, Visit&& visit) {
    visit("begin", x.begin, false);
    visit("end", x.end, false);
}
template <class Visit>
void each_field(ts::box& x, Visit&& visit) {
    visit("rank", x.rank, false);
    visit("dim", x.dim, false);
}

/// Calls visit(name, field, whether it holds numbers of tiles) for each of the fields.
template <class Struct, class Visit>
requires ts::PlanFields<Struct>
void each_field(Struct& x, Visit&& visit) {
    Struct::each_field([&](const char* name, auto member, const auto& facts) {
        bool tiles = false;
        if constexpr (requires { facts.tiles; }) {
            tiles = facts.tiles;
        }
        visit(std::string_view(name), x.*member, tiles);
    });
}
template <class Visit>
void each_field(ts::task& t, Visit&& visit) {
    ts::task_kind kind = t.kind();
    visit(std::string_view("kind"), kind, false);
    if (kind != t.kind()) {
        t.become(kind);
        return;
    }
    t.with_fields([&](auto& fields) { each_field(fields, visit); });
}
template <class Visit>
void each_field(ts::plan& p, Visit&& visit) {
    ts::plan::each_field(
        [&](const char* name, auto member, const auto&) { visit(std::string_view(name), p.*member, false); });
    visit("tiles", p.tiles, false);
    visit("tasks", p.tasks, false);
    visit("hash", p.hash, false);
}

/// How many fields a struct has.
template <class Struct>
int field_count(Struct s = Struct()) {
    int count = 0;
    each_field(s, [&](std::string_view, auto&, bool) { ++count; });
    return count;
}

} // namespace test_support
