// SPDX-License-Identifier: Apache-2.0
// What the tests of grids plan: GPTs of few narrow layers, trained with Adam.
#pragma once

#include "examples/zoo/transformers.hpp"
#include "tessera/plan/lower/lower.hpp"

namespace test_networks {

template <int Layers>
using small_gpt = networks::gpt<Layers, 256, 8, 64>;

} // namespace test_networks

namespace test_support {

inline tessera::lower_options with_adam() {
    tessera::lower_options o;
    o.update = tessera::optimizer(tessera::adam{});
    return o;
}

} // namespace test_support
