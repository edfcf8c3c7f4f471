#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A launcher that hangs is ended where a rank of it has ended early, and only then: launcher.py LAUNCHER PROGRAM.

LAUNCHER is ranks_launcher, called as Open MPI's launcher is; PROGRAM is ranks_failures, which it starts as a rank.
"""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def launch(how, what, number):
    """Exit code, seconds and standard error of a launcher of one rank, which is `number` of its node.

    The exit code is None where the launcher is still there after 8 s.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMPI_COMM_WORLD")}
    environment["OMPI_COMM_WORLD_RANK"] = environment["OMPI_COMM_WORLD_LOCAL_RANK"] = str(number)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sys.argv[1], Path(folder, "orterun"))
        with Path(folder, "said").open("w") as said:
            command = [Path(folder, "orterun"), how, os.path.abspath(sys.argv[2]), what, "0", "0", "3"]
            job = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=said,
                                   start_new_session=True)
        begun = time.monotonic()
        try:
            code = job.wait(timeout=8)
        except subprocess.TimeoutExpired:
            code = None
        took = time.monotonic() - begun
        try:
            os.killpg(job.pid, signal.SIGKILL)  # and what it has started
        except ProcessLookupError:
            pass
        job.wait()
        return code, took, Path(folder, "said").read_text()


def main():
    wrong = 0
    cases = [
        ("hangs", "kill", 0, -signal.SIGKILL, "a rank has been killed and the launcher hangs"),
        ("hangs", "kill", 1, -signal.SIGKILL, "so of the second rank of a node"),
        ("hangs", "kill", 2, None, "the first two of a node see to it"),
        ("hangs", "leave", 0, None, "a rank has ended well"),
        ("reads", "kill", 0, None, "the launcher is busy"),
        ("stops", "kill", 0, 1, "it waits for one that is stopped"),
    ]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # they wait most of the time
        launched = list(pool.map(lambda case: launch(*case[:3]), cases))
    for (_, _, _, ends, why), (code, took, said) in zip(cases, launched):
        right = code == ends and ("the launcher (process" in said) == (ends == -signal.SIGKILL)
        wrong += not right
        print(f"{'right' if right else 'WRONG'}: {why}: exit code {code} after {took:.1f} s", flush=True)
        if not right:
            print(said)
    return 1 if wrong else 0


sys.exit(main())
