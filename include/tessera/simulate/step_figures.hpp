// SPDX-License-Identifier: Apache-2.0
// A step in the figures of training reports: tokens a second, the share of the machine's peak that the model's work is
// (MFU) and that what devices compute is (HFU), and what the memory at a device's peak is for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::simulation {

/// What a step of training asks for, whoever computes it and how.
struct model_work {
    index_t samples = 0;
    index_t tokens = 0;    ///< of all samples; 0 where the first input is not [N,T] of integers
    double parameters = 0; ///< trained ones that a token meets: of experts those it goes to
    double flops = 0;      ///< forward and backward
    precision math = precision::fp32;
};

/// With tokens, flops are those of PaLM (Chowdhery et al. 2022, appendix B): for every token 6 for each parameter that
/// it meets, and 12 * heads * width of a head * positions for each attention (of all pairs of positions, those that a
/// causal mask hides too; 6 * (width of queries + width of values) * positions of keys * heads). Without, three times
/// the forward ones of products and convolutions.
model_work work_of_model(const graph_view& g);

/// FLOPs of the passes in which a plan computes again forward what it did not keep.
double recomputed_flops(const graph_view& g, const plan& p);

struct step_figures {
    double samples_per_second = 0;
    double tokens_per_second = 0; ///< 0: there are no tokens
    double model_share = 0;       ///< MFU: the model's FLOPs over the peak's of all devices in the network's precision
    double device_share = 0;      ///< HFU: the same with what is recomputed
};
step_figures figures_of(const model_work& w, double recomputed, const cluster& on, index_t step_ns);

/// What the memory of a device is for at its peak. The sum is the plan's arena and persistent bytes of the device.
struct memory_split {
    index_t parameters = 0; ///< that lie there between steps
    index_t gradients = 0;  ///< of parameters
    index_t optimizer_state = 0;
    index_t activations = 0; ///< and their gradients, intermediate results too
    index_t buffers = 0;     ///< parameters on their way, workspaces, compressed gradients, and gaps between tiles

    index_t sum() const { return parameters + gradients + optimizer_state + activations + buffers; }
};
/// Of a plan of the network whose memory has been planned.
memory_split split_of_memory(const graph_view& g, const plan& p, int device);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/step_figures.inl"
#endif

#include "tessera/base/end_header.inl"
