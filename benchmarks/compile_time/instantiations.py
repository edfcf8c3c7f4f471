#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Template instantiations of the fixed programs beside this file, against the counts in instantiations.json.

Counts, unlike seconds, are the same on every run: clang 14's -ftime-trace lists each class and function it instantiates.
More than 3 % above the recorded count fails; --update records what is counted now, for review as part of a change.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = HERE / "instantiations.json"
COMPILER = "clang++-14"
TOLERANCE = 0.03


def count(source, folder):
    out = folder / f"{source.stem}.o"
    command = [COMPILER, "-std=c++20", "-c", str(source), "-o", str(out), "-I", str(ROOT / "include"), "-I", str(ROOT),
               "-ftime-trace", "-ftime-trace-granularity=0"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"instantiations.py: {' '.join(command)} failed:\n{done.stderr}")
    events = json.loads(out.with_suffix(".json").read_text())["traceEvents"]
    return sum(event["name"] in ("InstantiateClass", "InstantiateFunction") for event in events)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record the counts of now")
    options = parser.parse_args()

    if shutil.which(COMPILER) is None:
        sys.exit(f"instantiations.py: {COMPILER} is not there; install clang-14")
    sources = sorted(s for s in HERE.glob("*.cpp") if not s.stem.endswith("_program"))  # those are programs.py's
    if not options.update and not RECORD.exists():
        sys.exit(f"instantiations.py: {RECORD} is not there; write it with --update")
    if not sources:
        sys.exit(f"instantiations.py: no program in {HERE}")
    with tempfile.TemporaryDirectory() as name:
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            counts = dict(zip((source.name for source in sources), workers.map(lambda one: count(one, Path(name)), sources)))
    if options.update:
        RECORD.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
    recorded = json.loads(RECORD.read_text())

    wrong = [f"{name} is recorded, but the program is gone" for name in sorted(recorded.keys() - counts.keys())]
    print(f"{'':28}{'now':>8}{'recorded':>10}{'change':>9}")
    for name, now in counts.items():
        if name not in recorded:
            wrong.append(f"{name} is not recorded")
            print(f"{name:28}{now:8}{'-':>10}")
            continue
        change = now / recorded[name] - 1
        print(f"{name:28}{now:8}{recorded[name]:10}{change:+9.1%}")
        if change > TOLERANCE:
            wrong.append(f"{name} instantiates {change:.1%} more than recorded")
    if wrong:
        sys.exit("instantiations.py: " + "; ".join(wrong) + ". If that is meant, record it with --update.")


if __name__ == "__main__":
    main()
