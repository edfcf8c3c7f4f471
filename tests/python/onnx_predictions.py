# SPDX-License-Identifier: Apache-2.0
"""Predictions of ONNX models by Tessera beside onnxruntime's (and Keras' own): a line for each network with the largest difference.

Usage: onnx_predictions.py TRAIN_FILE [--models FOLDER] [--exporter dynamo|script] [NAME...]. Without torch, onnx or onnxruntime it says so and is skipped.
FOLDER: models that onnx_models.py and onnx_keras.py have written before; without it small networks, or those that are named, are exported now.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import onnx  # noqa: F401  (torch's exporter needs it)
    import onnxruntime  # noqa: F401
    import torch
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(0)

import numpy as np
import onnx_models

MOST = 1e-4


def difference(train_file, folder, name):
    """The largest difference of predictions from onnxruntime's, and, where they are there, from Keras' own; the largest prediction."""
    out = folder / f"{name}.predicted"
    command = [train_file, folder / f"{name}.onnx", folder / f"{name}.batch", "--steps", "0", "--predict", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{name}: {done.stderr}")
    ours = onnx_models.read_safetensors(out)["result"]
    if not (folder / f"{name}.expected").exists():
        batch = onnx_models.read_safetensors(folder / f"{name}.batch")
        onnx_models.expect(folder / f"{name}.onnx", None, folder, name, batch=batch)
    worst = 0.0
    for beside in ("expected", "keras"):
        path = folder / f"{name}.{beside}"
        if path.exists():
            theirs = onnx_models.read_safetensors(path)["result"]
            assert ours.size == theirs.size, (name, ours.shape, theirs.shape)
            worst = max(worst, float(np.abs(ours.reshape(theirs.shape) - theirs).max()))
    return worst, float(np.abs(ours).max())


def exported(folder, names, exporter):
    known = {**onnx_models.torchvision_networks(), **onnx_models.small_networks()}
    for name in names:
        torch.manual_seed(1)
        module, sample = known[name]()
        path = folder / f"{name}.onnx"
        onnx_models.export(onnx_models.with_statistics(module), sample, path, exporter)
        onnx_models.expect(path, 3, folder, name)


def check_training(train_file, folder):
    """A model is trained from where it is: its first loss is that of its predictions, and later ones are less."""
    name = "sequence"
    batch = onnx_models.read_safetensors(folder / f"{name}.batch")
    labels = np.array([0, 2, 1], dtype=np.float32)
    onnx_models.write_safetensors(folder / "labelled", {**batch, "labels": labels})
    command = [train_file, folder / f"{name}.onnx", folder / "labelled", "--steps", "5", "--learning-rate", "0.05"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("step")]
    logits = onnx_models.read_safetensors(folder / f"{name}.expected")["result"].astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    first = -np.log(shares[np.arange(3), labels.astype(int)]).mean()
    assert abs(losses[0] - first) < 1e-5, (losses, first)
    assert losses[-1] < losses[0], losses
    print(f"{name}: losses {losses}, the first by onnxruntime {first:.6f}")


def main():
    train_file, arguments = sys.argv[1], sys.argv[2:]
    given = {}
    while arguments[:1] and arguments[0].startswith("--"):
        given[arguments[0]] = arguments[1]
        arguments = arguments[2:]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(given.get("--models", temporary))
        names = arguments or (sorted(p.stem for p in folder.glob("*.onnx")) if "--models" in given else list(onnx_models.small_networks()))
        if "--models" not in given:
            exported(folder, names, given.get("--exporter", "script"))
        print("| network | largest prediction | largest difference |\n|---|---|---|")
        too_far = []
        for name in names:
            worst, largest = difference(train_file, folder, name)
            print(f"| {name} | {largest:.2g} | {worst:.1e} |", flush=True)
            if not worst <= MOST:
                too_far.append(name)
        assert not too_far, f"further than {MOST} from onnxruntime: {too_far}"
        if "--models" not in given and "sequence" in names:
            check_training(train_file, folder)


if __name__ == "__main__":
    main()
