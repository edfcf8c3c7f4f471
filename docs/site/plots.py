# SPDX-License-Identifier: Apache-2.0
"""Plots of the page of benchmarks. Every figure is read from a committed file of results; a table that is not found is an error."""
import re
from pathlib import Path

import svg


def table(path: Path, heading, header):
    """Rows of the first table below a heading (None: of the file) whose first line begins with `header`, as lists of texts."""
    lines = path.read_text().split("\n")
    if heading:
        lines = lines[lines.index(heading):]
    start = next((i for i, l in enumerate(lines) if l.startswith(header)), None)
    if start is None:
        raise ValueError(f"{path} has no table '{header}' below '{heading}'")
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    if len(rows) < 2:
        raise ValueError(f"{path}: the table '{header}' has {len(rows)} rows")
    return rows


def number(text):
    return float(re.search(r"[-+]?[\d.]+", text)[0])


def peers(results):
    rows = table(results / "host-2026-11-21.md", "## Training step against PyTorch", "| network | devices | peer |")
    names = list(dict.fromkeys(f"{r[0]}, {r[1]} device{'s' if r[1] != '1' else ''}" for r in rows))
    series = {"PyTorch's threads": [None] * len(names), "DDP over gloo": [None] * len(names)}
    for r in rows:
        at = names.index(f"{r[0]}, {r[1]} device{'s' if r[1] != '1' else ''}")
        series["DDP over gloo" if "DDP" in r[2] else "PyTorch's threads"][at] = number(r[5])
    return svg.bars("A step of PyTorch over one of Tessera", "times as long", names, series, (1, "as long"))


def gpu(results):
    rows = table(results / "gpu-2026-11-26.md", "## Training steps", "| network | batch | precision |")
    rows = [r for r in rows if r[7]]
    return svg.bars("A step of PyTorch over one of Tessera, on one H200", "times as long", [f"{r[0]}, {r[2]}" for r in rows],
                    {"PyTorch, eager": [number(r[7]) for r in rows]}, (1, "as long"))


def programs(results):
    rows = table(results / "torch-ddp-2026-11-26.md", None, "| network, batch | the plan |")
    return svg.bars("A step of DDP over one of the plan, both run by PyTorch", "times as long", [r[0] for r in rows],
                    {"DDP over gloo": [round(1 / number(r[4]), 2) for r in rows]}, (1, "as long"))


def simulator(results):
    rows = table(results / "simulator-host-2026-11-22.md", None, "| network | strategies | noise |")
    return svg.bars("Error of simulated steps", "%", [r[0] for r in rows],
                    {"mean": [number(r[4]) for r in rows], "largest": [number(r[5]) for r in rows]}, (10, "wanted of the mean: at most 10"))


def pipelines(results):
    rows = table(results / "step-times-2026-11-22.md", "## Two devices", "| network | schedule |")
    rows = [r for r in rows if r[2] in ("4", "8")]
    return svg.bars("Steps of pipelines: schedule, micro-batches", "ms", [f"{r[0].split(',')[0].split(' ')[0]}, {r[1].replace('re-materialization', 're-m.')}, {r[2]}" for r in rows],
                    {"predicted": [number(r[3]) for r in rows], "measured": [number(r[4]) for r in rows]})


def accuracy(results):
    rows = table(results / "time-to-accuracy-2026-11-25.md", None, "| policy | seconds to")
    rows = [r for r in rows if not r[1].startswith("not")]
    return svg.bars("Seconds to 90 % on Fashion-MNIST", "s", [r[0] for r in rows], {"seconds": [round(number(r[1]), 1) for r in rows]})


def bounds(results):
    rows = table(results / "bounds-2026-11-25.md", "## One node of 4 P100", "| network, 16 samples a device |")
    rows = [r for r in rows if number(r[7]) >= 0.1]
    return svg.bars("Above the best possible by at most: networks with 0.1 % and more", "%", [r[0] for r in rows],
                    {"found by OptCNN's search": [number(r[7]) for r in rows]})


def fastest(results):
    path = results / "which-search-2026-11-27.md"
    rows = table(path, "## Within 0.5 % of the fastest", "| devices | data")
    names = next(x for x in path.read_text().splitlines() if x.startswith("| devices | data")).strip("|").split("|")
    return svg.bars("Networks of 12 for which a search's step is within 0.5 % of the fastest", "networks", [n.strip() for n in names[1:]],
                    {f"{r[0]} devices": [number(x) for x in r[1:]] for r in rows})


PLOTS = {f.__name__: f for f in (peers, gpu, programs, simulator, pipelines, accuracy, bounds, fastest)}
ABOUT = {
    "peers": "Bars: how many times longer PyTorch takes for a training step than Tessera, by network and devices",
    "gpu": "Bars: how many times longer PyTorch takes for a training step than Tessera on an H200, by network and precision",
    "programs": "Bars: how many times longer DistributedDataParallel takes for a step than the exported plan, by network",
    "simulator": "Bars: mean and largest error of the simulator on six networks",
    "pipelines": "Bars: steps of pipelines, predicted and measured",
    "accuracy": "Bars: seconds to 90 % accuracy for each policy",
    "bounds": "Bars: how far above the best possible OptCNN's strategies are at most",
    "fastest": "Bars: for how many networks each search finds the fastest step, on 4, 8 and 64 devices",
}


def draw(root: Path, to: Path, name):
    """Draws a plot into a folder; returns its words."""
    if name not in PLOTS:
        raise ValueError(f"there is no plot '{name}'; there are {', '.join(PLOTS)}")
    (to / f"{name}.svg").write_text(PLOTS[name](root / "benchmarks/results"))
    return ABOUT[name]
