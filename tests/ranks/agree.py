#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a rank while ranks measure strategies, after so many looks at the clock: agree.py PROGRAM LAUNCHER... Every job must end within 20 s with an
exit code other than 0, and name the rank on standard error or in its file; the exit code is 1 where one does not."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
    wrong = 0
    faults = [(who, calls, nodes) for who in (0, 1) for calls in (40, 3000) for nodes in ("0", "1")]
    for who, calls, nodes in faults:
        with tempfile.TemporaryDirectory() as folder:
            try:
                ran = subprocess.run([*launcher, "-n", "2", program, "1", nodes, str(who), str(calls)], cwd=folder, text=True,
                                     capture_output=True, timeout=20, check=False)
            except subprocess.TimeoutExpired:
                wrong += 1
                print(f"rank {who} after {calls} looks, {nodes} ranks a node: it hangs")
                continue
            file = Path(folder, "tessera-failure.txt")
            words = ran.stderr + (file.read_text() if file.exists() else "")
        if ran.returncode == 0 or "tessera: " not in words or f"rank {who} (process" not in words:
            wrong += 1
            print(f"rank {who} after {calls} looks, {nodes} ranks a node: exit code {ran.returncode}: {words}")
    print(f"{len(faults)} faults, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
