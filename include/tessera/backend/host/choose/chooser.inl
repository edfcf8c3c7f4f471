// SPDX-License-Identifier: Apache-2.0
// Bodies of chooser.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/chooser.hpp"

namespace tessera::host::detail {

TESSERA_INLINE chooser::chooser(const plan& p, const graph_view& g, const std::vector<description>& descriptions,
                                const parameter_store* store, catalog& c, tuning how, std::uint64_t seed,
                                bool takes_norms)
    : p_(p), g_(g), descriptions_(descriptions), store_(store), catalog_(c), how_(how), seed_(seed),
      takes_norms_(takes_norms) {}

TESSERA_INLINE decisions chooser::run() {
    decisions d = decide();
    while (!are_right(d)) { // what is wrong is no candidate the next time
        groups_.clear();
        costs_.clear();
        passed_.clear();
        touched_.clear();
        d = decide();
    }
    store_parameters(d);
    return d;
}

TESSERA_INLINE decisions chooser::decide() {
    make_groups();
    link();
    choose();
    decisions d;
    d.tasks.resize(p_.tasks.size());
    for (const group& x : groups_) {
        for (const group::leg& leg : x.legs) {
            for (int t : leg.tasks) {
                d.tasks[to_size(t)] = option_for(t, leg.options[to_size(x.chosen)]);
            }
        }
    }
    return d;
}

TESSERA_INLINE bool chooser::are_right(const decisions& d) {
    bool all = true;
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        const task& t = p_.tasks[i];
        all =
            (t.kind() != task_kind::compute || t.what == pass::update || catalog_.is_right(call(t), d.tasks[i])) && all;
    }
    return all;
}

TESSERA_INLINE int chooser::format_in(const place& x, const candidate& k) {
    return x.gradient ? k.gradient[x.operand] : k.value[x.operand];
}

TESSERA_INLINE int chooser::format_in(const place& x) const {
    const group& g = groups_[to_size(x.group)];
    return format_in(x, g.legs[to_size(x.leg)].options[to_size(g.chosen)]);
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
