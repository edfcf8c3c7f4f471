// SPDX-License-Identifier: Apache-2.0
// What most tests of sessions would each compile again is compiled once, in the instances_*.cpp beside this file. Their precompiled header
// includes this one.
#pragma once

#include "sweep.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/plan/verify/verify.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

namespace tessera {

extern template plan lower<lower_options>(const graph_view&, const strategy_view&, int, const lower_options&);
extern template verdict verify<plan>(const graph_view&, const plan&, index_t, const optimizer*);
extern template class session<reference::backend>;
#ifdef TESSERA_TEST_HOST
extern template class host::basic_backend<plan>;
extern template class session<host::backend>;
#endif

} // namespace tessera

namespace test_support {

extern template oracle::oracle(const ts::graph_view&, const batch_data&, const ts::optimizer&, int, std::uint64_t, int,
                               double, const std::vector<std::vector<ts::reference::network::replica>>&);
extern template std::vector<sweep_case> sweep_cases<sweep_case>();

} // namespace test_support
