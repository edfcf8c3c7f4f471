// SPDX-License-Identifier: Apache-2.0
// What most tests of sessions would each compile again is compiled once, in the instances_*.cpp beside this file. Their
// precompiled header includes this one.
#pragma once

#include "sweep.hpp"

#include "tessera/backend/reference/backend.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

extern template class tessera::session<tessera::reference::backend>;

namespace test_support {

extern template oracle::oracle(const ts::graph_view&, const batch_data&, const ts::optimizer&, int, std::uint64_t, int,
                               double, const std::vector<std::vector<ts::reference::network::replica>>&);
extern template std::vector<sweep_case> sweep_cases<sweep_case>();

} // namespace test_support
