// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"
#include "examples/zoo/inception.hpp"

void planner::add_image_networks(std::vector<network>& all) {
    all.push_back({"lenet5", "LeNet-5 for 28 x 28 grey images", 64, ts::describe<networks::lenet5>});
    all.push_back({"alexnet", "AlexNet (Krizhevsky 2014) for 224 x 224 images", 32, ts::describe<networks::alexnet>});
    all.push_back({"vgg16", "VGG-16 (Simonyan and Zisserman 2015)", 32, ts::describe<networks::vgg16>});
    all.push_back({"vgg19", "VGG-19", 32, ts::describe<networks::vgg19>});
}
