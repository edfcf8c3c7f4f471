// SPDX-License-Identifier: Apache-2.0
// Networks for images have the numbers that are published for them. torchvision's are `num_params` and `_ops` (billions of
// multiply-adds for one image) of the weights' descriptions in torchvision/models.
#include "examples/networks.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/residual.hpp"
#include "support/counts.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using namespace test_support;

void check(const std::string& name, const ts::graph& network, ts::index_t parameters, double giga_multiply_adds) {
    CAPTURE(name);
    CHECK(trained_parameters(network.view()) == parameters);
    // _ops has three or four digits.
    CHECK(static_cast<double>(multiply_adds(network.view())) / 1e9 ==
          doctest::Approx(giga_multiply_adds).epsilon(0.002));
}

// LeCun et al. 1998, layer by layer, with all of conv2's connections: 156 + 2,416 + 48,120 + 10,164 + 850.
static_assert(trained_parameters(ts::describe<networks::lenet5, 1>()) == 61706);
static_assert(trained_parameters(ts::describe<networks::alexnet, 1>()) == 61100840);
static_assert(trained_parameters(ts::describe<networks::vgg16, 1>()) == 138357544);
static_assert(trained_parameters(ts::describe<networks::vgg19, 1>()) == 143667240);

} // namespace

TEST_CASE("networks for ImageNet have torchvision's parameters and multiply-adds") {
    check("AlexNet", ts::describe<networks::alexnet>(1), 61100840, 0.714);
    check("VGG-16", ts::describe<networks::vgg16>(1), 138357544, 15.47);
    check("VGG-19", ts::describe<networks::vgg19>(1), 143667240, 19.632);
    check("ResNet-50", ts::describe<networks::resnet50>(1), 25557032, 4.089);
    check("ResNet-101", ts::describe<networks::resnet101>(1), 44549160, 7.801);
    check("DenseNet-121", ts::describe<networks::densenet121>(1), 7978856, 2.834);
    // Without the auxiliary classifier: two convolutions with batch norm and a linear layer.
    const ts::index_t auxiliary = 768 * 128 + 2 * 128 + 128 * 768 * 25 + 2 * 768 + 768 * 1000 + 1000;
    check("Inception-v3", ts::describe<networks::inception_v3>(1), 27161264 - auxiliary, 5.713);
}

TEST_CASE("pre-activation ResNets have the parameters of He et al. 2016b, table 4") {
    const auto millions = [](const ts::graph& g) { return static_cast<double>(trained_parameters(g.view())) / 1e6; };
    CHECK(millions(ts::describe<networks::resnet164_v2>(1)) == doctest::Approx(1.7).epsilon(0.02));
    const ts::graph deepest = ts::describe<networks::resnet1001_v2>(1);
    CHECK(millions(deepest) == doctest::Approx(10.2).epsilon(0.02));
    int layers = 0;
    for (const ts::op_node& op : deepest.ops) {
        const ts::op_kind kind = op.attributes.kind;
        layers += kind == ts::op_kind::conv2d || kind == ts::op_kind::linear ? 1 : 0;
    }
    CHECK(layers == 1001 + 3); // and a projection in each of the three stages
}
