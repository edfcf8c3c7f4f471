#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What two of README's programs cost to compile against the headers and against tessera::compiled, and whether they train as fast.

Processor seconds and memory of g++ at -O0 and -O2, the least of --runs, in turns; then both LeNet programs of -O2 are run in turns (they train on
Fashion-MNIST: the package dataset-fashion-mnist) and the ratio of their processor seconds is printed: headers over compiled, so that 1.03
means that the compiled library is 3 % faster. Both must print the same loss.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["core", "search", "execute", "io", "json", "host"]
LINKED = ["-pthread", "-ldnnl", "-lgomp", "-lz"]


def processor_seconds(command):
    """Runs a command; the seconds that it took of the processor, its output, and its peak of memory in MB."""
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen([str(c) for c in command], stdout=words, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(0)
        text = words.read().decode(errors="replace")
    if process.returncode:
        sys.exit(f"programs.py: {' '.join(str(c) for c in command)} failed:\n{text}")
    return usage.ru_utime + usage.ru_stime, text, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=9, help="of runs of the LeNet programs")
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    if min(options.runs, options.pairs, options.steps) < 1:
        parser.error("--runs, --pairs and --steps must be at least 1")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def compile_to(file, flags, to):
            seconds, _, megabytes = processor_seconds([options.compiler, "-std=c++20", *flags, "-I", ROOT / "include", "-c", file, "-o", folder / to])
            return seconds, megabytes

        for part in PARTS:
            source = folder / f"{part}.cpp"
            source.write_text(f"#include <tessera/compiled/{part}.inl>\n")
            seconds, megabytes = compile_to(source, ["-O2", "-DTESSERA_COMPILED"], f"{part}.o")
            print(f"{part}, once, -O2: {seconds:.1f} s, {megabytes:.0f} MB", flush=True)
        library = [folder / "libtessera.a"]
        processor_seconds(["ar", "rc", *library, *(folder / f"{part}.o" for part in PARTS)])
        for program in ("lenet", "gpt"):
            for level in ("-O0", "-O2"):
                least = {}
                for _ in range(options.runs):
                    for side, flags in (("headers", []), ("compiled", ["-DTESSERA_COMPILED"])):
                        seen = compile_to(ROOT / f"benchmarks/compile_time/{program}_program.cpp", [level, *flags],
                                          f"{program}{level}{side}.o")
                        least[side] = min(seen, least.get(side, seen))
                print(f"{program} {level}: " + ", ".join(f"{side} {s:.1f} s, {mb:.0f} MB" for side, (s, mb) in least.items()), flush=True)

        for side, objects in (("headers", []), ("compiled", library)):
            processor_seconds([options.compiler, folder / f"lenet-O2{side}.o", *objects, "-o", folder / side, *LINKED])
        ratios, losses = [], set()
        for i in range(options.pairs):
            seconds = {}
            for side in (("headers", "compiled") if i % 2 == 0 else ("compiled", "headers")):
                seconds[side], text, _ = processor_seconds([folder / side, options.steps])
                losses.add(text)
            ratios.append(seconds["headers"] / seconds["compiled"])
        if len(losses) != 1:
            sys.exit(f"programs.py: the two programs differ: {losses}")
        print(f"{options.steps} steps of LeNet, headers over compiled: {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f}, {options.pairs} pairs)")


if __name__ == "__main__":
    main()
