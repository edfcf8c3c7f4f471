// SPDX-License-Identifier: Apache-2.0
// JSON by the library of Niels Lohmann (Debian's nlohmann-json3-dev), and what a strict reader adds to it: names may not come twice, every member
// must be asked for, types and ranges are checked, and whatever is wrong is told with its line and its path.
#pragma once

#include "tessera/base/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

/// A JSON value whose objects keep the order of their members.
using json = nlohmann::ordered_json;

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

/// Builds a value from the library's parser, noting in which line every value begins (or ends, for those that lie on one).
class json_builder : public nlohmann::json_sax<json> {
public:
    json_builder(std::string_view text, std::string called) : text_(text), called_(std::move(called)) {}

    bool null() override { return add(nullptr); }
    bool boolean(bool b) override { return add(b); }
    bool number_integer(std::int64_t i) override { return add(i); }
    bool number_unsigned(std::uint64_t i) override { return add(i); }
    bool number_float(double d, const std::string&) override { return add(d); }
    bool string(std::string& s) override { return add(std::move(s)); }
    bool binary(json::binary_t&) override { return false; } // no part of JSON texts
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string& name) override {
        if (!names_.back().insert(name).second) {
            refuse(at, "the name \"" + name + "\" comes twice");
        }
        key_ = std::move(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
        std::string what = e.what(); // "[json.exception.parse_error.101] parse error at line 1, column 1: ..."
        const std::size_t colon = what.find(": ");
        const std::size_t bracket = what.find("] ");
        const std::size_t from = colon != std::string::npos     ? colon + 2
                                 : bracket != std::string::npos ? bracket + 2
                                                                : 0;
        refuse(position > 0 ? position - 1 : 0, what.substr(from));
    }

    std::size_t at = 0; ///< characters that the parser has taken
    json root;
    std::vector<int> lines; ///< of all values, each before those inside it

private:
    static constexpr std::size_t deepest = 100;

    [[noreturn]] void refuse(std::size_t place, const std::string& what) const {
        place = std::min(place, text_.size());
        const std::string_view before = text_.substr(0, place);
        const std::size_t column = place - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1);
        throw error("tessera: " + called_ + ", line " +
                    std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ", column " +
                    std::to_string(column + 1) + ": " + what);
    }
    json* place(json&& value) {
        const std::size_t upto = std::min(at, text_.size());
        line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                             text_.begin() + static_cast<std::ptrdiff_t>(upto), '\n'));
        counted_ = upto;
        lines.push_back(line_);
        if (open_.empty()) {
            root = std::move(value);
            return &root;
        }
        json& parent = *open_.back();
        if (parent.is_array()) {
            parent.push_back(std::move(value));
            return &parent.back();
        }
        return &parent.emplace(key_, std::move(value)).first.value();
    }
    template <class T>
    bool add(T&& value) {
        place(json(std::forward<T>(value)));
        return true;
    }
    bool open(json&& empty) {
        if (open_.size() >= deepest) {
            refuse(at, "values lie within each other more than 100 deep");
        }
        // What is open is the last value of what it lies in, which does not grow meanwhile: the pointer stays good.
        open_.push_back(place(std::move(empty)));
        names_.emplace_back();
        return true;
    }
    bool close() {
        open_.pop_back();
        names_.pop_back();
        return true;
    }

    std::string_view text_;
    std::string called_;
    std::vector<json*> open_;
    std::vector<std::set<std::string>> names_; ///< of what is open
    std::string key_;
    int line_ = 1;
    std::size_t counted_ = 0;
};

/// Reads a text and says how far it has come.
struct counted_text {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* here = nullptr;
    std::size_t* taken = nullptr;

    const char& operator*() const { return *here; }
    counted_text& operator++() {
        ++here;
        ++*taken;
        return *this;
    }
    counted_text operator++(int) {
        counted_text old = *this;
        ++*this;
        return old;
    }
    friend bool operator==(const counted_text& a, const counted_text& b) { return a.here == b.here; }
};

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

private:
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
    json_value(const json_document& of, const json& value, std::string path)
        : of_(&of), value_(&value), path_(std::move(path)) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw error("tessera: " + of_->called() + ", line " + std::to_string(of_->line_of(*value_)) + ": " +
                    (path_.empty() ? std::string("the file") : path_) + " " + what);
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
            all.emplace_back(*of_, item, path_ + "/" + std::to_string(all.size()));
        }
        return all;
    }
    /// The members of an object, by name.
    std::vector<std::pair<std::string, json_value>> members() const {
        need(value_->is_object(), "an object");
        std::vector<std::pair<std::string, json_value>> all;
        for (const auto& member : value_->items()) {
            all.emplace_back(member.key(), json_value(*of_, member.value(), path_ + "/" + member.key()));
        }
        return all;
    }
    bool is_object() const { return value_->is_object(); }

private:
    void need(bool is_it, const char* wanted) const {
        if (!is_it) {
            refuse("is " + shown() + ", but must be " + wanted);
        }
    }
    std::string shown() const { return value_->is_number() ? value_->dump() : detail::type_of(*value_); }

    const json_document* of_;
    const json* value_;
    std::string path_;
};

inline json_value json_document::root() const { return {*this, root_, ""}; }

/// Reads the members of an object by name; each must be asked for, so that a misspelt one is found.
class json_object {
public:
    explicit json_object(const json_value& of) : of_(of), members_(of.members()), asked_(members_.size(), 0) {}

    /// The member, or null where there is none.
    const json_value* find(std::string_view name) {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (members_[i].first == name) {
                asked_[i] = 1;
                return &members_[i].second;
            }
        }
        return nullptr;
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
    json_value of_;
    std::vector<std::pair<std::string, json_value>> members_;
    std::vector<char> asked_;
};

} // namespace tessera::io
