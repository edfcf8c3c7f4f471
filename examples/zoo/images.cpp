// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/efficientnet.hpp"
#include "examples/zoo/residual.hpp"
#include "examples/zoo/unet.hpp"
#include "examples/zoo/vgg19.hpp"
#include "examples/zoo/vision_transformer.hpp"
#include "examples/zoo/whisper.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/net/describe.hpp"

namespace networks {

std::span<const zoo_entry> zoo_images() {
    static constexpr zoo_entry all[] = {
        {"lenet5", "LeNet-5 (LeCun et al. 1998), 28 x 28", ts::describe_at_run_time<lenet5>},
        {"alexnet", "AlexNet (Krizhevsky 2014), 224 x 224", ts::describe_at_run_time<alexnet>},
        {"vgg16", "VGG-16 (Simonyan and Zisserman 2015), 224 x 224", ts::describe_at_run_time<vgg16>},
        {"vgg19", "VGG-19, 224 x 224", ts::describe_at_run_time<vgg19>},
        {"resnet50", "ResNet-50 (He et al. 2016), 224 x 224", ts::describe_at_run_time<resnet50>},
        {"resnet101", "ResNet-101, 224 x 224", ts::describe_at_run_time<resnet101>},
        {"resnext50", "ResNeXt-50 (Xie et al. 2017), 32 groups of 4, 224 x 224", ts::describe_at_run_time<resnext50>},
        {"resnext29", "ResNeXt-29, 8 groups of 64, 32 x 32", ts::describe_at_run_time<resnext29>},
        {"efficientnet_b0", "EfficientNet-B0 (Tan and Le 2019), 224 x 224", ts::describe_at_run_time<efficientnet_b0>},
        {"vit_b_16", "ViT-B/16 (Dosovitskiy et al. 2021), 224 x 224", ts::describe_at_run_time<vit_b_16>},
        {"resnet110_v2", "ResNet-110 with pre-activation and bottlenecks (He et al. 2016b), 32 x 32",
         ts::describe_at_run_time<resnet110_v2>},
        {"resnet164_v2", "ResNet-164, 32 x 32", ts::describe_at_run_time<resnet164_v2>},
        {"resnet1001_v2", "ResNet-1001, 32 x 32", ts::describe_at_run_time<resnet1001_v2>},
        {"densenet121", "DenseNet-121 (Huang et al. 2017), 224 x 224", ts::describe_at_run_time<densenet121>},
        {"unet", "U-Net (Ronneberger et al. 2015), 572 x 572 without padding", ts::describe_at_run_time<unet>},
        {"padded_unet", "U-Net with padding, 256 x 256", ts::describe_at_run_time<padded_unet<256>>},
    };
    return all;
}

std::vector<const tessera::op_record*> zoo_operators() {
    return {class_token::attributes.kind.record, sinusoids::attributes.kind.record};
}

} // namespace networks
