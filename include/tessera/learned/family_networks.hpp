// SPDX-License-Identifier: Apache-2.0
// The networks of the generated families: cells of convolutions in a stack, encoder and decoder with attention,
// recurrent cells unrolled.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/family_costs.hpp"

namespace tessera::learned::detail {

int one_of(random_numbers& pick, const std::vector<int>& values);

/// One operator of a cell of convolutions on [batch, channels, side, side]: a separable convolution of 3 or 5, a
/// pooling of 3, or nothing done.
int cell_operator(family_writer& w, const std::string& name, int from, int kind, double batch, double channels,
                  double side);

/// Cells as ENAS finds them (Pham et al. 2018, section 2.4, as recalled): every block of a cell adds what two operators
/// make of two of the cell's inputs or of earlier blocks; blocks that nobody reads are concatenated. All cells of a
/// network are alike, but that two of them halve the images and double the channels. Every cell reads the two before
/// it. 32 x 32 images.
cost_graph image_cells(const std::string& name, random_numbers& pick, const family_device& d);

/// A step of an LSTM layer of this width, whose weights are a node.
int lstm_step(family_writer& w, const std::string& name, std::vector<int> from, int weights, double batch,
              double width);

/// Encoder and decoder of LSTM layers with attention over all that the encoder made, unrolled, as in Placeto's family
/// of NMT: members differ in unroll length and batch.
cost_graph translation(const std::string& name, random_numbers& pick, const family_device& d);

/// Recurrent cells as ENAS finds them (section 2.1, as recalled): every node of a cell reads one earlier node through a
/// gate; the mean of the nodes that nobody reads is the state. Unrolled, with a projection to words at every step.
cost_graph language_cells(const std::string& name, random_numbers& pick, const family_device& d);

} // namespace tessera::learned::detail

#ifndef TESSERA_COMPILED
#include "tessera/learned/family_networks.inl"
#endif

#include "tessera/base/end_header.inl"
