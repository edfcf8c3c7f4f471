// SPDX-License-Identifier: Apache-2.0
// Strategies designed by hand, built for a cluster: starts for searches, and what searches are compared with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/schedule/stages.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"
#include "tessera/search/proportional.hpp"
#include "tessera/search/record.hpp"

namespace tessera::search {

/// Data parallelism with a central copy (torch.nn.DataParallel; its documentation says what it does): the first device
/// stores the parameters, takes the inputs in and computes the losses; in every step it hands parameters and samples to
/// all, gathers what goes into the losses, sums the gradients and updates alone. Per step 2 (P - 1) times the
/// parameters cross, all over the first device's links.
strategy central_copy(const graph_view& g, int devices);

/// One mesh of rows x columns for all operators, samples along the rows and channels along the columns (the layout
/// rules of Mesh-TensorFlow, Shazeer et al. 2018, arXiv 1811.02084).
strategy mesh(const graph_view& g, int rows, int columns);

/// Data parallelism over `replicas` of groups of `split` devices. Within a group linear layers come in pairs, the first
/// split by its outputs and what stands between by channels, the second by its inputs, so that one sum per pair is all
/// that crosses (Megatron-LM, Shoeybi et al. 2019, arXiv 1909.08053, section 3). A linear layer that is followed by
/// another operator than a pointwise one, and everything that is not linear, is split by samples alone.
strategy megatron(const graph_view& g, int replicas, int split);

/// Operators placed one after the other on `parts` devices so that the busiest has as little arithmetic as can be, and
/// that `replicas` times with a share of the samples each: device parts * i + k has part k of replica i. What an
/// unrolled network repeats in time (operators that share a parameter with at least two others) stays together, so that
/// layers work at different steps at the same time; operators without parameters stay with those before them. With as
/// many replicas as nodes it is what is done by hand for recurrent networks: data parallel across nodes, layers spread
/// within (FlexFlow, section 8.2).
strategy operator_placement(const graph_view& g, int replicas, int parts);

/// A machine as rows of as many devices as there are in its first node; rows of one where that does not divide them.
struct node_grid {
    int nodes = 1;
    int per_node = 1;
};
node_grid node_grid_of(const cluster& on);

namespace detail {

template <strategy (*Make)(const graph_view&, int devices)>
search_found on_all_devices(const graph_view& g, const cluster& on, const search_options&) {
    return {Make(g, on.devices())};
}
template <strategy (*Make)(const graph_view&, int nodes, int per_node)>
search_found on_nodes(const graph_view& g, const cluster& on, const search_options&) {
    const node_grid grid = node_grid_of(on);
    return {Make(g, grid.nodes, grid.per_node)};
}
/// How many neighbours share a sequence: as many as the option says, or as can. Throws tessera::error where they do not
/// divide the devices.
int group_size(const graph_view& g, const cluster& on, const search_options& o, sequence_sharing how);
template <sequence_sharing How>
search_found on_groups(const graph_view& g, const cluster& on, const search_options& o) {
    const int share = group_size(g, on, o, How);
    return {share_sequences(g, How, on.devices() / share, share)};
}
inline bool has_nodes(const graph_view&, const cluster& on) { return node_grid_of(on).per_node > 1; }

} // namespace detail

inline constexpr search_record data_parallel_record{
    .name = "data",
    .title = "data parallel",
    .about = "every operator split by samples",
    .run = detail::on_all_devices<data_parallel>,
    .is_start = true,
    .is_baseline = true,
    .is_measured = true,
};
inline constexpr search_record proportional_record{
    .name = "proportional",
    .title = "data parallel in proportion",
    .about = "data parallel, samples in proportion to the devices' rates",
    .run = [](const graph_view& g, const cluster& on,
              const search_options&) { return search_found{data_parallel_in_proportion(g, on)}; },
    .applies = [](const graph_view& g,
                  const cluster& on) { return unequal_devices(on, on.devices(), g.ops[0].attributes.math); },
    .is_start = true,
    .is_baseline = true,
};
inline constexpr search_record one_weird_trick_record{
    .name = "one-weird-trick",
    .title = "one weird trick",
    .about = "convolutions by samples, linear layers by channels",
    .run = detail::on_all_devices<one_weird_trick>,
    .is_start = true,
    .is_baseline = true,
    .is_measured = true,
};
inline constexpr search_record model_parallel_record{
    .name = "model",
    .title = "model parallel",
    .about = "every operator split by channels or features",
    .run = detail::on_all_devices<model_parallel>,
    .is_start = true,
    .is_baseline = true,
    .is_measured = true,
};
inline constexpr search_record single_device_record{
    .name = "single",
    .title = "one device",
    .about = "every operator whole on the first device",
    .run = [](const graph_view& g, const cluster&, const search_options&) { return search_found{single_device(g)}; },
    .is_start = true,
    .is_baseline = true,
    .is_measured = true,
};
inline constexpr search_record mesh_record{
    .name = "mesh",
    .title = "mesh of nodes x devices",
    .about = "nodes by samples, devices of a node by channels: Mesh-TensorFlow",
    .run = detail::on_nodes<mesh>,
    .applies = detail::has_nodes,
    .is_start = true,
};
inline constexpr search_record megatron_record{
    .name = "megatron",
    .title = "Megatron within nodes",
    .about = "Megatron-LM's splits of pairs of linear layers within nodes",
    .run = detail::on_nodes<megatron>,
    .applies = detail::has_nodes,
    .is_start = true,
};
inline constexpr option_row sequence_devices_option{
    "sequence-devices", "that share a sequence; 0: as many of a node as divide the heads, or in a ring all", 0, 0,
    16384};
inline constexpr search_record megatron_sp_record{
    .name = "megatron-sp",
    .title = "Megatron with sequence parallelism",
    .about = "Megatron-LM's splits of products and attention, norms, dropout and residuals between them by positions",
    .run = detail::on_groups<sequence_sharing::megatron_sp>,
    .options = {sequence_devices_option},
    .applies = detail::has_nodes,
};
inline constexpr search_record ulysses_record{
    .name = "ulysses",
    .title = "Ulysses",
    .about = "everything by positions, attention by heads, all-to-alls between",
    .run = detail::on_groups<sequence_sharing::ulysses>,
    .options = {sequence_devices_option},
    .applies = detail::has_nodes,
};
inline constexpr search_record ring_record{
    .name = "ring",
    .title = "Ring attention",
    .about = "everything by positions, keys and values of attention round a ring",
    .run = detail::on_groups<sequence_sharing::ring>,
    .options = {sequence_devices_option},
    .applies = detail::has_nodes,
};
inline constexpr search_record zigzag_record{
    .name = "zigzag",
    .title = "Ring attention of zigzag pieces",
    .about = "the same, of a piece from either end of the sequence on each device: what a causal mask asks for",
    .run = detail::on_groups<sequence_sharing::zigzag>,
    .options = {sequence_devices_option},
    .applies = detail::has_nodes,
};
inline constexpr search_record operator_placement_record{
    .name = "placement",
    .title = "operators placed within nodes",
    .about = "operators placed one after the other within nodes",
    .run = detail::on_nodes<operator_placement>,
    .applies = detail::has_nodes,
    .is_start = true,
};
inline constexpr search_record central_copy_record{
    .name = "central-copy",
    .title = "central copy",
    .about = "torch.nn.DataParallel: parameters on the first device, copied out in every step",
    .run = detail::on_all_devices<central_copy>,
};

/// Strategies designed by hand. A new one is a record, and a row here.
inline constexpr std::array designed_strategies{
    &data_parallel_record, &proportional_record, &one_weird_trick_record, &model_parallel_record,
    &single_device_record, &mesh_record,         &megatron_record,        &megatron_sp_record,
    &ulysses_record,       &ring_record,         &zigzag_record,          &operator_placement_record,
    &central_copy_record,
};

/// Those from which a search may start on a machine, by their titles, data parallelism first.
std::vector<named_strategy> hand_designed(const graph_view& g, const cluster& on);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/by_hand/hand_designed.inl"
#endif

#include "tessera/base/end_header.inl"
