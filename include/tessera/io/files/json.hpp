// SPDX-License-Identifier: Apache-2.0
// JSON by the library of Niels Lohmann (Debian's nlohmann-json3-dev), and what a strict reader adds to it: names may
// not come twice, every member must be asked for, types and ranges are checked, and whatever is wrong is told with its
// line and its path.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/json_builder.hpp"

#include <map>

namespace tessera::io {

namespace detail {

/// The words for a value's type.
const char* type_of(const json& j);

} // namespace detail

class json_value;

/// A parsed text that knows the line of every value.
class json_document {
public:
    /// `called` is what messages call it, such as its path. Throws tessera::error with line and column for what is not
    /// JSON (RFC 8259), for a name that comes twice in an object, and for values more than 100 deep.
    json_document(std::string_view text, std::string called);
    json_document(const json_document&) = delete;
    json_document& operator=(const json_document&) = delete;

    const json& value() const { return root_; }
    json_value root() const;
    /// The line in which a value of the document stands.
    int line_of(const json& value) const;
    const std::string& called() const { return called_; }
    /// The names and numbers that lead to a value of the document, such as "/nodes/3/name"; long names are cut. It is
    /// looked for from the beginning: for messages.
    std::string path_of(const json& value) const;

private:
    static bool leads_to(const json& from, const json* value, std::string& path);
    void number(const json& j, const std::vector<int>& lines, std::size_t& next);

    std::string called_;
    json root_;
    std::vector<std::pair<const json*, int>> lines_;
};

/// A value of a document that has to be of a certain kind; whatever it is not is refused with its line and path.
class json_value {
public:
    json_value(const json_document& of, const json& value) : of_(&of), value_(&value) {}

    [[noreturn]] void refuse(const std::string& what) const;
    std::int64_t integer(std::int64_t least, std::int64_t most) const;
    int small(int least = INT32_MIN, int most = INT32_MAX) const { return static_cast<int>(integer(least, most)); }
    const std::string& text() const;
    bool boolean() const;
    std::vector<json_value> items() const;
    /// The members of an object, by name.
    std::vector<std::pair<std::string, json_value>> members() const;
    bool is_object() const { return value_->is_object(); }
    bool is_number() const { return value_->is_number(); }
    double number() const;

private:
    void need(bool is_it, const char* wanted) const;
    std::string shown() const { return value_->is_number() ? value_->dump() : detail::type_of(*value_); }

    const json_document* of_;
    const json* value_;
};

inline json_value json_document::root() const { return {*this, root_}; }

/// Reads the members of an object by name; each must be asked for, so that a misspelt one is found.
class json_object {
public:
    explicit json_object(const json_value& of);
    json_object(const json_object&) = delete; // places_ names what members_ holds
    json_object& operator=(const json_object&) = delete;

    /// The member, or null where there is none.
    const json_value* find(std::string_view name);
    const json_value& get(const std::string& name);
    /// To be called last: nothing else may be there.
    void finish() const;
    /// Reads the version of a file's format. Throws for another than the one given.
    void version(const std::string& name, std::int64_t known);
    [[noreturn]] void refuse(const std::string& what) const { of_.refuse(what); }

private:
    static constexpr std::size_t few = 12; ///< are compared one by one

    json_value of_;
    std::vector<std::pair<std::string, json_value>> members_;
    std::map<std::string_view, std::size_t> places_; ///< of members, where they are more
    std::vector<char> asked_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/json.inl"
#endif

#include "tessera/base/end_header.inl"
