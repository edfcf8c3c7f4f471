# SPDX-License-Identifier: Apache-2.0
"""Tensors in safetensors files, under the paths that networks have them by."""

from __future__ import annotations

import json
import struct

import torch


def write_safetensors(path, tensors: dict[str, torch.Tensor]) -> None:
    """fp32 tensors in one file: the length of the header (8 bytes, little endian), the header as JSON, the numbers in
    row-major order."""
    header, begin = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)))
        f.write(text)
        for tensor in tensors.values():
            f.write(tensor.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())


def weights_of(network, module) -> dict[str, torch.Tensor]:
    """The module's parameters and running statistics by the network's paths, in the network's shapes."""
    state = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    state = {name: value.detach() for name, value in state.items()}
    weights = dict(network.constants)
    for path, name in network.parameters.items():
        operator = path.rpartition("/")[0]
        if path in network.made:
            value = network.made[path](state)
        elif path.endswith("/statistics"):  # means, then variances
            value = torch.stack([state[name], state[name.replace("running_mean", "running_var")]])
        else:
            value = state[name]
        weights[path] = value.reshape(network.tables[operator]) if operator in network.tables else value
    return weights


def read_safetensors(path) -> dict[str, torch.Tensor]:
    """What write_safetensors wrote. Raises ValueError for what is no such file."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < length <= len(data) - 8:
        raise ValueError(f"{path} is no safetensors file")
    tensors = {}
    for name, x in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + o for o in x["data_offsets"])
        if x["dtype"] != "F32" or end > len(data):
            raise ValueError(f"{path}: {name} is {x['dtype']}, or cut short; fp32 is read")
        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=begin) if end > begin else torch.empty(0)
        tensors[name] = flat.reshape(x["shape"]).clone()
    return tensors


@torch.no_grad()
def load_weights(network, module, tensors: dict[str, torch.Tensor]) -> None:
    """Into the module what weights_of took from it. Raises ValueError for a parameter that is missing."""
    state = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    missing = [path for path in network.parameters if path not in tensors]
    if missing:
        raise ValueError(f"the weights have no {', '.join(missing)}")
    for path, name in network.parameters.items():
        value = tensors[path]
        if path in network.made:  # each number of it is one of the state: which one, their places tell
            sizes = {n: torch.arange(t.numel()).reshape(t.shape) for n, t in state.items()}
            state[name].view(-1)[network.made[path](sizes).flatten()] = value.flatten().to(state[name].device)
        elif path.endswith("/statistics"):
            state[name].copy_(value[0])
            state[name.replace("running_mean", "running_var")].copy_(value[1])
        else:
            state[name].copy_(value.reshape(state[name].shape))
