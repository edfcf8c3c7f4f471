# SPDX-License-Identifier: Apache-2.0
"""Plans for networks, by Tessera's planner, which is part of the package."""

from __future__ import annotations

import html
import json
import pathlib
import tempfile

from . import _planner
from ._planner import Error
from .program import Program

Error.__module__ = "tessera"
UNITS = {"": 1, "b": 1}
UNITS |= {f"{letter}b": 1000**i for i, letter in enumerate("kmgt", 1)}
UNITS |= {f"{letter}ib": 1024**i for i, letter in enumerate("kmgt", 1)}


def bytes_of(size) -> int:
    """16GB as the planner's command line takes it: 16 times 10^9; 16GiB is 16 times 2^30. Raises ValueError for what is
    no size."""
    text = str(size).strip().lower()
    digits = text.rstrip("bikmgt ")
    try:
        return int(float(digits) * UNITS[text[len(digits) :].strip()])
    except (KeyError, ValueError):
        raise ValueError(f"memory is {size!r}, but must be bytes, as a number or as 16GB") from None


def searches() -> dict[str, str]:
    """Searches and strategies that everybody knows by name, and what each is."""
    return dict(_planner.searches())


def machines() -> dict[str, str]:
    """Machines by name, and what each is."""
    return dict(_planner.machines())


class Plan:
    """A strategy for a network, with its simulated step. In a notebook it is the planner's report."""

    def __init__(self, request, network_text: str, result, strategy: str, report: str, network=None):
        self._request = request
        self.module = None
        """What it is a plan for, where that is a module."""
        self.network = network
        """What network_of made, where the plan is for a module."""
        self.network_text = network_text
        self.text = result.text
        self.strategy = json.loads(strategy)
        self.report = report
        self.devices = result.devices
        self.step_seconds = result.step_ns * 1e-9
        """Of a simulated step."""
        self.peak_bytes = result.peak_bytes
        """On the device that has most."""
        self.moved_bytes = result.moved_bytes
        """In a step, between devices."""
        self.bound = result.bound
        """How far from the best possible the strategy is at most, or why there is no bound."""
        self.interrupted = result.interrupted
        """Ctrl-C has ended the search, and this is the best so far."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Plan for {self.devices} devices, {self.step_seconds * 1e3:.3f} ms a step>"

    def _repr_html_(self) -> str:
        return (
            '<iframe style="width:100%;height:44em;border:0" '
            f'srcdoc="{html.escape(self.report)}" title="Tessera\'s report"></iframe>'
        )

    def write(self, folder) -> None:
        """network.json, strategy.json and report.html; the planner reads the first two again."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "network.json").write_text(self.network_text, encoding="utf-8")
        (folder / "strategy.json").write_text(json.dumps(self.strategy, indent=1) + "\n", encoding="utf-8")
        (folder / "report.html").write_text(self.report, encoding="utf-8")

    def export_torch(self, folder, *, learning_rate=None) -> Program:
        """Writes the plan as a program for torch.distributed, a rank for each device, and returns it: the distributed
        module. A module's parameters go along as they are now; a network file's get initial values.

        Raises Error, before anything is written, with all that has no counterpart in PyTorch.
        """
        request = self._request
        request.learning_rate = learning_rate or 0.0
        request.exports = ["torch", str(folder)]
        with tempfile.TemporaryDirectory() as place:
            network, strategy = pathlib.Path(place, "network.json"), pathlib.Path(place, "strategy.json")
            network.write_text(self.network_text, encoding="utf-8")
            strategy.write_text(json.dumps(self.strategy), encoding="utf-8")
            request.network, request.from_ = str(network), str(strategy)
            _planner.export_plan(request)
        if self.module is not None:
            self.network.write_weights(self.module, pathlib.Path(folder, "weights.safetensors"))
        return Program(folder)


REQUEST = {"devices", "schedule", "sync", "micro_batches", "recompute", "offload", "optimizer", "explain"}


def plan_network(
    network, machine="p100", nodes=None, *, batch=None, search="optcnn", memory=None, strategy=None, **options
) -> Plan:
    """Plans the training of a network: what network_of makes, or the path of a network file.

    `machine`: a name (see machines()) or a machine file, of so many `nodes` (1 where nothing is said).
    `batch`: samples of a step, all devices together; where nothing is said, as many as the network says.
    `search`: see searches(). `memory`: of each device, as bytes or as "16GB". `strategy`: the path of a strategy
    file that is simulated instead of a search. `options`: those of the planner's command line (docs/planner.md) with
    underscores: optimizer="adam", schedule="1f1b", proposals=1000.
    Raises Error with Tessera's words, and ValueError for sizes that are none.
    """
    if nodes is not None and (machine == "heterogeneous" or any(c in str(machine) for c in "./")):
        raise ValueError(f"the machine {str(machine)!r} says how many nodes it has; leave nodes out")
    request = _planner.Request()
    request.machine, request.nodes, request.search = str(machine), 1 if nodes is None else nodes, search
    request.batch = batch or 0
    request.memory = -1 if memory is None else bytes_of(memory)
    request.table = True
    if strategy is not None:
        request.from_ = str(strategy)
    given = {}
    for name, value in options.items():
        if name not in REQUEST:
            given[name.replace("_", "-")] = float(value)
        elif name == "explain":
            request.explain = [value] if isinstance(value, str) else list(value)
        else:
            setattr(request, name, value)
    request.given = given
    text = getattr(network, "text", None) or pathlib.Path(network).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        files = {name: pathlib.Path(folder, name) for name in ("network.json", "strategy.json", "report.html")}
        files["network.json"].write_text(text, encoding="utf-8")
        request.network = str(files["network.json"])
        request.strategy, request.report = str(files["strategy.json"]), str(files["report.html"])
        result = _planner.plan(request)
        read = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    made = network if hasattr(network, "text") else None
    return Plan(request, text, result, read["strategy.json"], read["report.html"], made)


def plan(
    module, example_inputs, machine="p100", nodes=None, *, loss="cross_entropy", output=0, opaque=False, **options
) -> Plan:
    """Plans the training of a module of PyTorch on a machine that need not be here: network_of, then plan_network.

    `batch` is as many samples as `example_inputs` have where nothing is said.
    Raises UnsupportedModule for a module that has no network, and Error with Tessera's words.
    """
    from .from_torch import network_of  # which needs torch

    network = network_of(module, example_inputs, loss=loss, output=output, opaque=opaque)
    planned = plan_network(network, machine, nodes, **options)
    planned.module = module
    return planned


__all__ = ["Error", "Plan", "Program", "machines", "plan", "plan_network", "searches"]
