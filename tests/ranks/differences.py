#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not do the same, or of which one throws or leaves, on one node and as if each had one of its own: differences.py PROGRAM
LAUNCHER... Every job must end with an exit code other than 0 and one sentence that says so; the exit code is 1 where one does not."""
import os
import subprocess
import sys
import tempfile

EXPECTED = {
    ("seed", 0): "to train together, and differ: options.seed is ",
    ("optimizer", 0): "to train together, and differ: optimizer.learning_rate is ",
    ("evaluate", 30): "step.kind is ",
    ("leave", 50): "to give back memory",
    ("throw", 50): "the test's own error",
    ("devices", 0): "at least one device, and 0 were asked for",
}


def main():
    program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
    wrong = 0
    for (what, step), words in EXPECTED.items():
        for who, nodes in ((0, []), (1, []), (0, ["1"]), (1, ["1"])):
            with tempfile.TemporaryDirectory() as folder:
                ran = subprocess.run([*launcher, "-n", "2", program, what, str(who), str(step), "20", *nodes], cwd=folder, text=True,
                                     capture_output=True, timeout=60, check=False)
            said = [line for line in ran.stderr.split("\n") if line.startswith("tessera: ")]
            if ran.returncode == 0 or not any(words in line for line in said) or len(said) > 2:
                wrong += 1
                print(f"{what} by rank {who} {'between nodes' if nodes else ''}: exit code {ran.returncode}: {ran.stderr}")
    for nodes in ([], ["1"]):
        good = subprocess.run([*launcher, "-n", "2", program, "none", "0", "0", "20", *nodes], text=True, capture_output=True, timeout=60,
                              check=False)
        if good.returncode != 0 or good.stdout != "200 steps\n" or good.stderr:
            wrong += 1
            print(f"none: exit code {good.returncode}: {good.stdout}{good.stderr}")
    print(f"{4 * len(EXPECTED)} differences, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
