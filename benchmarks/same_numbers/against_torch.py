#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses of three training steps against PyTorch's: the same networks, parameters, batches and optimizer.

  against_torch.py PROGRAM FOLDER [NETWORK...]     (PROGRAM: build/.../benchmarks/same_numbers/torch_networks)

The networks are written here with PyTorch's own modules and functions where it has them: nn.LSTM and nn.GRU over packed sequences, scaled dot
product attention, rms_norm; rotary positions are products of complex numbers. SGD with a rate of 0.05 and a momentum of 0.9, float32 on both sides;
PyTorch in float64 shows what is rounding. Prints the largest relative difference of the losses; the exit code is 1 where one exceeds 1e-5 or, where
that is more, three times the difference of PyTorch itself on one thread and on two. Needs torch and numpy.
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

    def rms_norm(self, x):
        return F.rms_norm(x, x.shape[-1:], self.take(), 1e-5)

    def recurrence(self, kind, cells, layers, **how):
        """A module of PyTorch's as a function, with the next parameters: of each cell, weight and bias from the input, then from the state."""
        names = [f"{what}_l{layer}{way}" for layer in range(layers) for way in ("", "_reverse")[:cells // layers]
                 for what in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")]
        values = dict(zip(names, self.take(4 * cells), strict=True))
        width, hidden = values["weight_ih_l0"].shape[1], values["weight_hh_l0"].shape[1]
        module = kind(width, hidden, num_layers=layers, batch_first=True, bidirectional=cells > layers, **how)
        module = module.to(values["weight_ih_l0"].dtype)
        return lambda *x: torch.func.functional_call(module, values, x)


def cross_entropy(scores, labels):
    return F.cross_entropy(scores, labels.long())


def resnext(p, x, labels):
    x = F.relu(p.batch_norm(p.conv(x, bias=False, padding=1)))
    for stride in (1, 2, 2):
        for block in range(2):
            how = {"stride": stride if block == 0 else 1}
            y = F.relu(p.batch_norm(p.conv(x, bias=False)))
            y = F.relu(p.batch_norm(p.conv(y, bias=False, padding=1, groups=8, **how)))
            y = p.batch_norm(p.conv(y, bias=False))
            x = F.relu(y + (p.batch_norm(p.conv(x, bias=False, **how)) if block == 0 else x))
    return cross_entropy(p.linear(F.adaptive_avg_pool2d(x, 1).flatten(1)), labels)


def efficientnet(p, x, labels):
    def mbconv(x, expansion, window, stride):
        y = x
        if expansion > 1:
            y = F.silu(p.batch_norm(p.conv(y, bias=False)))
        y = p.conv(y, bias=False, padding=window // 2, stride=stride, groups=y.shape[1])
        y = F.silu(p.batch_norm(y))
        y = y * torch.sigmoid(p.conv(F.silu(p.conv(F.adaptive_avg_pool2d(y, 1)))))
        return p.batch_norm(p.conv(y, bias=False))

    x = F.silu(p.batch_norm(p.conv(x, bias=False, stride=2, padding=1)))
    for blocks, expansion, window, stride in ((1, 1, 3, 1), (2, 6, 3, 2), (2, 6, 5, 2)):
        x = mbconv(x, expansion, window, stride)
        for _ in range(blocks - 1):
            x = x + mbconv(x, expansion, window, 1)
    x = F.silu(p.batch_norm(p.conv(x, bias=False)))
    return cross_entropy(p.linear(F.adaptive_avg_pool2d(x, 1).flatten(1)), labels)


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def vit(p, images, labels):
    x = p.conv(images, stride=4).flatten(2).transpose(1, 2)
    x = torch.cat([p.take().expand(len(x), 1, -1), x], dim=1) + p.take()
    for _ in range(2):
        y = p.layer_norm(x)
        y = F.scaled_dot_product_attention(*(heads(p.linear(y), 4) for _ in range(3))).transpose(1, 2).flatten(2)
        x = x + p.linear(y)
        y = F.gelu(p.linear(p.layer_norm(x)))
        x = x + p.linear(y)
    return cross_entropy(p.linear(p.layer_norm(x)[:, 0]), labels)


def turned(x):
    """Rotary positions of [N,heads,T,C]: pairs of channels as complex numbers."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    rates = 10000.0 ** (-torch.arange(pairs.shape[-1], dtype=torch.float64) / pairs.shape[-1])
    angles = torch.outer(torch.arange(x.shape[2], dtype=torch.float64), rates)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)).flatten(-2)


def gpt(p, words, labels):
    x = F.embedding(words, p.take())
    for _ in range(2):
        y = p.rms_norm(x)
        q, k, v = (heads(F.linear(y, p.take()), 4) for _ in range(3))
        y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + F.linear(y, p.take())
        y = p.rms_norm(x)
        y = F.silu(F.linear(y, p.take())) * F.linear(y, p.take())
        x = x + F.linear(y, p.take())
    return cross_entropy(F.linear(p.rms_norm(x), p.take()).transpose(1, 2), labels)


def unet(p, x, labels):
    def two(x):
        return F.relu(p.conv(F.relu(p.conv(x, padding=1)), padding=1))

    def up(x):
        weight, bias = p.take(2)
        return F.conv_transpose2d(x, weight, bias, stride=2)

    above = two(x)
    middle = two(F.max_pool2d(above, 2))
    below = two(F.max_pool2d(middle, 2))
    middle = two(torch.cat([middle, up(below)], dim=1))
    return cross_entropy(p.conv(two(torch.cat([above, up(middle)], dim=1))), labels)


def two_towers(p, history, numbers, rating, action):
    user = F.embedding(history, p.take()).mean(1)
    user = p.linear(F.relu(p.linear(user)))
    item = p.linear(F.relu(p.linear(numbers)))
    predicted = (user * item).sum(1, keepdim=True)
    scores = p.linear(F.relu(p.linear(torch.cat([user, item], dim=1))))
    return F.mse_loss(predicted, rating) / 2 + cross_entropy(scores, action)


def contrastive_towers(p, words, features):
    text = F.embedding(words, p.take()).mean(1)
    text = F.normalize(p.linear(F.gelu(p.linear(text))), dim=1)
    picture = F.normalize(p.linear(F.gelu(p.linear(features))), dim=1)
    logits = p.take().exp().clamp(max=100) * text @ picture.T
    rows = torch.arange(len(text))
    return (F.cross_entropy(logits, rows) + F.cross_entropy(logits.T, rows)) / 2


def packed(x, lengths):
    return nn.utils.rnn.pack_padded_sequence(x, lengths.long(), batch_first=True, enforce_sorted=False)


def padded_gru(p, source, lengths, target, truth):
    words = F.embedding(source, p.take())
    _, state = p.recurrence(nn.GRU, 1, 1)(packed(words, lengths))
    words = F.embedding(target, p.take())
    out, _ = p.recurrence(nn.GRU, 1, 1)(words, state)
    return cross_entropy(p.linear(out).transpose(1, 2), truth)


def padded_lstm(p, words, lengths, labels):
    words = F.embedding(words, p.take())
    out, _ = p.recurrence(nn.LSTM, 4, 2)(packed(words, lengths))
    out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return cross_entropy(p.linear(out.sum(1)), labels)


NETWORKS = {"resnext": resnext, "efficientnet": efficientnet, "vit": vit, "gpt": gpt, "unet": unet,
            "two_towers": two_towers, "contrastive_towers": contrastive_towers, "padded_gru": padded_gru,
            "padded_lstm": padded_lstm}


def read(folder, name):
    """Parameters as (path, trained, values), the inputs of each step in the network's order, losses."""
    data = (folder / f"{name}.bin").read_bytes()
    at = 0
    parameters, batches, losses = [], [[]], []
    for line in (folder / f"{name}.txt").read_text().splitlines():
        kind, *rest = line.split()
        if kind == "loss":
            losses.append(float(rest[0]))
            batches.append([])
            continue
        path, trained = (rest.pop(0), rest.pop(0) == "trained") if kind == "parameter" else ("", False)
        extents = [int(e) for e in rest]
        values = np.frombuffer(data, np.int32 if kind == "integers" else np.float32, int(np.prod(extents)), at)
        at += values.nbytes
        values = values.reshape(extents)
        parameters.append((path, trained, values)) if kind == "parameter" else batches[-1].append(values)
    return parameters, batches[:-1], losses


def train(name, parameters, batches, real, threads=2):
    torch.set_num_threads(threads)
    p = Parameters(parameters, real)
    optimizer = torch.optim.SGD([t for t in p.tensors if t.requires_grad], lr=0.05, momentum=0.9)
    losses = []
    for inputs in batches:
        inputs = [torch.tensor(x) if x.dtype == np.int32 else torch.tensor(x, dtype=real) for x in inputs]
        p.at = 0
        loss = NETWORKS[name](p, *inputs)
        if p.at != len(p.tensors):
            sys.exit(f"against_torch: {name} has {len(p.tensors)} parameters here, {p.at} in PyTorch")
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
    wrong = []
    print(f"PyTorch {torch.__version__}, float32; losses of three steps, largest relative differences")
    print(f"{'network':<14} {'parameters':>10} {'first loss':>11} {'third':>9} {'from PyTorch':>13} {'allowed':>8} "
          f"{'float64':>9} {'PyTorch from float64':>21} {'1 from 2 threads':>17}")
    for name in sys.argv[3:] or NETWORKS:
        subprocess.run([sys.argv[1], name, str(folder)], check=True)
        parameters, batches, losses = read(folder, name)
        single = train(name, parameters, batches, torch.float32)
        of_threads = apart(train(name, parameters, batches, torch.float32, threads=1), single)
        double = train(name, parameters, batches, torch.float64)
        count = sum(v.size for _, trained, v in parameters if trained)
        allowed = max(ALLOWED, 3 * of_threads)
        print(f"{name:<14} {count:>10} {losses[0]:>11.6f} {losses[2]:>9.6f} {apart(losses, single):>13.1e} {allowed:>8.0e} "
              f"{apart(losses, double):>9.1e} {apart(single, double):>21.1e} {of_threads:>17.1e}")
        if not apart(losses, single) <= allowed:
            wrong.append(name)
    sys.exit(f"against_torch: more than allowed: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
