// SPDX-License-Identifier: Apache-2.0
// Bodies of wires.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/wires.hpp"

namespace tessera::simulation {

TESSERA_INLINE wires::wires(const cluster& on, int parts, int planned)
    : on_(on), busy_(to_size(on.lanes()), 0), parts_(parts), in_part_(devices_of_part(on, parts)),
      planned_(planned > 1 ? planned * in_part_ : 0), sent_(to_size(planned_) * to_size(planned_), 0),
      shared_(parts > 1 && planned == 1 ? to_size(in_part_ * in_part_) : 0) {}

TESSERA_INLINE std::vector<std::pair<int, int>> wires::pairs() const {
    std::vector<std::pair<int, int>> all;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
        if (sent_[i] != 0) {
            all.emplace_back(static_cast<int>(i) / planned_, static_cast<int>(i) % planned_);
        }
    }
    return all;
}

TESSERA_INLINE void wires::begin() {
    latency_ = 0;
    used_.clear();
}

TESSERA_INLINE void wires::send(int from, int to, index_t bytes) {
    const route r = on_.between(from, to);
    latency_ = std::max(latency_, r.latency);
    if (planned_ > 0) {
        sent_[to_size(from) * to_size(planned_) + to_size(to)] = 1;
    }
    for (int lane : r.lanes) {
        use(lane, bytes * 1000 + 1); // + 1: also a lane that nothing measurable passes is used
    }
}

TESSERA_INLINE void wires::send_in_every_part(int from, int to, index_t bytes) {
    std::vector<std::pair<int, int>>& lanes = shared_[to_size(from * in_part_ + to)];
    const route mine = on_.between(from, to);
    if (lanes.empty()) {
        for (int lane : mine.lanes) {
            lanes.push_back({lane, 1});
            for (int k = 1; k < parts_; ++k) {
                for (int other : on_.between(from + k * in_part_, to + k * in_part_).lanes) {
                    lanes.back().second += other == lane ? 1 : 0;
                }
            }
        }
    }
    latency_ = std::max(latency_, mine.latency);
    for (const auto& [lane, parts] : lanes) {
        use(lane, parts * bytes * 1000 + 1);
    }
}

TESSERA_INLINE void wires::send_from_parts(int from, int to, index_t bytes, int parts) {
    for (int k = 0; k < parts; ++k) {
        if (from + k * in_part_ != to) {
            send(from + k * in_part_, to, bytes);
        }
    }
}

TESSERA_INLINE void wires::finish(int device, index_t local, activity& a, bool overlaps, index_t starting) {
    index_t wire = 0;
    for (int lane : used_) {
        const index_t busy = take(lane);
        wire = std::max(wire, busy);
        a.lanes.push_back({lane, busy});
    }
    a.duration = std::max<index_t>(1, latency_ + wire + local);
    if (!overlaps) {
        return compute(device, a);
    }
    const bool serial = on_.class_of(device).serial_copies;
    if (serial || local > 0) {
        a.lanes.push_back({engine_of(device), serial ? a.duration : std::max<index_t>(1, local - starting)});
    }
}

TESSERA_INLINE void wires::compute(int device, activity& a) const {
    a.device = device;
    if (!on_.class_of(device).serial_copies) {
        a.lanes.push_back({engine_of(device), a.duration});
    }
}

TESSERA_INLINE void wires::finish_meanwhile(activity& a) {
    for (int lane : used_) {
        const index_t busy = take(lane);
        const auto known =
            std::find_if(a.lanes.begin(), a.lanes.end(), [&](const lane_use& u) { return u.lane == lane; });
        if (known == a.lanes.end()) {
            a.lanes.push_back({lane, busy});
        } else {
            known->busy += busy;
        }
    }
}

TESSERA_INLINE int wires::devices_of_part(const cluster& on, int parts) {
    if (parts < 1 || on.devices() % parts != 0) {
        throw error("tessera: a machine of " + std::to_string(on.devices()) + " devices does not have " +
                    std::to_string(parts) + " equal parts; give a number that divides its devices");
    }
    return on.devices() / parts;
}

TESSERA_INLINE void wires::use(int lane, index_t what) {
    if (busy_[to_size(lane)] == 0) {
        used_.push_back(lane);
    }
    busy_[to_size(lane)] += what;
}

TESSERA_INLINE index_t wires::take(int lane) {
    const index_t busy = busy_[to_size(lane)] / on_.lane_megabytes(lane);
    busy_[to_size(lane)] = 0;
    return busy;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
