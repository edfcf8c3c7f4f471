#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses of three training steps against PyTorch's: the same networks, parameters, batches and optimizer.

  against_torch.py PROGRAM FOLDER [NETWORK...]     (PROGRAM: build/.../benchmarks/same_numbers/torch_networks)

The networks are written here with PyTorch's own modules and functions where it has them (nn.LSTM, scaled dot product attention, a
convolution for a vision transformer's patches, a product that spreads what a channel is excited by), whatever detour Tessera takes. SGD
with a rate of 0.05 and a momentum of 0.9, float32 on both sides; PyTorch in float64 shows what is rounding. Prints the largest relative
difference of the losses; the exit code is 1 where one exceeds 1e-5. Needs torch and numpy.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ALLOWED = 1e-5


class Parameters:
    """What a file holds, taken in the order of the network."""

    def __init__(self, named, real):
        self.tensors = []
        for _, trained, value in named:
            value = torch.tensor(value, dtype=real)
            self.tensors.append(value.requires_grad_(trained))
        self.at = 0

    def take(self, count=1):
        self.at += count
        taken = self.tensors[self.at - count:self.at]
        return taken[0] if count == 1 else taken

    def linear(self, x):
        return F.linear(x, *self.take(2))

    def conv(self, x, bias=True, **how):
        return F.conv2d(x, self.take(), self.take() if bias else None, **how)

    def batch_norm(self, x):
        weight, bias, _ = self.take(3)
        return F.batch_norm(x, None, None, weight, bias, training=True)

    def layer_norm(self, x):
        weight, bias = self.take(2)
        return F.layer_norm(x, x.shape[-1:], weight, bias)


def lstm(p, words):
    x = F.embedding(words, p.take())
    weights = [p.take(4), p.take(4)]  # of each cell: from the input, from the hidden state, each with its bias
    module = nn.LSTM(12, 16, num_layers=2, batch_first=True).to(x.dtype)
    names = [(f"weight_ih_l{k}", f"bias_ih_l{k}", f"weight_hh_l{k}", f"bias_hh_l{k}") for k in range(2)]
    values = {name: value for some, cell in zip(names, weights) for name, value in zip(some, cell)}
    out, _ = torch.func.functional_call(module, values, (x,))
    return p.linear(out).transpose(1, 2)


def resnext(p, x):
    x = F.relu(p.batch_norm(p.conv(x, bias=False, padding=1)))
    for stride, projects in ((1, True), (1, False), (2, True)):
        y = F.relu(p.batch_norm(p.conv(x, bias=False)))
        y = F.relu(p.batch_norm(p.conv(y, bias=False, padding=1, stride=stride, groups=8)))
        y = p.batch_norm(p.conv(y, bias=False))
        x = F.relu(y + (p.batch_norm(p.conv(x, bias=False, stride=stride)) if projects else x))
    return p.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


def transformer(p, x, causal):
    for _ in range(2):
        y = p.layer_norm(x)
        q, k, v = (p.linear(y).unflatten(-1, (4, -1)).transpose(1, 2) for _ in range(3))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)
        x = x + p.linear(y)
        y = F.gelu(p.linear(p.layer_norm(x)))
        x = x + p.linear(y)
    return p.layer_norm(x)


def vit(p, patches):
    n = patches.shape[0]
    images = F.fold(patches[:, 1:].transpose(1, 2), (16, 16), 4, stride=4)
    weight, bias = p.take(2)
    x = F.conv2d(images, weight.reshape(32, 3, 4, 4), bias, stride=4).flatten(2).transpose(1, 2)
    x = torch.cat([bias.expand(n, 1, 32), x], dim=1) + p.take()
    return p.linear(transformer(p, x, False)[:, 0]).unsqueeze(2)


def gpt(p, words):
    table = p.take()
    x = F.embedding(words, table) + p.take()
    return F.linear(transformer(p, x, True), table).transpose(1, 2)


