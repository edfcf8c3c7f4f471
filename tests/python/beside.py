# SPDX-License-Identifier: Apache-2.0
"""Losses of a module in PyTorch, and of its network in Tessera from the same weights."""

import os
import subprocess
import sys
import tempfile

import torch

import tessera
from tessera.weights import write_safetensors


def trained(module, batches, rate):
    """The losses of a module in PyTorch, which is trained by plain SGD."""
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    if not module.training:
        module.train()
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        result = module(x)
        result = result if isinstance(result, torch.Tensor) else result[0]
        loss = torch.nn.functional.cross_entropy(result.flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_of(module, x, y, steps=3, rate=0.05):
    """PyTorch's, Tessera's over two devices, and the network. The program train_file is the second argument."""
    network = tessera.network_of(module, (x,), name="net")
    with tempfile.TemporaryDirectory() as folder:
        path = {name: os.path.join(folder, name) for name in ("net.json", "weights", "batch")}
        network.write(path["net.json"])
        network.write_weights(module, path["weights"])
        name = next(n["input"] for n in network.nodes if "input" in n)
        write_safetensors(path["batch"], {name: x, "labels": y.float()})
        command = [sys.argv[2], path["net.json"], path["batch"], "--weights", path["weights"], "--devices", "2"]
        command += ["--steps", str(steps), "--learning-rate", str(rate)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert " 0 missing, 0 unexpected" in done.stdout, done.stdout
        ours = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("step")]
    return trained(module, [(x, y)] * steps, rate), ours, network
