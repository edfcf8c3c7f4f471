// SPDX-License-Identifier: Apache-2.0
// What a device reaches of its peaks, by the size and shape of what it does: the numbers of a device model, as a value.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

namespace tessera {

/// Rates of a kind of device by size (cost/roofline.hpp and simulate/group_collectives.hpp say what they do). They are
/// measured (`gpu_check roofline`) or fitted to whole steps (simulate/calibrate/); machine/presets.hpp says which.
/// Shares are in thousandths. Without them (multiprocessors is 0) a device reaches cost::roofline_efficiency at any
/// size.
struct device_rates {
    index_t multiprocessors = 0; ///< that work on tiles of a product at the same time
    index_t tile_rows = 128;     ///< of a product's result, computed by one multiprocessor
    index_t tile_columns = 256;
    index_t product_share = 1000; ///< of the peak rate, by large products
    index_t product_depth = 0;    ///< terms of each sum at which a product reaches half of that
    index_t attention_forward_share = 1000;
    index_t attention_backward_share = 1000;
    index_t memory_share = 1000;   ///< of the memory's bandwidth, by many bytes
    index_t memory_ramp = 0;       ///< bytes of a task at which it reaches half of that
    index_t link_share = 1000;     ///< of links' bandwidth, by collectives
    index_t collective_start = 0;  ///< ns
    index_t collective_engine = 0; ///< share of the device that a collective takes from what is computed meanwhile

    constexpr bool known() const { return multiprocessors > 0; }
    friend bool operator==(const device_rates&, const device_rates&) = default;

    struct field {
        index_t least = 0;
        index_t most = 0;
        bool fitted = false; ///< calibration may move it
    };
    template <class See>
    static constexpr void each_field(See&& see) {
        using r = device_rates;
        constexpr index_t many = 1'000'000;
        see("multiprocessors", &r::multiprocessors, field{1, many});
        see("tile_rows", &r::tile_rows, field{1, many});
        see("tile_columns", &r::tile_columns, field{1, many});
        see("product_share", &r::product_share, field{1, 1000, true});
        see("product_depth", &r::product_depth, field{0, many, false});
        see("attention_forward_share", &r::attention_forward_share, field{1, 1000, true});
        see("attention_backward_share", &r::attention_backward_share, field{1, 1000, true});
        see("memory_share", &r::memory_share, field{1, 1000, true});
        see("memory_ramp", &r::memory_ramp, field{0, 1'000'000'000, false});
        see("link_share", &r::link_share, field{1, 1000, true});
        see("collective_start", &r::collective_start, field{0, 1'000'000'000, false});
        see("collective_engine", &r::collective_engine, field{0, 1000, true});
    }
};

/// Rates of a device of today whose own are not known, to start a calibration with: assumptions of ours.
constexpr device_rates usual_rates(index_t multiprocessors = 132) {
    device_rates r;
    r.multiprocessors = multiprocessors;
    r.product_share = 700;
    r.product_depth = 64;
    r.attention_forward_share = 300;
    r.attention_backward_share = 200;
    r.memory_share = 500;
    r.memory_ramp = 1'000'000;
    r.link_share = 800;
    r.collective_start = 20'000;
    r.collective_engine = 100;
    return r;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
