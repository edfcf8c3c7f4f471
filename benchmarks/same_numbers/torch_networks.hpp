// SPDX-License-Identifier: Apache-2.0
// Small versions of networks of the zoo, to hold against PyTorch's: of the same types as those of published size,
// without dropout, whose numbers no two libraries draw alike.
#pragma once

#include "examples/zoo/efficientnet.hpp"
#include "examples/zoo/llama.hpp"
#include "examples/zoo/padded.hpp"
#include "examples/zoo/residual.hpp"
#include "examples/zoo/towers.hpp"
#include "examples/zoo/unet.hpp"
#include "examples/zoo/vision_transformer.hpp"

namespace torch_networks {

namespace n = networks;

using resnext = n::small_resnext<12, 3, 10, 2, 16, 32, 64, 8>;
using efficientnet = n::efficientnet_parts<32, 3, 10, 0, 8, 32, n::mbconv_stage<1, 8, 1, 3, 1>,
                                           n::mbconv_stage<2, 12, 6, 3, 2>, n::mbconv_stage<2, 16, 6, 5, 2>>::network;
using vit = n::vit_parts<16, 4, 2, 32, 4, 10>::network;
using gpt = n::llama_parts<2, 32, 4, 88, 16, 60>::network;
using unet = n::unet_parts<16, 3, 3, 8, 2, true, 0>::network;
using two_towers = n::two_towers_parts<40, 6, 12, 24, 16, 5>::network;
using contrastive_towers = n::contrastive_towers_parts<40, 6, 12, 24, 16>::network;
using padded_gru = n::padded_gru_parts<7, 5, 30, 12, 16>::network;
using padded_lstm = n::padded_lstm_parts<7, 30, 12, 16, 4>::network;

} // namespace torch_networks
