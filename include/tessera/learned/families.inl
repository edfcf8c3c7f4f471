// SPDX-License-Identifier: Apache-2.0
// Bodies of families.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/families.hpp"

namespace tessera::learned {

TESSERA_INLINE const char* to_text(family f) {
    return f == family::image_cells ? "image cells" : f == family::translation ? "translation" : "language cells";
}

TESSERA_INLINE search::placement::cost_graph member(family f, int number, std::uint64_t seed, const family_device& d) {
    if (number < 0 || number >= family_members) {
        throw error("tessera: the family '" + std::string(to_text(f)) + "' has no member " + std::to_string(number) +
                    "; give a number from 0 to " + std::to_string(family_members - 1));
    }
    search::random_numbers pick{seed * 1'000'003 + static_cast<std::uint64_t>(f) * 1'009 +
                                static_cast<std::uint64_t>(number)};
    const std::string name = std::string(to_text(f)) + " " + std::to_string(number);
    return f == family::image_cells   ? detail::image_cells(name, pick, d)
           : f == family::translation ? detail::translation(name, pick, d)
                                      : detail::language_cells(name, pick, d);
}

TESSERA_INLINE family_split split_family(std::uint64_t seed, int held_out) {
    if (held_out < 0 || held_out > family_members) {
        throw error("tessera: " + std::to_string(held_out) + " members cannot be held out; a family has " +
                    std::to_string(family_members));
    }
    std::vector<int> all(to_size(family_members));
    search::random_numbers pick{seed};
    for (int i = 0; i < family_members; ++i) {
        const auto other = to_size(pick(i + 1));
        all[to_size(i)] = all[other];
        all[other] = i;
    }
    return {{all.begin() + held_out, all.end()}, {all.begin(), all.begin() + held_out}};
}

TESSERA_INLINE cluster family_machine(const search::placement::cost_graph& g, int devices, double part,
                                      const family_device& d) {
    if (devices < 1 || !is_finite(part) || part <= 0) {
        throw error("tessera: a machine of " + std::to_string(devices) + " devices with " + fixed_text(part) +
                    " times the memory of a graph; give at least 1 device and a part above 0");
    }
    machine m;
    m.devices = devices;
    m.link_megabytes = static_cast<index_t>(d.link * 1e-6);
    m.link_latency = static_cast<index_t>(d.latency * 1e9);
    const cluster plenty(fully_linked(m));
    const search::placement::assignment one(g.nodes.size(), 0);
    const index_t all = search::placement::evaluate(g, plenty, one).peak_bytes[0];
    m.capacity = std::max<index_t>(1, static_cast<index_t>(static_cast<double>(all) * part));
    return cluster(fully_linked(m));
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
