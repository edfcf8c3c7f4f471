// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

namespace test_support {

template oracle::oracle(const ts::graph_view&, const batch_data&, const ts::optimizer&, int, std::uint64_t, int, double,
                        const std::vector<std::vector<ts::reference::network::replica>>&);
template std::vector<sweep_case> sweep_cases<sweep_case>();

} // namespace test_support
