// SPDX-License-Identifier: Apache-2.0
// Random damage to any field of a plan, by its type: whatever fields there are, each of them is damaged now and then.
#pragma once

#include "plan_fields.hpp"
#include "random_strategy.hpp"

#include <string>
#include <type_traits>
#include <vector>

namespace test_support {

/// The last value of an enumeration. One that has none here does not compile as a field of a plan.
constexpr auto last_of(ts::tile_kind) { return ts::tile_kind::code; }
constexpr auto last_of(ts::task_kind) { return ts::task_kind::decompress; }
constexpr auto last_of(ts::task_stream) { return ts::task_stream::queue; }
constexpr auto last_of(ts::pass) { return ts::pass::evaluate; }
constexpr auto last_of(ts::reducer) { return ts::reducer::max; }
constexpr auto last_of(ts::exchange) { return ts::exchange::server; }
constexpr auto last_of(ts::element) { return ts::element::bf16; }
constexpr auto last_of(ts::run_kind) { return ts::run_kind::evaluation; }
constexpr auto last_of(ts::compression) { return ts::compression::top_k; }

/// Damages one field of a struct of a plan; `other` is another struct of its kind, whose value the field takes now and
/// then.
class field_damager {
public:
    field_damager(const ts::plan& p, random& pick) : p_(p), pick_(pick) {}

    /// Damages field number `which` of a struct; says its name, or nothing where it, as drawn, has not changed.
    template <class Struct>
    std::string field_of(Struct& s, Struct other, int which) {
        std::string name;
        int at = 0;
        each_field(s, [&](std::string_view own, auto& field, bool of_tiles) {
            using type = std::remove_reference_t<decltype(field)>;
            if (at++ != which) {
                return;
            }
            bool done = false;
            if (pick_(4) == 0) {
                done = take(field, other, which);
            }
            if (done || damaged(field, of_tiles)) {
                name = own;
                if constexpr (std::is_class_v<type>) {
                    name += last_;
                }
            }
            last_.clear();
        });
        return name;
    }
    template <class Struct>
    std::string any_field_of(Struct& s, const Struct& other) {
        return field_of(s, other, pick_(field_count<Struct>(s)));
    }

private:
    int tile() { return pick_(static_cast<int>(p_.tiles.size())); }
    /// The other struct's value, where it differs.
    template <class Field, class Struct>
    bool take(Field& field, Struct& other, int which) {
        bool changed = false;
        int k = 0;
        each_field(other, [&](std::string_view, auto& theirs, bool) {
            if constexpr (std::is_same_v<decltype(theirs), Field&>) {
                if constexpr (std::is_scalar_v<Field> || std::is_same_v<Field, std::vector<int>>) {
                    changed = changed || (k == which && theirs != field);
                } else if constexpr (requires { field.push_back(field[0]); }) {
                    changed = changed || (k == which && field.size() + theirs.size() > 0);
                } else if constexpr (std::is_same_v<Field, ts::box>) {
                    changed = changed || (k == which && !(theirs == field));
                }
                if constexpr (!std::is_array_v<Field>) {
                    if (k == which && changed) {
                        field = theirs;
                    }
                }
            }
            ++k;
        });
        return changed;
    }

    template <class Field>
    bool damaged(Field& x, bool of_tiles) {
        if constexpr (std::is_same_v<Field, bool>) {
            x = !x;
            return true;
        } else if constexpr (std::is_enum_v<Field>) {
            const int count = static_cast<int>(last_of(x)) + 1;
            x = static_cast<Field>((static_cast<int>(x) + 1 + pick_(count - 1)) % count);
            return true;
        } else if constexpr (std::is_floating_point_v<Field>) {
            const Field before = x;
            const int how = pick_(4);
            x = how == 0 ? 2 * x : how == 1 ? x / 2 : how == 2 ? x + 1 : 0;
            return x != before;
        } else if constexpr (std::is_integral_v<Field>) {
            const Field before = x;
            if (of_tiles && pick_(3) > 0) {
                x = static_cast<Field>(pick_(4) == 0 ? -1 : tile());
            } else if (std::is_unsigned_v<Field> && pick_(2) == 0) {
                x ^= Field{1} << static_cast<unsigned>(pick_(6));
            } else {
                x = static_cast<Field>(
                    x + static_cast<Field>((pick_(2) == 0 ? 1 : -1) * (pick_(4) == 0 ? 1 + pick_(5) : 1)));
            }
            return x != before;
        } else if constexpr (std::is_array_v<Field>) {
            return damaged(x[pick_(static_cast<int>(std::extent_v<Field>))], of_tiles);
        } else if constexpr (requires { x.push_back(x[0]); }) {
            return list_damaged(x, of_tiles);
        } else if constexpr (std::is_same_v<Field, ts::operand_tiles>) {
            return damaged(x[ts::to_size(pick_(static_cast<int>(x.size())))], of_tiles);
        } else {
            const std::string name = any_field_of(x, Field{});
            last_ = "." + name;
            return !name.empty();
        }
    }

    /// One is lost, doubled, damaged or added, or two change places.
    template <class Item>
    bool list_damaged(std::vector<Item>& list, bool of_tiles) {
        const int n = static_cast<int>(list.size());
        const int how = pick_(6);
        if (how == 0 || n == 0) {
            if (n == 0 && pick_(2) == 0) {
                return false;
            }
            Item more{};
            (void)damaged(more, of_tiles);
            list.push_back(more);
            return true;
        }
        const std::size_t k = ts::to_size(pick_(n));
        if (how == 1) {
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
        } else if (how == 2) {
            list.push_back(Item(list[k]));
        } else if (how == 3) {
            const std::size_t other = ts::to_size(pick_(n));
            std::swap(list[k], list[other]);
            return k != other;
        } else {
            return damaged(list[k], of_tiles);
        }
        return true;
    }

    const ts::plan& p_;
    random& pick_;
    std::string last_; ///< of a struct in a struct, which of its fields
};

/// Damages one random field of one random task, of one tile, or of the plan itself.
inline std::string damage_a_field(ts::plan& p, random& pick) {
    const auto one = [&](auto& list) -> auto& { return list[ts::to_size(pick(static_cast<int>(list.size())))]; };
    const ts::plan before = p; // what fields take from it
    field_damager damager(before, pick);
    const int of = pick(8);
    if (of < 5) {
        ts::task& t = one(p.tasks);
        const std::string kind = ts::to_text(t.kind());
        std::vector<const ts::task*> alike; // of its kind
        for (const ts::task& x : before.tasks) {
            if (x.kind() == t.kind()) {
                alike.push_back(&x);
            }
        }
        const ts::task& other = pick(3) == 0 ? one(before.tasks) : *one(alike);
        const std::string what = damager.any_field_of(t, other);
        return what.empty() ? "" : "field " + what + " of a " + kind;
    }
    if (of < 7) {
        ts::tile& x = one(p.tiles);
        const std::string kind = ts::to_text(x.kind);
        const std::string what = damager.any_field_of(x, one(before.tiles));
        return what.empty() ? "" : "field " + what + " of a tile of " + kind;
    }
    const std::string what = damager.any_field_of(p, before);
    return what.empty() ? "" : "field " + what + " of the plan";
}

} // namespace test_support
