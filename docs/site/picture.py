#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The picture of the README: a strategy as tiles, and the step of it and of data parallelism over time, as the planner simulates them.

  picture.py --plan PROGRAM [--to docs/strategy.svg] [--check]

With --check nothing is written: ends with 1 where the file is not what is drawn.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from svg import picture, words  # noqa: E402

QUESTION = ["--network", "alexnet", "--nodes", "2", "--batch", "256"]
ROWS = (("optcnn", "the strategy that was found"), ("data", "data parallel"))
DEVICES = ["#2a6f97", "#468faf", "#61a5c2", "#a9d6e5", "#b5651d", "#d08c47", "#e3b27a", "#f2d8b3"]  # the nodes' in shades of one colour each
KINDS = {"forward": "#3b6ea8", "backward": "#d98c3f", "copy": "#a85b7a", "collective": "#a85b7a"}
WIDTH, LEFT, RIGHT = 860, 112, 20


def asked(plan, search, folder):
    """The strategy, the trace's stretches by lane, and ms a step, as the planner says them."""
    files = [folder / f"{search}.json", folder / f"{search}.trace.json"]
    ran = subprocess.run([plan, *QUESTION, "--search", search, "--strategy", files[0], "--trace", files[1]], stdout=subprocess.PIPE, text=True, check=True)
    said = re.search(rf"^{search} +([\d.]+) ms a step,\s+(.*? move)", ran.stdout, re.M)
    events = json.loads(files[1].read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    lanes = {}
    for e in events:
        if e["ph"] == "X":
            lanes.setdefault(names[e["tid"]], []).append([e["ts"], e["ts"] + e["dur"], e["cat"]])
    return json.loads(files[0].read_text()), lanes, float(said[1]), said[2]


def tiles(strategy, top):
    """Every layer with parameters as a rectangle, divided as its loops are: samples and what is summed from top to bottom, channels from left to right."""
    layers = [l for l in strategy["layers"] if l["kind"] in ("conv2d", "linear")]
    side, gap = 72, (WIDTH - LEFT - RIGHT) / len(layers)
    parts = []
    for i, layer in enumerate(layers):
        x = LEFT + i * gap
        splits = layer["splits"]
        across = splits.get("channel", 1)
        down = splits.get("sample", 1) * splits.get("reduction", 1)
        for c in range(across):
            for r in range(down):
                device = layer["start"] + (c * down + r) * layer["stride"]
                parts.append(f'<rect x="{x + c * side / across:.2f}" y="{top + r * side / down:.2f}" width="{side / across - 1:.2f}" '
                             f'height="{side / down - 1:.2f}" fill="{DEVICES[device]}"/>')
        parts.append(words(x, top - 7, layer["layer"], more='font-weight="bold"'))
        for k, (loop, degree) in enumerate(splits.items()):
            parts.append(words(x, top + side + 15 + 14 * k, f"{loop} / {degree}", more='font-size="11" fill="#333333"'))
    return parts


def merged(stretches):
    """Neighbours of one kind as one stretch."""
    out = []
    for start, end, kind in sorted(stretches):
        if out and out[-1][2] == kind and start - out[-1][1] < 20:
            out[-1][1] = max(end, out[-1][1])
        else:
            out.append([start, end, kind])
    return out


def timeline(lanes, ms, moved, what, top, end):
    """A lane for each device, and one for what comes into the first node."""
    inner, thick = WIDTH - LEFT - RIGHT, 11
    parts = [words(14, top - 8, f"{what}: {ms:.1f} ms a step, {moved}", more='font-weight="bold"')]
    rows = [(f"device {d}", lanes[f"device {d}"], DEVICES[d]) for d in range(8)]
    rows.append(("into node 0", [x for name, all in lanes.items() if name.startswith("fabric -> host 0") for x in all], None))
    for i, (name, stretches, colour) in enumerate(rows):
        y = top + i * (thick + 2)
        parts.append(words(LEFT - 8, y + 9, name, "end", 'font-size="10"'))
        if colour:
            parts.append(f'<rect x="{LEFT - 6}" y="{y}" width="4" height="{thick}" fill="{colour}"/>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{inner * ms * 1e3 / end:.2f}" height="{thick}" fill="#eeeeee"/>')
        for start, stop, kind in merged(stretches):
            parts.append(f'<rect x="{LEFT + inner * start / end:.2f}" y="{y}" width="{max(inner * (stop - start) / end, 0.3):.2f}" '
                         f'height="{thick}" fill="{KINDS[kind]}"/>')
    return parts, top + len(rows) * (thick + 2)


def draw(plan):
    with tempfile.TemporaryDirectory() as folder:
        answers = [(asked(plan, search, Path(folder)), what) for search, what in ROWS]
    end = 1e3 * max(ms for (_, _, ms, _), _ in answers)
    title = "AlexNet, 256 images a step, on two nodes of four P100 GPUs"
    parts = [words(14, 22, title, more='font-size="16" font-weight="bold"'),
             words(14, 41, "Each layer's work as a mosaic: one tile for each GPU, in its colour", more='fill="#333333"')]
    parts += tiles(answers[0][0][0], 74)
    x = LEFT
    for kind in ("forward", "backward", "copy"):
        parts += [f'<rect x="{x}" y="187" width="11" height="11" fill="{KINDS[kind]}"/>',
                  words(x + 16, 197, {"copy": "communication"}.get(kind, kind), more='font-size="12"')]
        x += 100
    top = 228
    for (_, lanes, ms, moved), what in answers:
        more, below = timeline(lanes, ms, moved, what, top, end)
        parts += more
        top = below + 28
    inner = WIDTH - LEFT - RIGHT
    for at in range(0, int(end / 1e3) + 1, 10):
        parts.append(words(LEFT + inner * at * 1e3 / end, top - 12, f"{at} ms", "middle" if at else "start", 'font-size="11" fill="#555555"'))
    return picture(WIDTH, top, parts, f"{title}: a strategy and its step, beside data parallelism")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--plan", required=True)
    p.add_argument("--to", type=Path, default=Path(__file__).resolve().parents[1] / "strategy.svg")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    drawn = draw(a.plan)
    if not a.check:
        a.to.write_text(drawn)
    elif not a.to.exists() or a.to.read_text() != drawn:
        print(f"{a.to.name} is not what is drawn; without --check it is written anew", file=sys.stderr)
        return 1
    else:
        print(f"{a.to.name} is what the planner says: {drawn.count('<rect')} rectangles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
