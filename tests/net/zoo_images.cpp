// SPDX-License-Identifier: Apache-2.0
// Networks for images have the numbers that are published for them. torchvision's are `num_params` and `_ops` (billions
// of multiply-adds for one image) of the weights' descriptions in torchvision/models.
#include "examples/networks.hpp"
#include "examples/zoo/zoo.hpp"
#include "support/counts.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace {

using namespace test_support;

void check(const std::string& name, ts::index_t parameters, double giga_multiply_adds) {
    CAPTURE(name);
    const ts::graph network = networks::describe(name, 1);
    CHECK(trained_parameters(network.view()) == parameters);
    // _ops has three or four digits.
    CHECK(static_cast<double>(multiply_adds(network.view())) / 1e9 ==
          doctest::Approx(giga_multiply_adds).epsilon(0.002));
}

int count(const ts::graph& g, ts::op_kind kind) {
    int found = 0;
    for (const ts::op_node& op : g.ops) {
        found += op.attributes.kind == kind ? 1 : 0;
    }
    return found;
}

/// Layers with weights, as papers count them.
int layers(const ts::graph& g) {
    return count(g, ts::op_kind::conv2d) + count(g, ts::op_kind::transposed_conv2d) + count(g, ts::op_kind::linear);
}

double millions(const std::string& name) {
    const ts::graph network = networks::describe(name, 1);
    return static_cast<double>(trained_parameters(network.view())) / 1e6;
}

// LeCun et al. 1998, layer by layer, with all of conv2's connections: 156 + 2,416 + 48,120 + 10,164 + 850.
static_assert(trained_parameters(ts::describe<networks::lenet5, 1>()) == 61706);

} // namespace

TEST_CASE("networks for ImageNet have torchvision's parameters and multiply-adds") {
    check("alexnet", 61100840, 0.714);
    check("vgg16", 138357544, 15.47);
    check("vgg19", 143667240, 19.632);
    check("resnet50", 25557032, 4.089);
    check("resnet101", 44549160, 7.801);
    check("densenet121", 7978856, 2.834);
    check("resnext50", 25028904, 4.230);
    check("vit_b_16", 86567656, 17.564);
    check("efficientnet_b0", 5288548, 0.3858); // _ops is 0.386
    // Without the auxiliary classifier: two convolutions with batch norm and a linear layer.
    const ts::index_t auxiliary = 768 * 128 + 2 * 128 + 128 * 768 * 25 + 2 * 768 + 768 * 1000 + 1000;
    check("inception_v3", 27161264 - auxiliary, 5.713);
    CHECK(count(networks::describe("resnet50", 1), ts::op_kind::conv2d) == 53);
}

TEST_CASE("ResNeXt-29 has the parameters of Xie et al. 2017, table 7") {
    CHECK(millions("resnext29") == doctest::Approx(34.4).epsilon(0.002));
}

TEST_CASE("EfficientNet-B0 drops more samples the deeper a block is, up to a fifth") {
    const ts::graph g = networks::describe("efficientnet_b0", 1);
    ts::index_t last = 0;
    int blocks = 0;
    for (const ts::op_node& op : g.ops) {
        if (op.attributes.kind == ts::op_kind::stochastic_depth) {
            const ts::index_t percent = op.attributes.as<ts::op::dropout_attributes>().percent;
            CHECK(percent > last);
            last = percent;
            ++blocks;
        }
    }
    CHECK(blocks == 16 - 7); // but the first of each stage
    CHECK(last == 18);       // of block 14, 20 * 14 / 16: block 15 does not go round itself
}

TEST_CASE("pre-activation ResNets have the parameters of He et al. 2016b, table 4") {
    CHECK(millions("resnet164_v2") == doctest::Approx(1.7).epsilon(0.02));
    CHECK(millions("resnet1001_v2") == doctest::Approx(10.2).epsilon(0.02));
    // And a projection in each of the three stages.
    CHECK(layers(networks::describe("resnet1001_v2", 1)) == 1001 + 3);
    CHECK(layers(networks::describe("resnet164_v2", 1)) == 164 + 3);
    CHECK(layers(networks::describe("resnet110_v2", 1)) == 110 + 3);
}

TEST_CASE("U-Net has 23 convolutional layers and maps 572 x 572 pixels to 388 x 388 labels") {
    const ts::graph paper = networks::describe("unet", 1);
    CHECK(layers(paper) == 23); // Ronneberger et al. 2015, section 2
    CHECK(paper.tensors[ts::to_size(paper.ops.back().output)].extents == ts::make_shape(1, 388, 388));
    // What public implementations of the paper's figure count (tf_unet with 5 layers of 64 features, for one).
    CHECK(trained_parameters(paper.view()) == 31030658);
    // Level by level: two convolutions down, an up-convolution to half the channels and two convolutions back, at 256 x
    // 256 pixels.
    ts::index_t expected = 64 * 2 * 256 * 256;
    for (ts::index_t level = 0, width = 64, in = 3, pixels = 256 * 256; level < 5; ++level) {
        expected += 9 * pixels * (in * width + width * width);
        if (level < 4) {
            expected += pixels * 2 * width * width + 9 * pixels * (2 * width * width + width * width);
        }
        in = width;
        width *= 2;
        pixels /= 4;
    }
    CHECK(multiply_adds(networks::describe("padded_unet", 1).view()) == expected);
}

TEST_CASE("AmoebaNet-D has the parameters of Huang et al. 2019 (GPipe), table 1") {
    CHECK(millions("amoebanet_d_18_208") == doctest::Approx(82).epsilon(0.01));
    CHECK(millions("amoebanet_d_18_416") == doctest::Approx(318).epsilon(0.005));
    CHECK(millions("amoebanet_d_18_544") == doctest::Approx(542).epsilon(0.005));
    CHECK(millions("amoebanet_d_36_544") == doctest::Approx(1050).epsilon(0.01));
    CHECK(millions("amoebanet_d_72_512") == doctest::Approx(1800).epsilon(0.03));
    const ts::graph cells = networks::describe("amoebanet_d_18_208", 1);
    CHECK(count(cells, ts::op_kind::concat) ==
          18 + 4 + 4); // a result for every cell, and halves where the cell before reduced
}

TEST_CASE("the zoo finds its networks by name, and says which it has") {
    std::set<std::string> names;
    for (const networks::zoo_entry& e : networks::zoo()) {
        CHECK(names.insert(e.name).second);
    }
    for (const networks::zoo_entry& e : networks::zoo_shallow()) {
        CHECK(names.count(e.name) == 1);
        CHECK(e.describe(2).ops.size() < networks::describe(e.name, 2).ops.size());
    }
    try {
        networks::describe("vgg17", 1);
        FAIL("there is no such network");
    } catch (const ts::error& e) {
        CHECK(std::string(e.what()).find("vgg17") != std::string::npos);
        CHECK(std::string(e.what()).find("vgg16") != std::string::npos);
    }
}
