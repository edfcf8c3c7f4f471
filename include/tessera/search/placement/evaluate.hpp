// SPDX-License-Identifier: Apache-2.0
// The price of a placement: its simulated step, and the memory that it takes of every device.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/step_events.hpp"

namespace tessera::search::placement {

/// What placements are priced at, fast enough for searches.
struct price {
    index_t step = 0; ///< ns from the start to the end of the last task
    index_t excess_bytes =
        0; ///< by which devices together exceed their memory; what no kind of device can run counts as all memory of a
           ///< device
    bool feasible() const { return excess_bytes == 0; }
};

/// All there is to know of a placement.
struct outcome {
    index_t step = 0; ///< ns
    bool feasible = false;
    std::vector<index_t> peak_bytes; ///< of every device
    std::vector<index_t> busy;       ///< ns that each device computes
    index_t sent_bytes = 0;          ///< over links, forward and backward
    std::string why;                 ///< why it is not feasible, with the device or node; else empty
};

/// Prices placements of one graph on one machine; holds what they have in common. Both must outlive it.
class evaluator : public step_events {
public:
    using step_events::step_events;

    /// Throws tessera::error unless every node has a device that exists.
    price priced(const assignment& where);

    outcome evaluate(const assignment& where);

private:
    /// Bytes that each device would need if nothing were ever given back.
    std::vector<index_t> all_bytes(const assignment& where) const;

    /// The most bytes that each device holds at any time: what its nodes hold, outputs and copies from others while
    /// they live.
    std::vector<index_t> peaks(const assignment& where) const;

    index_t excess(const assignment& where) const;

    std::string trouble(const assignment& where, const std::vector<index_t>& most) const;
};

/// Prices one placement; evaluator prices many. Throws what that throws.
outcome evaluate(const cost_graph& g, const cluster& on, const assignment& where);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/evaluate.inl"
#endif

#include "tessera/base/end_header.inl"
