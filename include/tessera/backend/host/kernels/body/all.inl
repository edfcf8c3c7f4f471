// SPDX-License-Identifier: Apache-2.0
// What every instruction set has besides its tiles; see vector.hpp.
#include "transpose.inl"

#include "lanes.inl"

#include "elementwise.inl"

#include "pool.inl"

#include "optimizer.inl"

#include "activation.inl"

#include "expression.inl"

#include "attention.inl"

#include "steps.inl"

#include "nest.inl"

#include "row_norm.inl"

#include "rotary.inl"

#include "row_loss.inl"