def unet(p, x):
    def two(x):
        return F.relu(p.conv(F.relu(p.conv(x, padding=1)), padding=1))

    def up(x):
        weight, bias = p.take(2)
        return F.conv_transpose2d(x, weight, bias, stride=2)

    above = two(x)
    middle = two(F.max_pool2d(above, 2))
    below = two(F.max_pool2d(middle, 2))
    middle = two(torch.cat([middle, up(below)], dim=1))
    return p.conv(two(torch.cat([above, up(middle)], dim=1)))


def mbconv(p, x):
    x = F.silu(p.batch_norm(p.conv(x, bias=False, stride=2, padding=1)))
    y = F.silu(p.batch_norm(p.conv(x, bias=False)))
    y = F.silu(p.batch_norm(p.conv(y, bias=False, padding=1, groups=32)))
    excited = torch.sigmoid(p.conv(F.silu(p.conv(F.adaptive_avg_pool2d(y, 1)))))
    p.take()  # what spreads it
    x = x + p.batch_norm(p.conv(y * excited, bias=False))
    return p.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


NETWORKS = {"lstm": lstm, "resnext": resnext, "vit": vit, "gpt": gpt, "unet": unet, "mbconv": mbconv}


def read(folder, name):
    """Parameters as (path, trained, values), batches of two inputs each, losses."""
    data = (folder / f"{name}.bin").read_bytes()
    at = 0
    parameters, inputs, losses = [], [], []
    for line in (folder / f"{name}.txt").read_text().splitlines():
        kind, *rest = line.split()
        if kind == "loss":
            losses.append(float(rest[0]))
            continue
        path, trained = (rest.pop(0), rest.pop(0) == "trained") if kind == "parameter" else ("", False)
        extents = [int(e) for e in rest]
        values = np.frombuffer(data, np.int32 if kind == "integers" else np.float32, int(np.prod(extents)), at)
        at += values.nbytes
        values = values.reshape(extents)
        parameters.append((path, trained, values)) if kind == "parameter" else inputs.append(values)
    return parameters, list(zip(inputs[::2], inputs[1::2])), losses


def train(name, parameters, batches, real):
    p = Parameters(parameters, real)
    optimizer = torch.optim.SGD([t for t in p.tensors if t.requires_grad], lr=0.05, momentum=0.9)
    losses = []
    for x, labels in batches:
        x = torch.tensor(x)
        p.at = 0
        scores = NETWORKS[name](p, x if x.dtype == torch.int32 else x.to(real))
        if p.at != len(p.tensors):
            sys.exit(f"against_torch: {name} has {len(p.tensors)} parameters here, {p.at} in PyTorch")
        loss = F.cross_entropy(scores, torch.tensor(labels).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def apart(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


def main():
    if len(sys.argv) < 3 or any(n not in NETWORKS for n in sys.argv[3:]):
        sys.exit(f"usage: against_torch.py PROGRAM FOLDER [NETWORK...]; networks: {', '.join(NETWORKS)}")
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    print(f"PyTorch {torch.__version__}, float32; losses of three steps, largest relative differences")
    print(f"{'network':<10} {'parameters':>10} {'first loss':>11} {'third':>9} {'from PyTorch':>13} {'float64':>9} "
          f"{'PyTorch from float64':>21}")
    for name in sys.argv[3:] or NETWORKS:
        subprocess.run([sys.argv[1], name, str(folder)], check=True)
        parameters, batches, losses = read(folder, name)
        single = train(name, parameters, batches, torch.float32)
        double = train(name, parameters, batches, torch.float64)
        count = sum(v.size for _, trained, v in parameters if trained)
        print(f"{name:<10} {count:>10} {losses[0]:>11.6f} {losses[2]:>9.6f} {apart(losses, single):>13.1e} "
              f"{apart(losses, double):>9.1e} {apart(single, double):>21.1e}")
        worst = max(worst, apart(losses, single))
    sys.exit(0 if worst <= ALLOWED else f"against_torch: {worst:.1e} is more than {ALLOWED:.0e}")


if __name__ == "__main__":
    main()
