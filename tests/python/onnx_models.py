# SPDX-License-Identifier: Apache-2.0
"""ONNX models of torchvision's networks, of small networks with what these lack, and of Keras': written as files, each with a batch and what onnxruntime
makes of it.

Usage: onnx_models.py FOLDER [--exporter dynamo|script] [--batch N] [NAME...]. For every network FOLDER/NAME.onnx, FOLDER/NAME.batch (safetensors) and
FOLDER/NAME.expected (safetensors, the first output).
"""

from __future__ import annotations

import json
import pathlib
import struct
import sys

import numpy as np


def write_safetensors(path, tensors) -> None:
    header, begin = {}, 0
    for name, tensor in tensors.items():
        size = int(tensor.size) * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            f.write(np.ascontiguousarray(tensor, dtype=np.float32).tobytes())


def read_safetensors(path) -> dict[str, np.ndarray]:
    raw = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(raw, np.float32, offset=8 + length + t["data_offsets"][0], count=int(np.prod(t["shape"]))).reshape(t["shape"])
        for name, t in header.items()
    }


def torchvision_networks():
    """Of each network: the module, and the shape of one sample."""
    import torchvision.models as m

    return {
        "alexnet": lambda: (m.alexnet(num_classes=10), (3, 224, 224)),
        "vgg11_bn": lambda: (m.vgg11_bn(num_classes=10), (3, 224, 224)),
        "resnet18": lambda: (m.resnet18(num_classes=10), (3, 64, 64)),
        "densenet121": lambda: (m.densenet121(num_classes=10), (3, 64, 64)),
        "mobilenet_v2": lambda: (m.mobilenet_v2(num_classes=10), (3, 64, 64)),
        "mobilenet_v3_small": lambda: (m.mobilenet_v3_small(num_classes=10), (3, 64, 64)),
        "inception_v3": lambda: (m.inception_v3(num_classes=10, init_weights=False), (3, 96, 96)),
        "googlenet": lambda: (m.googlenet(num_classes=10, init_weights=False), (3, 64, 64)),
        "squeezenet1_1": lambda: (m.squeezenet1_1(num_classes=10), (3, 64, 64)),
        "shufflenet_v2_x1_0": lambda: (m.shufflenet_v2_x1_0(num_classes=10), (3, 64, 64)),
        "efficientnet_b0": lambda: (m.efficientnet_b0(num_classes=10), (3, 64, 64)),
        "regnet_y_400mf": lambda: (m.regnet_y_400mf(num_classes=10), (3, 64, 64)),
        "mnasnet0_5": lambda: (m.mnasnet0_5(num_classes=10), (3, 64, 64)),
        "resnext50_32x4d": lambda: (m.resnext50_32x4d(num_classes=10), (3, 64, 64)),
        "convnext_tiny": lambda: (m.convnext_tiny(num_classes=10), (3, 64, 64)),
        "vit_b_16": lambda: (m.vit_b_16(image_size=32, num_classes=10), (3, 32, 32)),
        "swin_t": lambda: (m.swin_t(num_classes=10), (3, 64, 64)),
    }


