// SPDX-License-Identifier: Apache-2.0
// The trainer with the session that plans and runs in this process.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/session.hpp"
#include "tessera/execute/typed_trainer.hpp"

#include "tessera/base/end_header.inl"
