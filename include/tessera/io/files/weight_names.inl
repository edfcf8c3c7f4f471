// SPDX-License-Identifier: Apache-2.0
// Bodies of weight_names.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/weight_names.hpp"

namespace tessera::io::detail {

TESSERA_INLINE bool has_form(std::string_view pattern, std::string_view text, std::vector<std::string_view>& stars) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) {
        return pattern == text;
    }
    if (text.substr(0, star) != pattern.substr(0, star)) {
        return false;
    }
    const std::size_t before = stars.size();
    for (std::size_t length = 0; star + length <= text.size(); ++length) {
        stars.push_back(text.substr(star, length));
        if (has_form(pattern.substr(star + 1), text.substr(star + length), stars)) {
            return true;
        }
        stars.resize(before);
    }
    return false;
}

TESSERA_INLINE std::string filled(std::string_view pattern, const std::vector<std::string_view>& stars) {
    std::string text;
    std::size_t next = 0;
    for (const char c : pattern) {
        if (c == '*' && next < stars.size()) {
            text += stars[next++];
        } else {
            text += c;
        }
    }
    return text;
}

TESSERA_INLINE void require_names(const std::vector<weight_name>& names) {
    for (const weight_name& n : names) {
        const auto stars = [](const std::string& x) {
            std::size_t count = 0;
            for (const char c : x) {
                count += c == '*' ? 1 : 0;
            }
            return count;
        };
        if (stars(n.ours) > 4) {
            throw error("tessera: the pattern '" + n.ours + "' has more than 4 stars; say less with one");
        }
        if (stars(n.theirs) > stars(n.ours) || n.ours.empty() || n.theirs.empty() || n.first < 0 || n.rows < 0) {
            throw error("tessera: the names '" + n.ours + "' and '" + n.theirs +
                        "' do not go together: neither is empty, each * of the second is one of the first, and rows "
                        "are counted from 0");
        }
    }
}

TESSERA_INLINE std::vector<weight_place> places_of(const std::string& parameter,
                                                   const std::vector<weight_name>& names) {
    const std::size_t slash = parameter.rfind('/');
    std::string layer = parameter.substr(0, slash);
    const std::string what = slash == std::string::npos ? std::string() : parameter.substr(slash + 1);
    const weight_name* rule = nullptr;
    for (const weight_name& n : names) {
        std::vector<std::string_view> stars;
        const bool of_parameter = n.ours.find('/') != std::string::npos;
        const std::string& text = of_parameter ? parameter : layer;
        if (has_form(n.ours, text, stars)) {
            const std::string theirs = filled(n.theirs, stars);
            if (of_parameter) {
                return {{{theirs}, -1, &n}};
            }
            layer = theirs;
            rule = &n;
            break;
        }
    }
    const auto called = [&](const char* ending) { return layer + ending; };
    if (what == "statistics") {
        return {{{called("/statistics")}, -1, rule},
                {{called(".running_mean"), called("/running_mean")}, 0, rule},
                {{called(".running_var"), called("/running_var")}, 1, rule}};
    }
    std::vector<std::string> all{layer + "/" + what, layer + "." + what};
    if (what == "weight") {
        all.push_back(called(".gamma")); // of norms, in older files
    }
    if (what == "bias") {
        all.push_back(called(".beta"));
    }
    return {{std::move(all), -1, rule}};
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
