#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's training step for gpu_check: peer.py NETWORK BATCH [fp32|tf32|bf16] [--cpu] prints two numbers, milliseconds eager and
compiled (0 where it does not compile).

The same layers, optimizer and precision: SGD with momentum; fp32 with TF32 off, with TF32 on, or autocast to bf16; algorithms chosen by
measurement. A step begins with the batch in pinned memory of the processor and ends when the loss is there. Images are tried
channels-last too; the faster counts. --eager: not compiled. --warm: compiles alone, which PyTorch keeps for the next time. --cpu: a few steps on the processor, to see that a network runs at all.
"""
import contextlib
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


class Attention(nn.Module):
    """Causal self-attention with three layers for query, key and value."""

    def __init__(self, width, heads):
        super().__init__()
        self.query, self.key, self.value, self.merge = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        n, t, w = x.shape
        q, k, v = (f(x).view(n, t, self.heads, w // self.heads).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.merge(y.transpose(1, 2).reshape(n, t, w))


class Gpt(nn.Module):
    """GPT-2 124M without dropout; the output layer is tied to the embedding."""

    def __init__(self, layers=12, width=768, heads=12, context=1024, vocabulary=50257):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.02)
        self.attention = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), Attention(width, heads)) for _ in range(layers))
        self.wide = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight
        for attention, wide in zip(self.attention, self.wide):
            x = x + attention(x)
            x = x + wide(x)
        return nn.functional.linear(self.norm(x), self.words.weight).flatten(0, 1)


NETWORKS = {
    "lenet5": (lenet5, (1, 28, 28), 10),
    "mlp": (mlp, (784,), 10),
    "alexnet": (alexnet, (3, 224, 224), 1000),
    "resnet50": (resnet50, (3, 224, 224), 1000),
    "vgg16": (vgg16, (3, 224, 224), 1000),
    "gpt2": (Gpt, (1024,), 50257),
}

WARM, STEPS = 10, 20  # that are not timed, and that are


def median_step(name, batch, precision, device, compiles, channels_last):
    build, shape, classes = NETWORKS[name]
    torch.manual_seed(1)
    model = build().to(device).train()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    run = torch.compile(model) if compiles else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    is_text = name == "gpt2"
    x = torch.randint(classes, (batch, *shape)) if is_text else torch.randn(batch, *shape)
    y = torch.randint(classes, (batch * shape[0] if is_text else batch,))
    if device == "cuda":
        x, y = x.pin_memory(), y.pin_memory()
    times = []
    for i in range(WARM + STEPS if device == "cuda" else 2):
        start = time.perf_counter()
        inputs, labels = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        if channels_last:
            inputs = inputs.to(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        low = torch.autocast(device, dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
        with low:
            loss = nn.functional.cross_entropy(run(inputs), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        if device == "cuda":
            torch.cuda.synchronize()
        if i >= (WARM if device == "cuda" else 1):
            times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def best_step(name, batch, precision, device, compiles):
    """The fastest over the layouts; 0 where none runs."""
    layouts = (False, True) if len(NETWORKS[name][1]) == 3 else (False,)
    times = []
    for last in layouts:
        try:
            times.append(median_step(name, batch, precision, device, compiles, last))
        except Exception as problem:  # a compiler that is missing must not hide the eager time
            print(f"peer.py: {name}, {'compiled' if compiles else 'eager'}: {type(problem).__name__}: {problem}", file=sys.stderr)
        if device == "cuda":
            torch.cuda.empty_cache()
    return min(times, default=0)


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    name, batch, precision = words[0], int(words[1]), words[2] if len(words) > 2 else "fp32"
    device = "cpu" if "--cpu" in sys.argv else "cuda"
    torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.benchmark = True
    if "--warm" in sys.argv:
        global WARM, STEPS
        WARM, STEPS = 1, 1
    eager = best_step(name, batch, precision, device, False) if "--warm" not in sys.argv else 0
    compiled = best_step(name, batch, precision, device, True) if device == "cuda" and "--eager" not in sys.argv else 0
    print(eager, compiled)


if __name__ == "__main__":
    main()
