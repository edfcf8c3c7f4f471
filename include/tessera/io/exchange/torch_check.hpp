// SPDX-License-Identifier: Apache-2.0
// What a program for PyTorch carries of its first steps, so that it can say by itself whether it still takes them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/backend/torch/program.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/measure/synthetic_batch.hpp"
#include "tessera/execute/session.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io::detail {

/// CRC-32 (ISO 3309), as Python's zlib.crc32 has it.
std::uint32_t crc_of(std::string_view bytes);

/// Iterations of all loops of a training step, about: forward and twice as many backward.
double iterations_of(const graph_view& g);

/// Takes `steps` steps of a strategy on made-up samples with the reference backend, on a thread for each device, and
/// keeps their losses and the norms of their gradients in `p`; where that would take more than `most` iterations of
/// loops, or the backend cannot, it keeps why not.
void record_first_steps(torch::program& p, const graph_view& g, const strategy_view& s, int devices,
                        const optimizer& update, std::uint64_t seed, int steps, double most,
                        function_ref<std::vector<float>(int)> values_of);

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/torch_check.inl"
#endif

#include "tessera/base/end_header.inl"
