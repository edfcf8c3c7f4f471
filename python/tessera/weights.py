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
