# SPDX-License-Identifier: Apache-2.0
"""Pictures of the gallery: runs the commands of the page, and draws the traces that they write."""
import json
import os
import subprocess
from pathlib import Path

import svg
from page_parts import parts_of


def make(root: Path, plan: Path, to: Path):
    """Runs the shell blocks of docs/gallery.md in a folder. Raises where one fails."""
    to.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, PATH=f"{plan.resolve().parent}:{os.environ['PATH']}")
    for part in parts_of((root / "docs/gallery.md").read_text()):
        if part.info == "sh":
            ran = subprocess.run(["bash", "-euc", part.body], cwd=to, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if ran.returncode:
                raise ValueError(f"docs/gallery.md:{part.line} ends with {ran.returncode}:\n{ran.stdout}{ran.stderr}")


def draw_trace(path: Path, name):
    """The devices of a trace over time."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    rows, kinds, end = {}, {}, 0
    for e in events:
        lane = names.get(e.get("tid"), "")
        if e["ph"] == "X" and lane.startswith("device ") and "," not in lane:
            rows.setdefault(lane, []).append((e["ts"], e["ts"] + e["dur"], e["cat"]))
            kinds[e["cat"]] = e["cat"]
            end = max(end, e["ts"] + e["dur"])
    if not rows:
        raise ValueError(f"{path} has no stretches of time on devices")
    order = [k for k in ("forward", "backward", "recompute", "update", "copy", "sum", "collective") if k in kinds]
    return svg.lanes(f"{name}: a step, simulated", sorted(rows.items()), order, end)
