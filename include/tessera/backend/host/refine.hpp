// SPDX-License-Identifier: Apache-2.0
// refine() on the host, beside tessera/host.hpp, which leaves it out for what it costs to include: strategies measured
// against each other, with predictions from measured tasks and a search that goes on from them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/measured_tasks.hpp"
#include "tessera/execute/measure/refine.hpp"

#include "tessera/base/end_header.inl"
