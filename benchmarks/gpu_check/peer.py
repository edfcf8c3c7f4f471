#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's training step for gpu_check: peer.py NETWORK BATCH prints two numbers, milliseconds eager and compiled.

The same layers, optimizer and precision: SGD with momentum, fp32 with TF32 off, algorithms chosen by measurement. A step begins with
the batch in pinned memory of the processor and ends when the loss is there. Channels-last is tried too; the faster counts.
"""
import statistics
import sys
import time

import torch
from torch import nn


def bottleneck(channels, width, stride):
    layers = [nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    layers += [nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))


class Block(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.narrow = bottleneck(channels, width, stride)
        self.project = None
        if stride != 1 or channels != 4 * width:
            self.project = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        return torch.relu(self.narrow(x) + (x if self.project is None else self.project(x)))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Block(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def vgg16():
    layers, channels = [], 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU()]
    return nn.Sequential(*layers, nn.Dropout(), nn.Linear(4096, 1000))


def alexnet():
    layers = [nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1)]
    layers += [nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(9216, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))


def lenet5():
    layers = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    return nn.Sequential(*layers)


def mlp():
    return nn.Sequential(nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10))


NETWORKS = {
    "lenet5": (lenet5, (1, 28, 28), 10),
    "mlp": (mlp, (784,), 10),
    "alexnet": (alexnet, (3, 224, 224), 1000),
    "resnet50": (resnet50, (3, 224, 224), 1000),
    "vgg16": (vgg16, (3, 224, 224), 1000),
}


def median_step(build, shape, classes, batch, compiles, channels_last):
    torch.manual_seed(1)
    model = build().cuda().train()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    run = torch.compile(model) if compiles else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    x = torch.randn(batch, *shape).pin_memory()
    y = torch.randint(classes, (batch,)).pin_memory()
    times = []
    for i in range(30):
        start = time.perf_counter()
        inputs, labels = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        if channels_last:
            inputs = inputs.to(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(run(inputs), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        torch.cuda.synchronize()
        if i >= 10:
            times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def main():
    build, shape, classes = NETWORKS[sys.argv[1]]
    batch = int(sys.argv[2])
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    layouts = (False, True) if len(shape) == 3 else (False,)
    best = [min(median_step(build, shape, classes, batch, compiles, last) for last in layouts) for compiles in (False, True)]
    print(*best)


if __name__ == "__main__":
    main()
