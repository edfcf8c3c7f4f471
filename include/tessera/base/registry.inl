// SPDX-License-Identifier: Apache-2.0
// Bodies of registry.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/registry.hpp"

namespace tessera {

TESSERA_INLINE std::string refusal_of(const option_row& o, double value) {
    const bool whole = !o.whole || value == static_cast<double>(static_cast<long long>(value));
    if (value >= o.least && value <= o.most && whole) {
        return {};
    }
    const auto text = [](double x) {
        std::string s = fixed_text(x);
        s.erase(s.find_last_not_of('0') + 1);
        return s.back() == '.' ? s.substr(0, s.size() - 1) : s;
    };
    return std::string(o.name) + " is " + text(value) + "; give a " + (o.whole ? "whole " : "") + "number from " +
           text(o.least) + " to " + text(o.most);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
