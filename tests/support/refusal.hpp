// SPDX-License-Identifier: Apache-2.0
// What is refused, and in which words.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/base/rules.hpp"

#include <string>

namespace test_support {

/// The words of the tessera::error that a call throws, or "accepted". Other exceptions pass.
template <class Call>
std::string message_of(Call&& call) {
    try {
        call();
    } catch (const tessera::error& e) {
        return e.what();
    }
    return "accepted";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The whole text that a broken rule must have.
inline std::string text_of_rule(tessera::rule broken, const std::string& layer, const std::string& along,
                                tessera::index_t found, tessera::index_t needed) {
    return "tessera: " + std::string(tessera::to_text(broken)) + " [layer " + layer +
           (along.empty() ? "" : ", along " + along) + ", found " + std::to_string(found) + ", needed " +
           std::to_string(needed) + "]";
}

/// The same of a rule that no layer is to blame for; `step` is what is said of a schedule's step, as "forward of stage
/// 0, micro-batch 1, ".
inline std::string text_of_rule(tessera::rule broken, tessera::index_t found, tessera::index_t needed,
                                const std::string& step = "") {
    return "tessera: " + std::string(tessera::to_text(broken)) + " [" + step + "found " + std::to_string(found) +
           ", needed " + std::to_string(needed) + "]";
}

} // namespace test_support
