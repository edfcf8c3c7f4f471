// SPDX-License-Identifier: Apache-2.0
// Names for a language's identifiers, one for each text that is asked for: for those who write programs.
#pragma once
#include "tessera/base/begin_header.inl"

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tessera {

/// Letters, digits and single underscores: no name has two underscores in a row, so that what is put behind one with two is no other's.
class free_names {
public:
    /// `reserved`: words of the language, which must outlive this. `taken`: names that are in use from the beginning.
    explicit free_names(const std::set<std::string>& reserved, std::set<std::string> taken = {})
        : reserved_(&reserved), taken_(std::move(taken)) {}

    std::string next(std::string_view text) {
        std::string name;
        for (const char c : text) {
            const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            const bool is_digit = c >= '0' && c <= '9';
            if (is_letter || is_digit) {
                name += name.empty() && is_digit ? std::string("n") + c : std::string(1, c);
            } else if (!name.empty() && name.back() != '_') {
                name += '_';
            }
        }
        name = name.empty() ? "node" : name;
        std::string free = reserved_->count(name) != 0 ? name + "_" : name;
        if (!taken_.insert(free).second) {
            int& more = more_[name]; // numbers below it are taken
            do {
                free = name + (name.back() == '_' ? "" : "_") + std::to_string(++more);
            } while (!taken_.insert(free).second);
        }
        return free;
    }

private:
    const std::set<std::string>* reserved_;
    std::set<std::string> taken_;
    std::unordered_map<std::string, int> more_; ///< the last number behind a name that came again
};

} // namespace tessera

#include "tessera/base/end_header.inl"
