// SPDX-License-Identifier: Apache-2.0
// Tiles: regions of tensors on devices, the memory of a plan.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan_field.hpp"

namespace tessera {

enum class tile_kind : std::uint8_t {
    input,        ///< what the caller hands in; lies on no device (device -1)
    activation,   ///< output of an operator, or a redistributed part of it
    gradient,     ///< gradient of an activation
    intermediate, ///< between the nests of an operator
    intermediate_gradient,
    parameter, ///< persistent
    parameter_gradient,
    optimizer_state, ///< persistent; a flat slice of `elements` numbers for each state of the optimizer
    /// one double, a squared norm of gradients; or two, a parameter's squares and those of its gradient or update
    scalar,
    scratch,  ///< working memory of one task, or what forward leaves to backward besides its output
    residual, ///< persistent; what a device has left out of a parameter's gradients when it compressed them
    code,     ///< a compressed gradient: `elements` words, of all of the region
};

constexpr const char* to_text(tile_kind k) {
    constexpr const char* names[] = {"input",
                                     "activation",
                                     "gradient",
                                     "intermediate",
                                     "intermediate_gradient",
                                     "parameter",
                                     "parameter_gradient",
                                     "optimizer_state",
                                     "scalar",
                                     "scratch",
                                     "residual",
                                     "code"};
    return names[static_cast<int>(k)];
}

constexpr bool is_persistent(tile_kind k) {
    return k == tile_kind::parameter || k == tile_kind::optimizer_state || k == tile_kind::residual;
}

/// The memories that a device works with.
enum class arena_kind : std::uint8_t {
    working,         ///< its own: what a run needs at a time
    persistent,      ///< its own: what lasts between runs
    host,            ///< the host's beside it: what waits there until the device needs it again
    host_persistent, ///< the host's beside it: what lasts between runs
};

/// A region of a tensor on a device.
struct tile {
    tile_kind kind = tile_kind::activation;
    int tensor = -1; ///< tensor, parameter, or (intermediates) operator * max_operands + operand
    box region;
    int device = 0;
    element type = element::f32;
    int alias = -1;    ///< shares the memory of this tile, same elements in the same order
    bool keep = false; ///< still needed when the run has ended
    /// It is in the host's memory beside its device (a GPU's node): an activation that waits for backward, which copies
    /// alone touch there, or what the host's processor steps with.
    bool on_host = false;
    int summand = -1; ///< which summand of its tensor it holds; -1: the sum of all, which a task gathered
    /// Set by binding: the tile whose elements it repeats, region by region, on its way to another device.
    int origin = -1;
    int micro_batch = 0; ///< whose values it holds
    int replica = 0; ///< of a batch norm's statistics that every shard of samples takes by itself: that shard's place
    int step = 0;    ///< of a plan of several, whose values it holds
    index_t elements = 0; ///< optimizer_state: numbers in it; otherwise the region's volume, or that of the slice
    int slice = 0; ///< which of `slices` equal slices of the region's elements it holds, in the order of its format
    int slices = 1;

    // Set by binding.
    int format = 0; ///< memory format of the backend; 0 is plain, last dimension fastest
    index_t bytes = 0;
    index_t offset = -1; ///< in its arena

    friend bool operator==(const tile&, const tile&) = default;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("kind", &tile::kind, plan_field{});
        see("tensor", &tile::tensor, plan_field{});
        see("region", &tile::region, plan_field{});
        see("device", &tile::device, plan_field{});
        see("type", &tile::type, plan_field{});
        see("alias", &tile::alias, plan_field{.tiles = true, .none = true});
        see("keep", &tile::keep, plan_field{});
        see("summand", &tile::summand, plan_field{});
        see("origin", &tile::origin, plan_field{.tiles = true, .none = true});
        see("micro_batch", &tile::micro_batch, plan_field{});
        see("replica", &tile::replica, plan_field{});
        see("step", &tile::step, plan_field{});
        see("elements", &tile::elements, plan_field{});
        see("slice", &tile::slice, plan_field{});
        see("slices", &tile::slices, plan_field{});
        see("format", &tile::format, plan_field{});
        see("bytes", &tile::bytes, plan_field{});
        see("offset", &tile::offset, plan_field{});
        see("on_host", &tile::on_host, plan_field{});
    }
};

constexpr arena_kind arena_of(const tile& t) {
    const bool lasts = is_persistent(t.kind);
    return t.on_host ? (lasts ? arena_kind::host_persistent : arena_kind::host)
                     : (lasts ? arena_kind::persistent : arena_kind::working);
}
inline constexpr int arenas_of_device = 4;
/// Every arena of every device by a number.
constexpr int arena_number(const tile& t) { return arenas_of_device * t.device + static_cast<int>(arena_of(t)); }

} // namespace tessera

#include "tessera/base/end_header.inl"
