#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds and memory that g++ takes for what users compile: g++ -std=c++20 -c, no other flag. Best of --runs.
Where the seconds are far above the processor's, the machine was busy.

Budgets (g++ 12): core umbrella 0.6 s, host umbrella 1.0 s, AlexNet planned for 4 devices 5 s and 700 MB,
the demo 10 s. With --check, a budget that is not kept gives exit code 1 (on a quiet machine only: it is time).
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGETS = {  # name: seconds, MB (0: none)
    "core umbrella": (0.6, 0),
    "host umbrella": (1.0, 0),
    "compile_time/alexnet_static.cpp": (5.0, 700),
    "examples/fashion_mnist.cpp": (10.0, 0),
}


def compile_once(compiler, source, folder):
    """Wall seconds, processor seconds and peak MB of one compilation; exits with the compiler's words where it fails."""
    command = [compiler, "-std=c++20", "-c", str(source), "-o", str(folder / "out.o"),
               "-I", str(ROOT / "include"), "-I", str(ROOT)]
    with tempfile.TemporaryFile() as words:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=words, stderr=words)
        # The driver waits for cc1plus and as, so its children's peak is in what wait4 reports.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            words.seek(0)
            sys.exit(f"measure.py: {' '.join(command)} failed:\n{words.read().decode(errors='replace')}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit code 1 where a budget is not kept")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")

    over = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = []
        for title, text in (("empty", ""), ("core umbrella", "#include <tessera/tessera.hpp>\n"),
                            ("host umbrella", "#include <tessera/host.hpp>\n")):
            source = folder / (title.replace(" ", "_") + ".cpp")
            source.write_text(text)
            header = text[text.find("<") + 1:text.find(">")] if text else ""
            if header and not (ROOT / "include" / header).exists():
                print(f"measure.py: include/{header} is not there; {title} left out", file=sys.stderr)
                continue
            rows.append((title, source))
        rows += [(f"compile_time/{p.name}", p) for p in sorted((ROOT / "benchmarks/compile_time").glob("*.cpp"))]
        demo = ROOT / "examples/fashion_mnist.cpp"
        if demo.exists():
            rows.append(("examples/fashion_mnist.cpp", demo))

        print(f"{'':36}{'s':>8}{'CPU s':>8}{'MB':>8}   budget")
        for title, source in rows:
            measured = [compile_once(options.compiler, source, folder) for _ in range(options.runs)]
            seconds, processor, megabytes = (min(column) for column in zip(*measured))
            budget = BUDGETS.get(title)
            note = ""
            if budget:
                kept = seconds <= budget[0] and (not budget[1] or megabytes <= budget[1])
                note = f"{budget[0]} s" + (f", {budget[1]} MB" if budget[1] else "") + ("" if kept else "  OVER")
                if not kept:
                    over.append(title)
            print(f"{title:36}{seconds:8.2f}{processor:8.2f}{megabytes:8.0f}   {note}", flush=True)
    if over and options.check:
        sys.exit(f"measure.py: over budget: {', '.join(over)}")


if __name__ == "__main__":
    main()
