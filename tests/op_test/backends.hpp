// SPDX-License-Identifier: Apache-2.0
// The backends of the runner: what each is held against, and what it takes.
#pragma once

#include "op_test/task.hpp"

#include <vector>

namespace op_test {

struct backend {
    std::string name{};
    std::string against{};                   ///< what its numbers are held against
    std::vector<ts::precision> precisions{}; ///< that it takes
    std::array<bool, parts> has{true, true, true};
    std::string missing{}; ///< why it cannot run here; empty: it can
    void (*run)(const task&, outcome&) = nullptr;
    const row* wrong = nullptr; ///< an operator that this backend computes wrong by intent: a test of the runner
    std::string refused{};      ///< part of the names of operators that it refuses by name, which do not run then
};

backend reference_backend();
backend host_backend();
backend cuda_make_believe_backend();
backend cuda_backend();

} // namespace op_test
