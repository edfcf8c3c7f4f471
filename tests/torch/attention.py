# SPDX-License-Identifier: Apache-2.0
"""Tessera's attention on the host, whole and in shards, against torch.nn.functional.scaled_dot_product_attention in double:
outputs and the gradients of queries, keys, values and tables of buckets. ALiBi, buckets, windows, lengths and masks are
PyTorch's attn_mask.

Usage: attention.py FOLDER. FOLDER is what tests/torch/attention.cpp writes. Without torch it says so and is skipped.
"""

import math
import pathlib
import sys

import train  # noqa: F401  (looks for a python that has torch)

import torch
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "include" / "tessera" / "backend" / "torch"))
sys.dont_write_bytecode = True
import tessera_runtime  # noqa: E402

WITHIN = 1e-5  # of the largest number of a tensor


def bucket(ahead, buckets, distance, causal):
    """Of one key so many places before a query, as Raffel et al. 2020 have it."""
    side = buckets if causal else buckets // 2
    apart = max(-ahead, 0) if causal else abs(ahead)
    exact = side // 2
    if apart >= exact:
        wide = round(math.log(apart / exact) / math.log(distance / exact) * (side - exact), 9)
        apart = min(exact + math.floor(wide), side - 1)
    return apart + (side if ahead > 0 and not causal else 0)


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def check(number, line, tensors):
    """The largest difference of a setting, and of what it is."""
    numbers = line.split()
    count, groups, causal, window, alibi, buckets, distance, hidden = (int(numbers[i]) for i in (0, 1, 2, 3, 5, 6, 7, 8))
    scale = float(numbers[4]) or None
    of = {name.split(".", 1)[1]: x for name, x in tensors.items() if name.split(".", 1)[0] == str(number)}
    given = {name: of[name].double().requires_grad_() for name in ("query", "key", "value", "table") if name in of}
    q, k, v = heads(given["query"], count), heads(given["key"], groups), heads(given["value"], groups)
    row = torch.arange(q.shape[2]).unsqueeze(-1) + k.shape[2] - q.shape[2]
    ahead = torch.arange(k.shape[2]) - row
    unseen = (ahead.abs() >= window) | (causal * ahead > 0)
    mask = torch.zeros(len(q), count, *ahead.shape, dtype=torch.double)
    if alibi:
        slopes = torch.tensor([2 ** (-8 * (h + 1) / count) for h in range(count)], dtype=torch.double)
        mask = mask + slopes.view(-1, 1, 1) * ahead
    if buckets:
        first = int(ahead.min())
        place = torch.tensor([bucket(a, buckets, distance, causal) for a in range(first, int(ahead.max()) + 1)])[ahead - first]
        bias = given["table"][place].permute(2, 0, 1).expand(len(q), -1, -1, -1)
        bias.retain_grad()
        mask = mask + bias
    if hidden == 1:
        unseen = unseen | (torch.arange(k.shape[2]) >= of["seen"].view(-1, 1, 1, 1))
    elif hidden == 2:
        unseen = unseen | (of["seen"] == 0).view(len(q), 1, 1, -1)
    plain = causal and not (alibi or buckets or hidden) and window > 1000 and q.shape[2] == k.shape[2]
    how = {"is_causal": True} if plain else {"attn_mask": mask.masked_fill(unseen, -math.inf)}
    y = scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True, **how).transpose(1, 2).flatten(2)
    y.backward(of["slope"].double())
    pairs = {"output": y.detach(), **{f"{name}.gradient": x.grad for name, x in given.items()}}
    worst = (0.0, "")
    for name, theirs in pairs.items():
        assert theirs.isfinite().all(), (number, name)
        size = max(theirs.abs().max().item(), 1e-2)
        if name == "table.gradient":  # sums of numbers that may cancel: those of a row are 0 together
            each = bias.grad.abs().sum(0).flatten(1).t()
            size = max(torch.zeros_like(theirs).index_add_(0, place.flatten(), each).max().item(), 1e-2)
        worst = max(worst, ((of[name].double() - theirs).abs().max().item() / size, f"setting {number}: {name}"))
    return worst, plain


def main(folder):
    torch.set_num_threads(1)
    tensors = tessera_runtime.read_safetensors(folder / "tensors.safetensors")
    lines = (folder / "settings.txt").read_text().splitlines()
    results = [check(i, line, tensors) for i, line in enumerate(lines)]
    worst = max(r[0] for r in results)
    print(f"{len(lines)} settings, {sum(r[1] for r in results)} of them plainly causal; worst {worst[0]:.1e}, {worst[1]}")
    assert worst[0] < WITHIN, worst


main(pathlib.Path(sys.argv[1]))
