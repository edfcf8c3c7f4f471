// SPDX-License-Identifier: Apache-2.0
// What somebody else's files call a network's parameters: PyTorch's, torchvision's and Hugging Face's names, by patterns.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/op/attributes.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// What a file calls some layers: {"block.*", "layer1.*.conv2"}. A `*` stands for any text, and in `theirs` for what the same `*` of `ours` stood for, in their order.
/// A name with a slash is one parameter's, with what the file calls that tensor: {"head/weight", "classifier.W"}.
struct weight_name {
    std::string ours;        ///< a layer's path in the network, or with a slash a parameter's
    std::string theirs;      ///< of a layer, without what follows in the file: ".weight", ".bias", ".running_mean"
    bool transposed = false; ///< weights are [inputs, outputs] in the file, as those of GPT-2's Conv1D
    index_t first =
        0; ///< with the next: those rows (outputs) of the file's tensors, such as a third of a fused query, key and value
    index_t rows = 0; ///< 0: all
};

namespace detail {

/// Whether a text has a pattern's form, and what its stars stand for: the first ones as little as possible.
inline bool has_form(std::string_view pattern, std::string_view text, std::vector<std::string_view>& stars) {
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

/// A pattern's text with these in the place of its stars.
inline std::string filled(std::string_view pattern, const std::vector<std::string_view>& stars) {
    std::string text;
    std::size_t next = 0;
    for (const char c : pattern) {
        c == '*' && next < stars.size() ? void(text += stars[next++]) : void(text += c);
    }
    return text;
}

/// Where a parameter's numbers are in a file: one tensor, or of running statistics two.
struct weight_place {
    std::vector<std::string> names; ///< of one tensor, what comes first that is there
    int row = -1;                   ///< of the parameter [2, C] that this tensor is; -1: all of it
    const weight_name* rule = nullptr;
};

inline void require_names(const std::vector<weight_name>& names) {
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

/// The tensors of a parameter "layer/weight" as `names` and, where they say nothing, the field's custom have them: "layer/weight" or "layer.weight"; running statistics as
/// one tensor, or as two, "layer.running_mean" and "layer.running_var".
inline std::vector<weight_place> places_of(const std::string& parameter, const std::vector<weight_name>& names) {
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
    what == "weight" ? all.push_back(called(".gamma")) : void(); // of norms, in older files
    what == "bias" ? all.push_back(called(".beta")) : void();
    return {{std::move(all), -1, rule}};
}

} // namespace detail

} // namespace tessera::io

#include "tessera/base/end_header.inl"
