# SPDX-License-Identifier: Apache-2.0
"""From a module of PyTorch to a plan for 16 P100, in ten lines for each network.

    python ten_lines.py            names the networks
    python ten_lines.py resnet50   plans one, prints its plan and writes its files into the folder resnet50

torchvision's networks, and HuggingFace's GPT-2 and BERT from configurations; nothing is downloaded.
"""

import sys

import torch

import tessera


def vision(name, size=224):
    import torchvision

    return getattr(torchvision.models, name)(), (torch.randn(2, 3, size, size),)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(use_cache=False)), (torch.randint(0, 50257, (2, 128)),)


def bert():
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(BertConfig()), (torch.randint(1, 30522, (2, 128)),)


NETWORKS = {
    "alexnet": lambda: vision("alexnet"),
    "vgg16": lambda: vision("vgg16"),
    "resnet50": lambda: vision("resnet50"),
    "inception_v3": lambda: vision("inception_v3", 299),
    "densenet121": lambda: vision("densenet121"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"),
    "efficientnet_b0": lambda: vision("efficientnet_b0"),
    "vit_b_16": lambda: vision("vit_b_16"),
    "gpt2": gpt2,
    "bert": bert,
}


def main(name):
    module, batch = NETWORKS[name]()
    plan = tessera.plan(module, batch, machine="p100", nodes=4, batch=512)
    print(plan)
    print(f"{plan.step_seconds * 1e3:.1f} ms a step; {plan.bound}")
    plan.write(name)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in NETWORKS:
        main(sys.argv[1])
    else:
        print("networks:", *NETWORKS)
