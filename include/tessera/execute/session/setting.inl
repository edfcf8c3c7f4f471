// SPDX-License-Identifier: Apache-2.0
// Bodies of setting.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/session/setting.hpp"

#include "tessera/execute/local/stored_values.hpp"
#include "tessera/net/paths.hpp"

namespace tessera::detail {

TESSERA_INLINE void session_setting::require_sense() const {
    require(update, view());
    require(view(), how.view(), devices);
    if (threads.all_devices() < devices) {
        throw error("tessera: the strategy wants " + std::to_string(devices) + " devices and there are " +
                    std::to_string(threads.all_devices()) + "; make more devices or plan for fewer");
    }
}

TESSERA_INLINE void session_setting::require_parameter(int p) const {
    const int count = parameters();
    if (p < 0 || p >= count) {
        throw error("tessera: there is no parameter " + std::to_string(p) + "; the network has " +
                    std::to_string(count) + ", counted from 0");
    }
}

TESSERA_INLINE void session_setting::require_state(int state) const {
    if (state < -1 || state >= update.state_count()) {
        throw error("tessera: there is no number " + std::to_string(state) + " of the optimizer's state; it keeps " +
                    std::to_string(update.state_count()) + " for each element of a parameter");
    }
}

TESSERA_INLINE void session_setting::require_values(int p, std::span<const float> values) const {
    require_count(parameter_path_of(view(), p), extents_of(p), values);
}

TESSERA_INLINE field_lines session_setting::identity_lines() const {
    training_identity t;
    t.backend = backend_type;
    t.network = view();
    t.how = &how;
    t.update = &update;
    t.options = &options;
    t.own = own_lines(backend);
    return lines_of(t);
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
