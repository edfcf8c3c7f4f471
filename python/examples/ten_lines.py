# SPDX-License-Identifier: Apache-2.0
"""From a module of PyTorch to a plan for 16 P100, and to a run on two ranks of this machine: ten lines for any network.

    python ten_lines.py                names the networks
    python ten_lines.py resnet50       plans one, prints its plan, writes its files and its program into the folder resnet50
    python ten_lines.py resnet50 run   plans one for two devices and trains it on two ranks of this machine

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


def plan(name):
    module, batch = NETWORKS[name]()
    plan = tessera.plan(module, batch, machine="p100", nodes=4, batch=512)
    print(plan)
    print(f"{plan.step_seconds * 1e3:.1f} ms a step; {plan.bound}")
    plan.write(name)  # network.json, strategy.json, report.html
    print(plan.export_torch(f"{name}/program"))  # for torchrun, on 16 GPUs


def run(name):
    module, batch = NETWORKS[name]()
    plan = tessera.plan(module, batch, machine="p100", devices=2, search="data")
    program = plan.export_torch(f"{name}/on_two", learning_rate=1e-3)
    shape = program.inputs["labels"][0]
    samples = dict(zip(program.inputs, (*batch, torch.randint(0, 10, shape))))
    for step, loss in enumerate(program.train(samples, steps=3, save=f"{name}/trained.safetensors")):
        print(f"step {step}: loss {loss:.6f}")
    plan.network.load_weights(module, f"{name}/trained.safetensors")


if __name__ == "__main__":
    if len(sys.argv) in (2, 3) and sys.argv[1] in NETWORKS and sys.argv[2:] in ([], ["run"]):
        run(sys.argv[1]) if sys.argv[2:] else plan(sys.argv[1])
    else:
        print("networks:", *NETWORKS)
