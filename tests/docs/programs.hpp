// SPDX-License-Identifier: Apache-2.0
// What the programs of docs/network_programs.md are tried with: numbers for batches, and a training on two devices
// beside one on one.
#pragma once

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/tessera.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace docs_support {

namespace ts = tessera;

/// So many numbers from -1 to 1, the same in every run.
inline std::vector<float> numbers(std::size_t count) {
    std::vector<float> all(count);
    std::uint32_t x = 1;
    for (float& each : all) {
        x = x * 1664525U + 1013904223U;
        each = static_cast<float>(x >> 8U) / 8388608.0F - 1;
    }
    return all;
}
/// So many integers from 0 to below `kinds`.
inline std::vector<std::int32_t> integers(std::size_t count, std::int32_t kinds) {
    std::vector<std::int32_t> all(count);
    std::uint32_t x = 7;
    for (std::int32_t& each : all) {
        x = x * 1664525U + 1013904223U;
        each = static_cast<std::int32_t>((x >> 8U) % static_cast<std::uint32_t>(kinds));
    }
    return all;
}

/// Steps of one batch under a strategy are those of one device, and learn it. `step` is what a program does with its
/// batch.
template <class Net, class Strategy, int Samples, class Step>
void for_training(Step step, ts::optimizer how = ts::adam{.learning_rate = 0.005F}) {
    ts::trainer<Net, ts::reference::backend> trainer(ts::local_devices(2), Strategy{}, how);
    ts::trainer<Net, ts::reference::backend> one(ts::local_devices(1), ts::strategy_of<Net, 1, Samples>{}, how);
    double first = 0;
    double last = 0;
    for (int i = 0; i < 3; ++i) {
        last = static_cast<double>(step(trainer));
        CHECK(last == doctest::Approx(static_cast<double>(step(one))).epsilon(2e-3));
        first = i == 0 ? last : first;
    }
    CHECK(std::isfinite(first));
    CHECK(last < first);
}

} // namespace docs_support
