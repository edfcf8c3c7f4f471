// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/inception.hpp"
#include "examples/plan/plan.hpp"

void planner::add_inception(std::vector<network>& all) {
    all.push_back({"inception_v3", "Inception-v3 (Szegedy et al. 2016)", 32, ts::describe<networks::inception_v3>});
}
