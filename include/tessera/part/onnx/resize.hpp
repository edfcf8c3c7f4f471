// SPDX-License-Identifier: Apache-2.0
// Images made larger, and blocks of channels as pixels.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/layers.hpp"

namespace tessera::onnx {

namespace nodes {

/// Images made larger by whole factors.
void resize(call& c);

/// Blocks of channels as pixels, and the other way round.
void depth_and_space(call& c);

} // namespace nodes

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/resize.inl"
#endif

#include "tessera/base/end_header.inl"
