# SPDX-License-Identifier: Apache-2.0
"""How far rounding alone takes the losses of a network apart: PyTorch in double, in fp32, and in either from weights that
are changed by 1e-7 of themselves at random, which is what rounding them does.

Same batch, weights and rate as from_torch.py. What from_torch.py finds for Tessera is rounding if it is no larger than
what such changes make of PyTorch's own losses.

Usage: rounding.py NETWORK [TRIES] [RATE]       (needs torch and torchvision)
"""

import copy
import sys

import torch

from from_torch import BATCH, RATE, batch_of, losses, made, off


def changed(module, seed):
    random = torch.Generator().manual_seed(seed)
    module = copy.deepcopy(module)
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(1 + 1e-7 * torch.randn(p.shape, generator=random, dtype=p.dtype))
    return module


def main(name, tries=6, rate=RATE):
    torch.manual_seed(1)
    module = made(name)
    x, y = batch_of(name)
    double, x64 = copy.deepcopy(module).double(), x.double() if x.is_floating_point() else x
    exact = losses(copy.deepcopy(double), x64, y, rate)
    print(f"{name}, batch {BATCH}, rate {rate:g}: losses in double {', '.join(f'{v:.7g}' for v in exact)}")
    print("relative to them, step by step:")

    def show(what, found):
        print(f"  {what:34} " + "  ".join(f"{off(a, b):.1e}" for a, b in zip(found, exact)), flush=True)

    show("fp32", losses(copy.deepcopy(module), x, y, rate))
    for seed in range(tries):
        show(f"fp32, weights changed by 1e-7 ({seed})", losses(changed(module, seed), x, y, rate))
    for seed in range(tries):
        show(f"double, weights changed by 1e-7 ({seed})", losses(changed(double, seed), x64, y, rate))


if __name__ == "__main__":
    main(sys.argv[1], *(int(a) for a in sys.argv[2:3]), *(float(a) for a in sys.argv[3:4]))
