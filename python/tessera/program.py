# SPDX-License-Identifier: Apache-2.0
"""Plans as programs for torch.distributed: exported, trained on the ranks of this machine, or run rank by rank."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile


class Program:
    """A program that Tessera exported (docs/torch_export.md): the distributed module, in a folder.

        program = plan.export_torch("resnet50_on_4")
        losses = program.train({"x": images, "labels": labels}, steps=100, save="trained.safetensors")

    starts its ranks on this machine. A script that torchrun has started on any machines takes one step after the other:

        torch.distributed.init_process_group("gloo")
        rank = tessera.Program("resnet50_on_4").rank()
        for batch in loader:  # {input: tensor}, the whole batch on every rank
            loss = rank.step(batch)
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self._module = None
        if not (self.folder / "program.py").is_file():
            raise FileNotFoundError(f"{self.folder} has no program.py; plan.export_torch writes one")

    def __repr__(self) -> str:
        return f"<Program for {self.ranks} ranks in {str(self.folder)!r}>"

    def _loaded(self):
        """program.py, with the runtime file that lies beside it."""
        if self._module is None:
            before = sys.modules.pop("tessera_runtime", None)
            sys.path.insert(0, str(self.folder.resolve()))
            try:
                spec = importlib.util.spec_from_file_location("program", self.folder / "program.py")
                self._module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(self._module)
            finally:
                sys.path.pop(0)
                sys.modules.pop("tessera_runtime", None)
                if before is not None:
                    sys.modules["tessera_runtime"] = before
        return self._module

    @property
    def ranks(self) -> int:
        return self._loaded().PROGRAM.ranks

    @property
    def batch(self) -> int:
        """Samples of a step, all ranks together."""
        return self._loaded().PROGRAM.batch

    @property
    def inputs(self) -> dict:
        """By name: the shape of a batch, and whether it is of numbers (f32) or of integers (i32)."""
        return dict(self._loaded().PROGRAM.inputs)

    def rank(self, weights=None, device="cpu"):
        """This process's rank of the program, once torch.distributed has `ranks` processes: rank.step(batch) trains a
        step and returns its loss before the update, rank.save(path) writes all parameters. `weights`: a file other than
        the one that was exported."""
        loaded = self._loaded()
        return loaded.rt.Rank(loaded.PROGRAM, weights, device)

    def train(self, data, steps=20, *, shuffle=None, backend="gloo", save=None) -> list[float]:
        """Trains with all ranks on this machine, and returns the losses of all steps.

        `data`: a tensor of samples for each input, at least a batch of them, or a safetensors file of such. `shuffle`:
        a seed of their order, which otherwise is that of the data. `backend`: gloo (CPU) or nccl. `save`: a file for the
        parameters at the end, which plan.network.load_weights puts into a module.
        Raises RuntimeError with the words of the rank that failed.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = data
            if isinstance(data, dict):
                from .weights import write_safetensors

                path = pathlib.Path(folder, "data.safetensors")
                write_safetensors(path, data)
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", self.ranks]
            command += [self.folder / "program.py", "--data", path, "--steps", steps, "--backend", backend]
            command += [] if shuffle is None else ["--shuffle", shuffle]
            command += [] if save is None else ["--save", save]
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        losses = [float(x) for x in re.findall(r"^step \d+: loss (\S+)$", done.stdout, re.M)]
        if done.returncode != 0 or len(losses) != steps:
            said = [line for line in done.stderr.splitlines() if re.match(r"(rank \d+: |\w*(Error|Exception)\b)", line)]
            raise RuntimeError("\n".join(said or done.stderr.splitlines()[-20:]) or "the ranks ended without a word")
        return losses


__all__ = ["Program"]
