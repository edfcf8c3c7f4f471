// SPDX-License-Identifier: Apache-2.0
// What is chosen by name: lists of records, each with a name, a line about it and options by name, and how one is found
// in them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/nearest.hpp"
#include "tessera/base/number_text.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// An option of something that is chosen by name. One name means one thing wherever it is an option.
struct option_row {
    std::string_view name;
    std::string_view about;
    double usual = 0; ///< unless it is given
    double least = 0;
    double most = 0;
    bool whole = true; ///< a whole number
};

/// Values of options by name; what is not given is as the option's row says. Names must outlive it.
class option_values {
public:
    constexpr option_values() = default;

    constexpr void set(std::string_view name, double value) {
        for (int i = 0; i < count_; ++i) {
            if (all_[i].name == name) {
                all_[i].value = value;
                return;
            }
        }
        if (count_ == most) {
            throw error("tessera: more than " + std::to_string(most) + " options are given; give fewer");
        }
        all_[count_++] = {name, value};
    }
    constexpr bool has(std::string_view name) const {
        for (int i = 0; i < count_; ++i) {
            if (all_[i].name == name) {
                return true;
            }
        }
        return false;
    }
    constexpr double operator[](const option_row& row) const {
        for (int i = 0; i < count_; ++i) {
            if (all_[i].name == row.name) {
                return all_[i].value;
            }
        }
        return row.usual;
    }
    template <class Number>
    constexpr Number as(const option_row& row) const {
        return static_cast<Number>((*this)[row]);
    }
    constexpr int count() const { return count_; }
    constexpr std::string_view name(int i) const { return all_[i].name; }
    friend constexpr bool operator==(const option_values&, const option_values&) = default;

private:
    static constexpr int most = 8;
    struct given {
        std::string_view name;
        double value = 0;
        friend constexpr bool operator==(const given&, const given&) = default;
    };
    given all_[most]{};
    int count_ = 0;
};

/// A list of records that somebody else owns: the library's array, or a vector with records of one's own.
template <class Record>
class record_list {
public:
    template <std::size_t N>
    constexpr record_list(const Record* const (&all)[N]) : first_(all), last_(all + N) {}
    template <std::size_t N>
    constexpr record_list(const std::array<const Record*, N>& all) : first_(all.data()), last_(all.data() + N) {}
    record_list(const std::vector<const Record*>& all) : first_(all.data()), last_(all.data() + all.size()) {}

    constexpr const Record* const* begin() const { return first_; }
    constexpr const Record* const* end() const { return last_; }

private:
    const Record* const* first_;
    const Record* const* last_;
};

template <class Record, std::size_t N>
record_list(const Record* const (&)[N]) -> record_list<Record>;
template <class Record, std::size_t N>
record_list(const std::array<const Record*, N>&) -> record_list<Record>;
template <class Record>
record_list(const std::vector<const Record*>&) -> record_list<Record>;

/// Two lists, one after the other.
template <class Record, std::size_t N, std::size_t M>
constexpr std::array<const Record*, N + M> join(const std::array<const Record*, N>& a,
                                                const std::array<const Record*, M>& b) {
    std::array<const Record*, N + M> all{};
    for (std::size_t i = 0; i < N + M; ++i) {
        all[i] = i < N ? a[i] : b[i - N];
    }
    return all;
}

/// The record of a name; `kind` is what they are. Throws tessera::error, with names that are like it and the advice
/// that is given, where there is none.
template <class Record>
const Record& find_record(record_list<Record> all, std::string_view name, const std::string& kind,
                          const std::string& advice = {}) {
    std::vector<std::string> names;
    for (const Record* r : all) {
        if (r->name == name) {
            return *r;
        }
        names.emplace_back(r->name);
    }
    std::string text = "there is no " + kind + " '" + std::string(name) + "'" + did_you_mean(name, names);
    if (advice.empty()) {
        text += "; there are";
        for (const std::string& n : names) {
            text += (&n == names.data() ? " " : ", ") + n;
        }
        throw error(text);
    }
    throw error(text + "; " + advice);
}

/// A record's option of a name; null where it has none.
template <class Record>
constexpr const option_row* find_option(const Record& r, std::string_view name) {
    for (const option_row& o : r.options) {
        if (!o.name.empty() && o.name == name) {
            return &o;
        }
    }
    return nullptr;
}

/// The options that a record has of those that are given.
template <class Record>
option_values options_of(const Record& r, const option_values& given) {
    option_values own;
    for (const option_row& o : r.options) {
        if (!o.name.empty() && given.has(o.name)) {
            own.set(o.name, given[o]);
        }
    }
    return own;
}

/// Why a value is none of an option's; "" where it is.
std::string refusal_of(const option_row& o, double value);

/// Throws tessera::error for an option that a record does not have, and for a value outside of its limits.
template <class Record>
void require_options(const Record& r, const option_values& given, const std::string& kind) {
    for (int i = 0; i < given.count(); ++i) {
        const option_row* o = find_option(r, given.name(i));
        if (o == nullptr) {
            std::vector<std::string> names;
            std::string known;
            for (const option_row& other : r.options) {
                if (!other.name.empty()) {
                    names.emplace_back(other.name);
                    known += (known.empty() ? "; it has " : ", ") + names.back();
                }
            }
            std::string text = "the " + kind + " '";
            text.append(r.name).append("' has no option '").append(given.name(i)).append("'");
            throw error(text.append(did_you_mean(given.name(i), names)).append(known));
        }
        if (const std::string why = refusal_of(*o, given[*o]); !why.empty()) {
            std::string text = "the " + kind + " '";
            throw error(text.append(r.name).append("' is refused: ").append(why));
        }
    }
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/registry.inl"
#endif

#include "tessera/base/end_header.inl"
