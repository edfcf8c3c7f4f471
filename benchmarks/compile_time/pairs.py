#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What including the library costs in two versions of it, in interleaved pairs: user seconds of g++ -fsyntax-only.

    pairs.py OLD NEW [--pairs 15] [--headers tessera/tessera.hpp,...]      OLD and NEW are roots of source trees

The first of a pair alternates (AB BA AB ...); each header's first pair of compilations is not counted. The median of the
pairs' ratios, and two order statistics between which the true one lies with at least 95 % confidence.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no __pycache__ in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import paired


def user_seconds(compiler, flags, root, source):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", str(root / "include"), *flags, str(source)]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"pairs.py: {' '.join(command)} failed")
    return usage.ru_utime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-isystem /usr/local/cuda/include")
    parser.add_argument("--headers", default="tessera/tessera.hpp,tessera/host.hpp,tessera/cuda.hpp")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    if options.pairs < 6:
        parser.error("at least 6 pairs, below which there is no interval of 95 percent")

    print("| include | pairs | old, s | new, s | new/old | 95 % interval |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "include.cpp"
        for header in options.headers.split(","):
            source.write_text(f"#include <{header}>\n")
            measured = ([], [])
            for number in range(options.pairs + 1):
                for which in ((0, 1) if number % 2 == 0 else (1, 0)):
                    root = (options.old, options.new)[which]
                    seconds = user_seconds(options.compiler, options.flags.split(), root, source)
                    measured[which].extend([seconds] if number else [])
            row = [header, str(options.pairs), *(f"{statistics.median(side):.3f}" for side in measured)]
            print("| " + " | ".join(row + paired.cells(*measured)) + " |", flush=True)


if __name__ == "__main__":
    main()
