// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"
#include "examples/zoo/residual.hpp"

void planner::add_residual_networks(std::vector<network>& all) {
    all.push_back({"resnet50", "ResNet-50 (He et al. 2016)", 32, ts::describe<networks::resnet50>});
    all.push_back({"resnet101", "ResNet-101", 32, ts::describe<networks::resnet101>});
    all.push_back(
        {"resnet110_v2", "pre-activation ResNet-110 for 32 x 32 images", 64, ts::describe<networks::resnet110_v2>});
    all.push_back({"densenet121", "DenseNet-121 (Huang et al. 2017)", 32, ts::describe<networks::densenet121>});
}
