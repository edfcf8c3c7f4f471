// SPDX-License-Identifier: Apache-2.0
// Bodies of rotary.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/rotary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>

namespace tessera::host::detail {

TESSERA_INLINE std::shared_ptr<const rotary_table> rotary_table_of(const op::rotary_attributes& a, index_t pairs,
                                                                   index_t first, index_t count) {
    using key = std::array<double, 8>;
    static std::mutex one_at_a_time;
    static std::map<key, std::weak_ptr<const rotary_table>> known;
    const op::rotary_scaling scaling = op::scaling_of(a);
    const key asked = {static_cast<double>(pairs),
                       static_cast<double>(first),
                       static_cast<double>(count),
                       a.base,
                       a.halves ? 1.0 : 0.0,
                       scaling.least,
                       scaling.slope,
                       scaling.offset};
    const std::lock_guard lock(one_at_a_time);
    if (std::shared_ptr<const rotary_table> there = known[asked].lock()) {
        return there;
    }
    std::erase_if(known, [](const auto& k) { return k.second.expired(); });
    const auto made = std::make_shared<rotary_table>();
    std::vector<double> plain; // angle of a position, by pair, and what scaling makes of it
    std::vector<double> scaled;
    for (index_t pair = 0; pair < pairs; ++pair) {
        plain.push_back(std::pow(a.base, -static_cast<double>(pair) / static_cast<double>(pairs)));
        const double kept = std::clamp(plain.back() * scaling.slope - scaling.offset, 0.0, 1.0);
        scaled.push_back(scaling.least + (1 - scaling.least) * kept);
    }
    for (index_t t = first; t < first + count; ++t) {
        for (std::size_t pair = 0; pair < plain.size(); ++pair) {
            const double angle = static_cast<double>(t) * plain[pair] * scaled[pair];
            const auto cosine = static_cast<float>(std::cos(angle));
            const auto sine = static_cast<float>(std::sin(angle));
            made->cosine.push_back(cosine);
            made->sine.push_back(a.halves ? sine : -sine);
            if (!a.halves) {
                made->cosine.push_back(cosine);
                made->sine.push_back(sine);
            }
        }
    }
    known[asked] = made;
    return made;
}

TESSERA_INLINE bool has_whole_heads(const compute_call& c) {
    const int pair = c.d->find_loop(loop_name::group_channel);
    return c.ranges[pair].size() == c.d->loops[pair].extent;
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE rotary_job::rotary_job(const bound_call& b) {
    const compute_call& c = b.call;
    const description& d = *c.d;
    const auto own = c.attributes.as<op::rotary_attributes>();
    const interval positions = c.ranges[d.find_loop(loop_name::position)];
    const int pair = d.find_loop(loop_name::group_channel);
    work_.samples = static_cast<std::ptrdiff_t>(c.ranges[d.find_loop(loop_name::sample)].size());
    work_.positions = static_cast<std::ptrdiff_t>(positions.size());
    work_.heads = static_cast<std::ptrdiff_t>(c.ranges[d.find_loop(loop_name::channel)].size());
    work_.pairs = static_cast<std::ptrdiff_t>(d.loops[pair].extent);
    work_.halves = own.halves;
    work_.back = !is_forward(c.what);
    const int out = d.output();
    work_.from = detail::floats(work_.back ? c.gradient[out].data : c.value[0].data);
    work_.to = detail::floats(work_.back ? c.gradient[0].data : c.value[out].data);
    table_ = detail::rotary_table_of(own, d.loops[pair].extent, positions.begin, positions.size());
    work_.cosine = table_->cosine.data();
    work_.sine = table_->sine.data();
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
