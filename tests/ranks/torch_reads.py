#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint reads a checkpoint's files as they are: torch_reads.py CHECKPOINT. Needs torch and safetensors; the exit code is 77
where they are not there, and 1 where a tensor differs in a bit."""
import json
import struct
import sys
from pathlib import Path

try:
    import safetensors  # noqa: F401 torch needs it
    import torch
    import torch.distributed.checkpoint as dcp
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

folder = Path(sys.argv[1])
reader = dcp.HuggingFaceStorageReader(str(folder))
found = {name: torch.empty(what.size, dtype=what.properties.dtype) for name, what in reader.read_metadata().state_dict_metadata.items()}
dcp.load(found, storage_reader=reader, no_dist=True)
wrong = seen = 0
for file in sorted(folder.glob("*.safetensors")):
    data = file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    for name, what in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = what["data_offsets"]
            own = torch.frombuffer(bytearray(data[8 + length + begin:8 + length + end]), dtype=torch.float32).reshape(what["shape"])
            seen += 1
            wrong += not torch.equal(own.view(torch.int32), found[name].view(torch.int32))
print(f"torch {torch.__version__} reads {seen} tensors of {len(list(folder.glob('*.safetensors')))} files, {wrong} differ")
sys.exit(1 if wrong or seen != len(found) or not seen else 0)
