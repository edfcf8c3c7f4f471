// SPDX-License-Identifier: Apache-2.0
// Which outputs a strategy leaves in the host's memory between forward and backward, so that it fits into the devices'.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/finished_step.hpp"
#include "tessera/search/offload/offload_of.hpp"

#include <vector>

namespace tessera::search {

struct offload_options {
    lower_options lowering{};
    simulation::task_times times{};
    index_t memory = 0; ///< bytes of every device; 0: what each has
    offload_of what = offload_of::activations;
};

struct offload_found {
    strategy best;
    int operators = 0;  ///< that offload
    bool state = false; ///< the optimizer's does
    index_t step = 0;   ///< ns, simulated
    index_t bytes = 0;  ///< of the device that needs most
    bool fits = false;  ///< otherwise nothing does, and this needs least
    int simulated = 0;  ///< plans
};

/// The operators whose outputs backward reads, by themselves or by a view, but for those that recompute, in the order of
/// forward: what is made first waits longest.
std::vector<int> outputs_to_offload(const graph_view& g, const strategy& s);

/// The first operators of that order offload, as few as make the plan fit (bisection; each plan is simulated). Where
/// nothing fits, all of them do. Whatever offloads already still does.
///
/// When it is worth it: an output of b bytes costs b / B each way over the link to the host, of B bytes per second, and
/// nothing at all where the computation between hides it; made again it costs its operator's forward FLOPs f at the
/// device's rate R. If nothing were hidden, offloading would be the cheaper one where f / b > 2 R / B: with an H100 in
/// bf16 at 60 % of its peak and 48 GB/s that is 24,700 FLOPs a byte, a product of about that width. (vDNN: Rhu et al.
/// 2016, section 3.)
///
/// The optimizer's state of s numbers for each of a device's P parameters frees 4 s P bytes for 4 P down and 4 P up, in
/// place of 4 s P each way if it came and went (ZeRO-Offload: Ren et al. 2021), and the host's step, which passes over
/// (12 + 8 s) P bytes at its rate, all devices of a node taking turns. It comes at the end of a step, so that less of it
/// is hidden: with Adam on one H100, 48 GB/s each way and 307 GB/s on the host, 8 P bytes free for about
/// 8 P / 48 + 28 P / 307 = 0.26 P ns, 32 ps a byte freed; an activation's byte costs 2 / 48 ns = 42 ps where nothing
/// hides it, and nothing where the computation does. On a node of eight the host's share alone is 0.73 P ns, 91 ps a
/// byte. Hence both ways are simulated with `both`, as few outputs with the state on the host and without, and the
/// shorter step that fits is taken; the state goes as a whole. An optimizer without a state is refused where it alone
/// may go.
offload_found offload_within(const graph_view& g, const cluster& on, const strategy& s, const offload_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/offload/within_memory.inl"
#endif

#include "tessera/base/end_header.inl"
