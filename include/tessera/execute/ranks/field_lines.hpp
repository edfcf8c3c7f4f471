// SPDX-License-Identifier: Apache-2.0
// Values as lists of lines, a name and a text for each field: what processes and files compare, and in what words they
// say where two values differ.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/fixed_vector.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/base/type_name.hpp"
#include "tessera/strategy/described.hpp"

#include <charconv>
#include <concepts>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// One field of a value: "optimizer.momentum", "0.9".
struct field_line {
    std::string name;
    std::string value;
    friend bool operator==(const field_line&, const field_line&) = default;
};

namespace detail {

std::string hexadecimal_text(std::uint64_t x);

/// Without what would end a line or its name.
std::string in_one_line(std::string_view text);

template <class T>
concept is_text = std::convertible_to<const T&, std::string_view>;

/// True for what is said in one word: a number, a choice, a text.
template <class T>
inline constexpr bool is_word = is_plain<T> || is_text<T>;

template <class T>
std::string word_of(const T& x) {
    if constexpr (is_text<T>) {
        return in_one_line(std::string_view(x));
    } else if constexpr (std::is_same_v<T, bool>) {
        return x ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
        if constexpr (requires { std::string_view(to_text(x)); }) {
            return std::string(to_text(x));
        } else {
            return std::to_string(static_cast<std::int64_t>(x));
        }
    } else if constexpr (std::is_floating_point_v<T>) {
        return shortest_text(x);
    } else {
        return std::to_string(x);
    }
}

template <class T>
inline constexpr bool is_fixed_text = false;
template <int Capacity>
inline constexpr bool is_fixed_text<fixed_vector<char, Capacity>> = true;

/// True for a described value that is one line in a list.
template <class T>
constexpr bool has_words_alone() {
    if constexpr (Described<T>) {
        bool words = true;
        T::each_field([&](const char*, auto member, const field_facts&) {
            words = words && is_word<std::remove_cvref_t<decltype(std::declval<const T&>().*member)>>;
        });
        return words;
    } else {
        return false;
    }
}

} // namespace detail

/// Lines of values, in the order in which they are added. Of fields that change nothing that is computed
/// (field_facts::permits) there are none.
class field_lines {
public:
    const std::vector<field_line>& all() const { return all_; }

    /// A word, a described value (a line for each of its fields), or a list of them.
    template <class T>
    void add(const std::string& name, const T& x) {
        if constexpr (detail::is_word<T>) {
            all_.push_back({name, detail::word_of(x)});
        } else if constexpr (Described<T>) {
            T::each_field([&](const char* field, auto member, const field_facts& f) {
                if constexpr (can_add<std::remove_cvref_t<decltype(x.*member)>>()) {
                    if (!f.permits) {
                        add(name.empty() ? std::string(field) : name + "." + field, x.*member);
                    }
                }
            });
        } else {
            add_list(name, x);
        }
    }

    /// A number for all of it, the same in every process and on every machine.
    std::uint64_t hash() const;

    /// As text, a line for each; and read again.
    std::string text() const;
    static field_lines from_text(std::string_view text);

private:
    /// Values that nobody has described can only be left out where they are said to change nothing.
    template <class T>
    static constexpr bool can_add() {
        return detail::is_word<T> || Described<T> || requires(const T& x) { std::begin(x); };
    }

    template <class T>
    void add_list(const std::string& name, const T& list) {
        using item = std::remove_cvref_t<decltype(*std::begin(list))>;
        if constexpr (detail::is_fixed_text<T>) {
            all_.push_back({name, detail::in_one_line(std::string(std::begin(list), std::end(list)))});
        } else if constexpr (detail::is_word<item>) {
            std::string words;
            for (const auto& x : list) {
                words += (words.empty() ? "" : ",") + detail::word_of(x);
            }
            all_.push_back({name, words});
        } else {
            int n = 0;
            for (const auto& x : list) {
                const std::string which = name + "[" + std::to_string(n++) + "]";
                if constexpr (detail::has_words_alone<item>()) {
                    std::string words;
                    item::each_field([&](const char* field, auto member, const field_facts&) {
                        words += (words.empty() ? "" : " ") + std::string(field) + " " + detail::word_of(x.*member);
                    });
                    all_.push_back({which, words});
                } else {
                    add(which, x);
                }
            }
            all_.push_back({name + ".count", std::to_string(n)});
        }
    }

    std::vector<field_line> all_;
};

/// Who has one of two values that are compared: "rank 1", "the checkpoint".
struct owner_of_lines {
    std::string_view name;
    const field_lines& has;
};

namespace detail {

/// From where on the first texts of two differing values are shown, so that where they differ is seen.
std::string shown_from(const std::string& text, std::size_t from);
std::size_t first_shown(const std::string& a, const std::string& b);

std::size_t place_of_line(const std::vector<field_line>& all, const std::string& name, std::size_t from);

} // namespace detail

/// In which fields two values differ, the first `most` of them, each with both values: "optimizer.momentum is 0.9 on
/// rank 1 and 0 on rank 0"; empty where they do not.
std::string difference_of(const owner_of_lines& a, const owner_of_lines& b, int most = 3);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/field_lines.inl"
#endif

#include "tessera/base/end_header.inl"
