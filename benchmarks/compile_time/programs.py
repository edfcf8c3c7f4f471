#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What two of README's programs cost to compile against the headers and against the compiled runtime, and whether they train as fast.

Processor seconds of g++ at -O0 and -O2, the least of --runs, in turns; then both LeNet programs of -O2 are run in turns (they train on
Fashion-MNIST: the package dataset-fashion-mnist) and the ratio of their processor seconds is printed: headers over runtime, so that 1.03
means that the runtime is 3 % faster. Both must print the same loss.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINKED = ["-pthread", "-ldnnl", "-lgomp", "-lz"]


def processor_seconds(command):
    """Runs a command; its output and the seconds that it took of the processor."""
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen([str(c) for c in command], stdout=words, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(0)
        text = words.read().decode(errors="replace")
    if process.returncode:
        sys.exit(f"programs.py: {' '.join(str(c) for c in command)} failed:\n{text}")
    return usage.ru_utime + usage.ru_stime, text


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
        source = folder / "runtime.cpp"
        source.write_text("#include <tessera/runtime/host_source.inl>\n")

        def compile_to(file, flags, to):
            return processor_seconds([options.compiler, "-std=c++20", *flags, "-I", ROOT / "include", "-c", file,
                                      "-o", folder / to])[0]

        print(f"runtime, once, -O2: {compile_to(source, ['-O2'], 'runtime.o'):.1f} s")
        for program in ("lenet", "gpt"):
            for level in ("-O0", "-O2"):
                least = {}
                for _ in range(options.runs):
                    for side, flags in (("headers", []), ("runtime", ["-DTESSERA_COMPILED"])):
                        seconds = compile_to(ROOT / f"benchmarks/compile_time/{program}_program.cpp", [level, *flags],
                                             f"{program}{level}{side}.o")
                        least[side] = min(seconds, least.get(side, seconds))
                print(f"{program} {level}: headers {least['headers']:.1f} s, runtime {least['runtime']:.1f} s", flush=True)

        for side, objects in (("headers", []), ("runtime", [folder / "runtime.o"])):
            processor_seconds([options.compiler, folder / f"lenet-O2{side}.o", *objects, "-o", folder / side, *LINKED])
        ratios, losses = [], set()
        for i in range(options.pairs):
            seconds = {}
            for side in (("headers", "runtime") if i % 2 == 0 else ("runtime", "headers")):
                seconds[side], text = processor_seconds([folder / side, options.steps])
                losses.add(text)
            ratios.append(seconds["headers"] / seconds["runtime"])
        if len(losses) != 1:
            sys.exit(f"programs.py: the two programs differ: {losses}")
        print(f"{options.steps} steps of LeNet, headers over runtime: {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f}, {options.pairs} pairs)")


if __name__ == "__main__":
    main()
