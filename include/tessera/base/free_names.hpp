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

/// Letters, digits and single underscores: no name has two underscores in a row, so that what is put behind one with
/// two is no other's.
class free_names {
public:
    /// `reserved`: words of the language, which must outlive this. `taken`: names that are in use from the beginning.
    explicit free_names(const std::set<std::string>& reserved, std::set<std::string> taken = {})
        : reserved_(&reserved), taken_(std::move(taken)) {}

    std::string next(std::string_view text);

private:
    const std::set<std::string>* reserved_;
    std::set<std::string> taken_;
    std::unordered_map<std::string, int> more_; ///< the last number behind a name that came again
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/free_names.inl"
#endif

#include "tessera/base/end_header.inl"
