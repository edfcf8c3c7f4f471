#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint reads a checkpoint's files as they are, shards of tensors included.

torch_reads.py CHECKPOINT: one that is there. torch_reads.py PROGRAM LAUNCHER...: such as four ranks save, under strategies for which
the optimizer's state, everything in slices, or boxes lie in several of them. Needs torch and safetensors; TESSERA_TORCH_PYTHON names the
python that has them. The exit code is 77 where they are not there, and 1 where a tensor differs in a bit."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

wanted = os.environ.get("TESSERA_TORCH_PYTHON")
if wanted and "TESSERA_TORCH_CHOSEN" not in os.environ:
    os.execve(wanted, [wanted, *sys.argv], {**os.environ, "TESSERA_TORCH_CHOSEN": "1"})
try:
    import safetensors  # noqa: F401 torch needs it
    import torch
    import torch.distributed.checkpoint as dcp
except ImportError as error:
    print(f"skipped: {error}; TESSERA_TORCH_PYTHON may name a python that has torch and safetensors")
    sys.exit(77)


def read(folder):
    """How many tensors torch finds, in how many boxes, and how many boxes differ from the bytes in the files."""
    reader = dcp.HuggingFaceStorageReader(str(folder))
    metadata = reader.read_metadata().state_dict_metadata
    found = {name: torch.empty(what.size, dtype=what.properties.dtype).fill_(float("nan")) for name, what in metadata.items()}
    dcp.load(found, storage_reader=reader, no_dist=True)
    wrong = boxes = elements = 0
    for file in sorted(folder.glob("*.safetensors")):
        data = file.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        offsets = json.loads(header.pop("__metadata__")["DCP_SHARDING_INFO"])
        for name, what in header.items():
            begin, end = what["data_offsets"]
            own = torch.frombuffer(bytearray(data[8 + length + begin:8 + length + end]), dtype=torch.float32).reshape(what["shape"])
            where = tuple(slice(o, o + n) for o, n in zip(offsets[name]["saved_offsets"], what["shape"]))
            boxes += 1
            elements += own.numel()
            wrong += not torch.equal(own.view(torch.int32), found[name][where].contiguous().view(torch.int32))
    whole = sum(t.numel() for t in found.values())
    files = len(list(folder.glob("*.safetensors")))
    print(f"torch {torch.__version__} reads {len(found)} tensors in {boxes} boxes of {files} files, {wrong} differ", flush=True)
    if wrong or elements != whole or not found:
        raise SystemExit(f"{folder}: {wrong} boxes differ, {elements} numbers in the files, {whole} in torch's tensors")
    return len(found), boxes


def main():
    if len(sys.argv) == 2:
        read(Path(sys.argv[1]))
        return
    program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
    for strategy in ("data", "zero", "model"):
        with tempfile.TemporaryDirectory() as folder:
            command = [*launcher, "-n", "4", program, folder + "/run", "2", "1", "0", strategy]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=120)
            tensors, boxes = read(Path(folder, "run", "step-000000000002"))
            if boxes <= tensors:
                raise SystemExit(f"under \"{strategy}\" no tensor lies in several boxes")


main()
