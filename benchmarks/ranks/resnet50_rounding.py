#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far rounding alone moves the losses that against_ddp.py compares for ResNet-50: resnet50_rounding.py [GAMMA]

PyTorch trains 3 steps from the same weights on the same batch, two halves of which have statistics of their own as on
two ranks, four times: in double, in float, in float with channels last, and in double from weights each of which is off
by a random share of up to 2^-24, as when they are rounded to float. Printed are the losses, their distances from those
in double as shares, and by how much of itself the gradient of all parameters differs in the first step.
GAMMA is that of the last norm of every block (against_ddp.py's otherwise).
"""
import sys
import tempfile

sys.dont_write_bytecode = True
import against_ddp  # which finds the peers
import numpy
import torch
import torch_peer

BATCH, STEPS, PARTS = 16, 3, 2


def load(folder, gamma):
    weights, data = against_ddp.write_files(folder, "resnet50", BATCH, numpy)
    model, sample = torch_peer.build_network(torch.nn, "resnet50")
    flat = torch.from_numpy(numpy.fromfile(weights, "<f4"))
    with torch.no_grad():
        for parameter, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            parameter.copy_(part.view(parameter.shape))
        for block in model:
            if gamma is not None and hasattr(block, "narrow"):
                block.narrow[-1].weight.fill_(gamma)
    raw = numpy.fromfile(data, "<u1")
    labels = 4 * BATCH
    x = torch.from_numpy(raw[:-labels].view("<f4").reshape(BATCH, *sample).copy())
    return model, x, torch.from_numpy(raw[-labels:].view("<i4").astype("int64"))


def train(folder, gamma, kind=torch.float32, layout=torch.contiguous_format, nudge=0.0):
    """Losses of the steps, and the gradient of the first."""
    model, x, y = load(folder, gamma)
    model, x = model.to(dtype=kind, memory_format=layout), x.to(dtype=kind, memory_format=layout)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + nudge * (2 * torch.rand(parameter.shape, generator=generator, dtype=kind) - 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=torch_peer.LEARNING_RATE)
    losses, gradient = [], None
    for _ in range(STEPS):
        optimizer.zero_grad()
        parts = []
        for inputs, labels in zip(x.chunk(PARTS), y.chunk(PARTS)):
            loss = torch.nn.functional.cross_entropy(model(inputs), labels) / PARTS
            loss.backward()
            parts.append(loss.item())
        if gradient is None:
            gradient = torch.cat([p.grad.double().flatten() for p in model.parameters()])
        optimizer.step()
        losses.append(sum(parts))
    return losses, gradient


def main():
    gamma = float(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        exact, of_exact = train(folder, gamma, torch.float64)
        print("double                 losses " + " ".join(f"{x:.6f}" for x in exact), flush=True)
        for name, how in {
            "float": {},
            "float, channels last": {"layout": torch.channels_last},
            "double, weights nudged": {"kind": torch.float64, "nudge": 2.0**-24},
        }.items():
            losses, gradient = train(folder, gamma, **how)
            distances = " ".join(f"{abs(a - b) / b:.1e}" for a, b in zip(losses, exact))
            off = ((gradient - of_exact).norm() / of_exact.norm()).item()
            said = " ".join(f"{x:.6f}" for x in losses)
            print(f"{name:22} losses {said}, off by {distances}; gradient off by {off:.1e}", flush=True)


if __name__ == "__main__":
    main()
