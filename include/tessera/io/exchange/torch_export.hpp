// SPDX-License-Identifier: Apache-2.0
// A plan as a program for torch.distributed: a folder with Python that anybody can read and run.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/build.hpp"
#include "tessera/backend/torch/runtime.hpp"
#include "tessera/backend/torch/write.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/execute/local/initialize.hpp"
#include "tessera/io/exchange/torch_check.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/files/safetensors.hpp"
#include "tessera/version.hpp"

#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

/// Elements of one parameter that is exported, whose values are made, or asked for, in one piece: 4 GiB of memory.
inline constexpr index_t most_exported_elements = index_t{1} << 30;

struct torch_options {
    std::string title = "A network"; ///< what the program says that it trains
    std::uint64_t seed = 0;          ///< of initial values, and of dropout's masks
    int check_steps = 2;             ///< whose losses and gradients' norms the program carries, for --check
    double most_check_work = 1e9;    ///< iterations of loops that these steps may take here: about as many in 10 s
};

namespace detail {

/// Throws where the values of a parameter would not fit.
void require_exported_sizes(const graph_view& g);

/// Parameters whole, by their paths.
void write_weights(const std::string& path, const graph_view& g, function_ref<std::vector<float>(int)> values_of);

} // namespace detail

/// Writes the plan of a strategy into `folder`, which is made where it is missing: program.py, the one file that it
/// imports (tessera_runtime.py), and weights.safetensors. `torchrun --nproc-per-node DEVICES program.py --data FILE`
/// trains it, with gloo or NCCL, to the losses that Tessera's own executor has, up to the order of sums: the same
/// weights, masks of dropout and order of samples. What is communicated is what the plan's copies are forward, the same
/// boxes back, and an all-reduce of each bucket of gradients. `values_of`: the elements of a parameter, row-major. The
/// first steps are taken here, by the reference backend, where they are short enough, so that the program can compare
/// (`--check`). Throws tessera::error, before anything is written, for a strategy that breaks a rule, for all that has
/// no counterpart in PyTorch, each by name, and for a parameter of more than 2^30 elements; and where a file cannot be
/// written.
void export_torch(const std::string& folder, const graph_view& g, const strategy_view& s, int devices,
                  const optimizer& update, const torch_options& options,
                  function_ref<std::vector<float>(int)> values_of);

/// The same with the network's initial values.
void export_torch(const std::string& folder, const graph_view& g, const strategy_view& s, int devices,
                  const optimizer& update, const torch_options& options = {});

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/torch_export.inl"
#endif

#include "tessera/base/end_header.inl"
