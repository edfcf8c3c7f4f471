#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings over ranks with make-believe GPUs: gpu_training.py PROGRAM LAUNCHER... Named strategies must give the numbers of one process and load
each other's checkpoints, on one node and on several. A rank that does otherwise, ends, stops or has an error must end the job with an exit code other
than 0 and words that say so, on standard error or in the file, and leave nothing in /dev/shm; the exit code is 1 where one does not."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXPECTED = {
    "optimizer": ["optimizer.momentum is "],
    "fuse": ["backend.fuse is "],
    "gpus": ["backend_options::gpus of rank {who} does not name a GPU for each of its devices"],
    "size": ["the communication between GPUs failed on GPU", "invalid argument"],
    "shared": ["have one GPU for devices 0 and 1"],
    "connect": ["rank {who} (process", "has ended", "NCCL to connect GPU 0 of rank 0, GPU"],
    "die": ["rank {who} (process", "has ended", "the GPUs to finish a step"],
    "stop": ["rank {who} (process", "is stopped", "the GPUs to finish a step"],
    "fault": ["an illegal memory access was encountered"],
}


def left():
    return {name for name in os.listdir("/dev/shm") if name.startswith("tessera_test_nccl_")}


def run(launcher, ranks, program, arguments, extra=None):
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([*launcher, "-n", str(ranks), program, *[x.format(folder=folder) for x in arguments]], cwd=folder, text=True,
                             capture_output=True, timeout=120, check=False, env={**os.environ, **(extra or {})})
        file = Path(folder, "tessera-failure.txt")
        words = ran.stderr
        for _ in range(30):  # the supervisor writes when the ranks have ended
            if ran.returncode == 0 or "tessera: " in words:
                break
            time.sleep(0.1)
            words = ran.stderr + (file.read_text() if file.exists() else "")
        time.sleep(0.1 if ran.returncode != 0 else 0)
        return ran.returncode, ran.stdout, words + (file.read_text() if file.exists() else "")


def main():
    program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
    before = left()
    wrong = 0
    for ranks, each, nodes in ((2, 1, []), (2, 2, ["1"]), (4, 1, ["2"])):
        code, said, words = run(launcher, ranks, program, ["strategies", "0", str(each), "{folder}", *nodes])
        if code != 0 or " 0 wrong" not in said or words:
            wrong += 1
            print(f"strategies on {ranks} x {each}: exit code {code}: {said}{words}")
    for what, all_words in EXPECTED.items():
        for who in (0, 1):
            extra = {"TESSERA_TEST_SHARED_GPUS": "1"} if what == "shared" else None
            code, said, words = run(launcher, 2, program, [what, str(who), "1", "{folder}"], extra)
            if what in ("connect", "size"):  # killed before all have come, make-believe NCCL cannot remove its own
                for name in left() - before:
                    Path("/dev/shm", name).unlink()
            if code == 0 or any(x.format(who=who) not in words for x in all_words):
                wrong += 1
                print(f"{what} by rank {who}: exit code {code}: {said}{words}")
    code, said, words = run(launcher, 2, program, ["none", "0", "1", "{folder}"])
    if code != 0 or said != "20 steps\n" or words:
        wrong += 1
        print(f"none: exit code {code}: {said}{words}")
    if left() - before:
        wrong += 1
        print(f"left in /dev/shm: {left() - before}")
    print(f"{len(EXPECTED)} differences and faults, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
