// SPDX-License-Identifier: Apache-2.0
// A plan that is ready to run, with what it is of.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/executor.hpp"
#include "tessera/execute/session/run_key.hpp"
#include "tessera/plan/fuse.hpp"

#include <vector>

namespace tessera::detail {

template <class B>
struct ready_run {
    run_key key;
    fused_network planned;
    executor<B> runner;
    std::vector<int> staleness{}; ///< by step
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
