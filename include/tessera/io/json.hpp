// SPDX-License-Identifier: Apache-2.0
// JSON by the library of Niels Lohmann (Debian's nlohmann-json3-dev), and what a strict reader adds to it: names may not come twice, every member
// must be asked for, types and ranges are checked, and whatever is wrong is told with its line and its path.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/json_builder.hpp"

#include <map>

namespace tessera::io {

namespace detail {

/// The words for a value's type.
inline const char* type_of(const json& j) {
    return j.is_null()      ? "null"
           : j.is_boolean() ? "true or false"
           : j.is_string()  ? "a text"
           : j.is_array()   ? "an array"
           : j.is_object()  ? "an object"
                            : "a number";
}

} // namespace detail

class json_value;

/// A parsed text that knows the line of every value.
class json_document {
public:
    /// `called` is what messages call it, such as its path. Throws tessera::error with line and column for what is not JSON (RFC 8259), for
    /// a name that comes twice in an object, and for values more than 100 deep.
    json_document(std::string_view text, std::string called) : called_(std::move(called)) {
        detail::json_builder builder(text, called_);
        const detail::counted_text first{text.data(), &builder.at};
        json::sax_parse(first, detail::counted_text{text.data() + text.size(), &builder.at}, &builder);
        root_ = std::move(builder.root);
        std::size_t next = 0;
        number(root_, builder.lines, next);
        std::sort(lines_.begin(), lines_.end());
    }
    json_document(const json_document&) = delete;
    json_document& operator=(const json_document&) = delete;

    const json& value() const { return root_; }
    json_value root() const;
    /// The line in which a value of the document stands.
    int line_of(const json& value) const {
        const auto found = std::lower_bound(lines_.begin(), lines_.end(), std::pair<const json*, int>(&value, 0));
        return found != lines_.end() && found->first == &value ? found->second : 1;
    }
    const std::string& called() const { return called_; }
    /// The names and numbers that lead to a value of the document, such as "/nodes/3/name"; long names are cut. It is looked for from the beginning:
    /// for messages.
    std::string path_of(const json& value) const {
        std::string path;
        (void)leads_to(root_, &value, path);
        return path;
    }

private:
    static bool leads_to(const json& from, const json* value, std::string& path) {
        if (&from == value) {
            return true;
        }
        if (!from.is_structured()) {
            return false;
        }
        const std::size_t before = path.size();
        std::size_t place = 0;
        for (auto inside = from.begin(); inside != from.end(); ++inside, ++place) {
            path += '/';
            path += from.is_object() ? quoted::shown(inside.key()) : std::to_string(place);
            if (leads_to(*inside, value, path)) {
                return true;
            }
            path.resize(before);
        }
        return false;
    }
    void number(const json& j, const std::vector<int>& lines, std::size_t& next) {
        lines_.emplace_back(&j, next < lines.size() ? lines[next] : 1);
        ++next;
        if (j.is_structured()) { // the library lets one iterate over a plain value too
            for (const json& inside : j) {
                number(inside, lines, next);
            }
        }
    }

    std::string called_;
    json root_;
    std::vector<std::pair<const json*, int>> lines_;
};

/// A value of a document that has to be of a certain kind; whatever it is not is refused with its line and path.
class json_value {
public:
    json_value(const json_document& of, const json& value) : of_(&of), value_(&value) {}

    [[noreturn]] void refuse(const std::string& what) const {
        const std::string path = of_->path_of(*value_);
        throw error("tessera: " + of_->called() + ", line " + std::to_string(of_->line_of(*value_)) + ": " +
                    (path.empty() ? std::string("the file") : path) + " " + what);
    }
    std::int64_t integer(std::int64_t least, std::int64_t most) const {
        const bool fits =
            value_->is_number_integer() &&
            (!value_->is_number_unsigned() || value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
        if (!fits || value_->get<std::int64_t>() < least || value_->get<std::int64_t>() > most) {
            refuse("is " + shown() + ", but must be a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most));
        }
        return value_->get<std::int64_t>();
    }
    int small(int least = INT32_MIN, int most = INT32_MAX) const { return static_cast<int>(integer(least, most)); }
    const std::string& text() const {
        need(value_->is_string(), "a text");
        return value_->get_ref<const std::string&>();
    }
    bool boolean() const {
        need(value_->is_boolean(), "true or false");
        return value_->get<bool>();
    }
    std::vector<json_value> items() const {
        need(value_->is_array(), "an array");
        std::vector<json_value> all;
        for (const json& item : *value_) {
            all.emplace_back(*of_, item);
        }
        return all;
    }
    /// The members of an object, by name.
    std::vector<std::pair<std::string, json_value>> members() const {
        need(value_->is_object(), "an object");
        std::vector<std::pair<std::string, json_value>> all;
        for (const auto& member : value_->items()) {
            all.emplace_back(member.key(), json_value(*of_, member.value()));
        }
        return all;
    }
    bool is_object() const { return value_->is_object(); }
    bool is_number() const { return value_->is_number(); }
    double number() const {
        need(value_->is_number(), "a number");
        return value_->get<double>();
    }

private:
    void need(bool is_it, const char* wanted) const {
        if (!is_it) {
            refuse("is " + shown() + ", but must be " + wanted);
        }
    }
    std::string shown() const { return value_->is_number() ? value_->dump() : detail::type_of(*value_); }

    const json_document* of_;
    const json* value_;
};

inline json_value json_document::root() const { return {*this, root_}; }

/// Reads the members of an object by name; each must be asked for, so that a misspelt one is found.
class json_object {
public:
    explicit json_object(const json_value& of) : of_(of), members_(of.members()), asked_(members_.size(), 0) {
        for (std::size_t i = 0; members_.size() > few && i < members_.size(); ++i) {
            places_.emplace(members_[i].first, i);
        }
    }
    json_object(const json_object&) = delete; // places_ names what members_ holds
    json_object& operator=(const json_object&) = delete;

    /// The member, or null where there is none.
    const json_value* find(std::string_view name) {
        std::size_t i = 0;
        if (members_.size() > few) {
            const auto found = places_.find(name);
            i = found == places_.end() ? members_.size() : found->second;
        } else {
            while (i < members_.size() && members_[i].first != name) {
                ++i;
            }
        }
        if (i == members_.size()) {
            return nullptr;
        }
        asked_[i] = 1;
        return &members_[i].second;
    }
    const json_value& get(const std::string& name) {
        const json_value* found = find(name);
        if (found == nullptr) {
            of_.refuse("has no \"" + name + "\"");
        }
        return *found;
    }
    /// To be called last: nothing else may be there.
    void finish() const {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (asked_[i] == 0) {
                members_[i].second.refuse("means nothing here; remove or correct it");
            }
        }
    }
    /// Reads the version of a file's format. Throws for another than the one given.
    void version(const std::string& name, std::int64_t known) {
        const std::int64_t found = get(name).integer(0, INT64_MAX);
        if (found != known) {
            get(name).refuse("is version " + std::to_string(found) + ", but this reads version " +
                             std::to_string(known));
        }
    }
    [[noreturn]] void refuse(const std::string& what) const { of_.refuse(what); }

private:
    static constexpr std::size_t few = 12; ///< are compared one by one

    json_value of_;
    std::vector<std::pair<std::string, json_value>> members_;
    std::map<std::string_view, std::size_t> places_; ///< of members, where they are more
    std::vector<char> asked_;
};

} // namespace tessera::io

#include "tessera/base/end_header.inl"
