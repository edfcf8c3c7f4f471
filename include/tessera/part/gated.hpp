// SPDX-License-Identifier: Apache-2.0
// Gated feed-forward networks (Shazeer 2020, "GLU Variants Improve Transformer").
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/gate.hpp"

namespace tessera {

/// down(silu(gate(x)) * up(x)): Gate and Up are linear layers of as many outputs, Down is one that comes last; each may
/// be a part that ends in one.
template <class Gate, class Up, class Down>
struct swiglu : branch<branches<silu_gate, branch<Gate>, branch<Up>>, Down> {};
/// The same with gelu, and with relu.
template <class Gate, class Up, class Down>
struct geglu : branch<branches<gelu_gate, branch<Gate>, branch<Up>>, Down> {};
template <class Gate, class Up, class Down>
struct reglu : branch<branches<relu_gate, branch<Gate>, branch<Up>>, Down> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