def small_networks():
    """Networks like those of examples/zoo, each with what the others lack."""
    import torch
    from torch import nn

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU())
            self.inner = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
            self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.out = nn.Conv2d(16, 3, 1)

        def forward(self, x):
            x = self.down(x)
            return self.out(torch.cat([x, self.up(self.inner(x))], 1))

    class Gpt(nn.Module):
        """Token and position embeddings, causal attention, a GELU by tanh, a head tied to the embedding."""

        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(50, 16), nn.Parameter(torch.randn(7, 16))
            self.one, self.two, self.last = nn.LayerNorm(16), nn.LayerNorm(16), nn.LayerNorm(16)
            self.qkv, self.mix = nn.Linear(16, 48), nn.Linear(16, 16)
            self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

        def forward(self, x):
            x = self.tokens(x) + self.places
            q, k, v = (t.unflatten(-1, (4, 4)).transpose(1, 2) for t in self.qkv(self.one(x)).chunk(3, -1))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.mix(mixed.transpose(1, 2).flatten(2))
            x = x + self.down(nn.functional.gelu(self.up(self.two(x)), approximate="tanh"))
            return nn.functional.linear(self.last(x), self.tokens.weight)

    class Sequence(nn.Module):
        """One dimension: convolutions, norms, a PReLU, and a mean over time."""

        def __init__(self):
            super().__init__()
            self.first, self.norm, self.act = nn.Conv1d(4, 8, 5, stride=2, padding=2), nn.BatchNorm1d(8), nn.PReLU(8)
            self.second, self.out = nn.Conv1d(8, 8, 3, dilation=2), nn.Linear(8, 3)

        def forward(self, x):
            x = nn.functional.max_pool1d(self.act(self.norm(self.first(x))), 2)
            return self.out(nn.functional.leaky_relu(self.second(x)).mean(-1))

    class Pixels(nn.Module):
        """A pixel shuffle, instance and group norms, upsampling, and constants for each channel."""

        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.rand(1, 3, 1, 1))
            self.gamma = nn.Parameter(torch.rand(8, 1, 1))
            self.first, self.norm, self.group = nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8, affine=True), nn.GroupNorm(2, 8)
            self.out = nn.Conv2d(8, 12, 3, padding=1)

        def forward(self, x):
            x = self.first((x - self.mean) / 0.5)
            x = torch.nn.functional.interpolate(nn.functional.elu(self.norm(x)) * self.gamma, scale_factor=2, mode="nearest")
            x = nn.functional.interpolate(nn.functional.mish(self.group(x)), scale_factor=2, mode="bilinear", align_corners=False)
            return nn.functional.pixel_shuffle(nn.functional.pad(self.out(x), (1, 2, 0, 1)), 2)

    class Encoder(nn.Module):
        """PyTorch's encoder layer, whose samples come second."""

        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=False, activation="gelu")
            self.out = nn.Linear(16, 3)

        def forward(self, x):
            return self.out(self.layer(x.transpose(0, 1)).mean(0))

    return {
        "unet": lambda: (Unet(), (1, 16, 16)),
        "gpt": lambda: (Gpt(), (7,)),
        "sequence": lambda: (Sequence(), (4, 40)),
        "pixels": lambda: (Pixels(), (3, 8, 8)),
        "encoder": lambda: (Encoder(), (9, 16)),
    }


def with_statistics(module):
    """Norms whose running statistics are not what they are where nothing was trained, nor are biases and last layers zeros."""
    import torch

    for p in module.parameters():
        if not p.any():
            torch.nn.init.normal_(p, 0, 0.05)
    for m in module.modules():
        if getattr(m, "running_mean", None) is not None:
            torch.nn.init.normal_(m.running_mean, 0, 0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 2)
    return module


def export(module, sample, path, exporter="script", batch=None, opset=18):
    """`batch`: None where the file is to leave it open, else the number that it says."""
    import torch

    integers = len(sample) == 1
    shape = (batch or 2, *sample)
    x = torch.randint(0, 50, shape) if integers else torch.randn(shape)
    module.eval()
    if exporter == "dynamo":
        open_batch = None if batch else {next(iter(module.forward.__code__.co_varnames[1:2])): {0: torch.export.Dim("batch")}}
        torch.onnx.export(module, (x,), str(path), dynamo=True, opset_version=opset, dynamic_shapes=open_batch, external_data=False, verbose=False)
    else:
        axes = None if batch else {"input": {0: "batch"}}
        torch.onnx.export(module, (x,), str(path), dynamo=False, opset_version=opset, input_names=["input"], dynamic_axes=axes)


def expect(path, samples, folder, name, seed=0, batch=None):
    """Writes a batch, where none is given, and what onnxruntime makes of it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(seed)
    feed, drawn = {}, {}
    for i in session.get_inputs():
        shape = [samples if d == 0 else int(e) for d, e in enumerate(i.shape)]
        x = batch[i.name] if batch else rng.integers(0, 50, shape) if "int" in i.type else rng.standard_normal(shape)
        feed[i.name] = x.astype({"tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(i.type, np.float32))
        drawn[i.name] = feed[i.name]
    if batch is None:
        write_safetensors(folder / f"{name}.batch", drawn)
    write_safetensors(folder / f"{name}.expected", {"result": session.run(None, feed)[0]})


def main():
    import torch

    folder = pathlib.Path(sys.argv[1])
    exporter, batch, names = "script", None, sys.argv[2:]
    while names[:1] and names[0] in ("--exporter", "--batch"):
        exporter = names[1] if names[0] == "--exporter" else exporter
        batch = int(names[1]) if names[0] == "--batch" else batch
        names = names[2:]
    known = {**torchvision_networks(), **small_networks()}
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or known:
        torch.manual_seed(1)
        module, sample = known[name]()
        path = folder / f"{name}.onnx"
        try:
            export(with_statistics(module), sample, path, exporter, batch)
        except Exception as e:  # what the exporters raise has many types
            print(f"{name}: the exporter refuses: {str(e).strip().splitlines()[0]}", flush=True)
            continue
        expect(path, batch or 3, folder, name)
        print(name, path.stat().st_size, flush=True)


if __name__ == "__main__":
    main()
