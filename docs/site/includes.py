#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The picture of includes in docs/architecture.md: how many times files of each layer include files of each other one.

  includes.py [--root include] [--to docs/includes.svg] [--table | --check]

A row includes, a column is included; the order is that of tests/include_layers/check.cmake, so that all is on and below the diagonal. With --table the
numbers go to the output and nothing is written; --check only says whether the picture is that of the files.
"""
import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from svg import picture, words  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CELL, LEFT, TOP = 40, 92, 92


def layers():
    """In their order; io, which includes all, last."""
    text = (ROOT / "tests/include_layers/check.cmake").read_text()
    return [*re.search(r"^set\(layers (.*)\)", text, re.M)[1].split(), "io"]


def includes(root, order):
    """(layer, included layer): how many times, by headers and their bodies; and how many files each layer has."""
    counts, files = Counter(), Counter()
    for path in sorted([*root.rglob("*.hpp"), *root.rglob("*.inl")]):
        own = path.relative_to(root / "tessera").parts[0]
        if own not in order or path.name in ("begin_header.inl", "end_header.inl"):
            continue
        files[own] += 1
        for other in re.findall(r'^#include ["<]tessera/(\w+)/(?!begin_header|end_header)', path.read_text(), re.M):
            if other in order:
                counts[own, other] += 1
    return counts, files


def drawn(counts, files, order):
    size = CELL * len(order)
    parts = [words(14, 20, "What each layer includes: how many times its files (rows) include those of another (columns)", more='font-weight="bold"')]
    for i, name in enumerate(order):
        x, y = LEFT + CELL * i + CELL / 2, TOP + CELL * i + CELL / 2
        parts += [words(LEFT - 8, y + 4, name, "end"), words(0, 0, name, more=f'transform="translate({x + 4:.0f},{TOP - 8}) rotate(-45)"'),
                  words(LEFT + size + 8, y + 4, f"{files[name]} files", more='font-size="11" fill="#555555"')]
    for i, row in enumerate(order):
        for k, column in enumerate(order):
            n = counts[row, column]
            shade = min(1.0, (n / 100) ** 0.5) if n else 0
            ground = "#f2f2f2" if i == k else "white"
            if i != k and n:
                ground = "#%02x%02x%02x" % tuple(round(255 + (c - 255) * (0.12 + 0.88 * shade)) for c in (59, 110, 168))
            x, y = LEFT + CELL * k, TOP + CELL * i
            parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{ground}" stroke="#dddddd"/>')
            if n:
                colour = "#888888" if i == k else "white" if shade > 0.5 else "#1b2530"
                parts.append(words(x + CELL / 2, y + CELL / 2 + 4, n, "middle", f'font-size="12" fill="{colour}"'))
    return picture(LEFT + size + 76, TOP + size + 14, parts, "What each layer includes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT / "include")
    parser.add_argument("--to", type=Path, default=ROOT / "docs/includes.svg")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    order = layers()
    counts, files = includes(options.root, order)
    if options.table:
        for row in order:
            print(f"{row:9} {files[row]:4} files:", ", ".join(f"{column} {counts[row, column]}" for column in order if counts[row, column]))
        return
    text = drawn(counts, files, order)
    if not options.check:
        options.to.write_text(text)
    elif text != options.to.read_text():
        sys.exit(f"{options.to} is not the picture of these files; run python3 docs/site/includes.py")


if __name__ == "__main__":
    main()
