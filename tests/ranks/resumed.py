#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training over ranks that is killed at random moments and resumed: resumed.py KILLS SEED PROGRAM LAUNCHER...

Ends with bitwise the weights, statistics and optimizer state of one that was not killed, under the same strategy, over other numbers of ranks for the same
devices (the seed says which strategy: tensors whole, in slices or in boxes of ranks); every checkpoint that is there loads; a
damaged newest one is left out, by name, for the one before."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 60


def run(launcher, program, ranks, folder, *arguments):
    return [*launcher, "-n", str(ranks), program, folder, *map(str, arguments)]


def said(command, folder):
    ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=120, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"{command}: exit code {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout


def main():
    kills, draw, program, launcher = int(sys.argv[1]), random.Random(int(sys.argv[2])), os.path.abspath(sys.argv[3]), sys.argv[4:]
    strategy = ("data", "zero", "model", "compressed")[int(sys.argv[2]) % 4]
    splits = [(1, 4, 0), (2, 2, 0), (4, 1, 0), (4, 1, 2), (2, 2, 1)]  # ranks, devices of each, ranks of a node (0: one node has all)
    with tempfile.TemporaryDirectory() as folder:
        wanted = said(run(launcher, program, 1, folder + "/whole", STEPS, 4, 0, strategy), folder).split()[-1]
        killed = 0
        while killed < kills:
            ranks, each, node = draw.choice(splits)
            job = subprocess.Popen(run(launcher, program, ranks, folder + "/killed", STEPS, each, 10 * kills, strategy, node), cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(draw.uniform(0.3, 0.9))
            if job.poll() is not None:
                break
            os.killpg(job.pid, signal.SIGKILL)
            for process in Path("/proc").iterdir():  # ranks are in groups of their own
                try:
                    if process.name.isdigit() and os.readlink(process / "exe") == program:
                        os.kill(int(process.name), signal.SIGKILL)
                except OSError:
                    pass
            job.wait()
            killed += 1
        loop = [str(Path(__file__).parents[2] / "examples" / "until_done.sh"), "3"]
        found = said(loop + run(launcher, program, 4, folder + "/killed", STEPS, 1, 0, strategy, 2), folder)
        if found.split()[-1] != wanted:
            raise SystemExit(f"after {killed} kills {found}, and without {wanted}")
        kept = sorted(os.listdir(folder + "/killed"))
        if [k for k in kept if k.startswith("step-")] != [f"step-{s:012}" for s in (STEPS - 1, STEPS)]:
            raise SystemExit(f"kept: {kept}")
        for ranks, each, node in splits:
            again = said(run(launcher, program, ranks, folder + "/killed", STEPS, each, 0, strategy, node), folder)
            if again.split()[-1] != wanted or f"from step {STEPS} " not in again:
                raise SystemExit(f"loaded by {ranks} ranks, {node} on a node: {again}")
        newest = Path(folder, "killed", f"step-{STEPS:012}")
        part = next(newest.glob("model-*2*.safetensors"), next(newest.glob("model*.safetensors")))
        data = bytearray(part.read_bytes())
        data[-1] ^= 1
        part.write_bytes(data)
        damaged = said(run(launcher, program, 2, folder + "/killed", STEPS, 2, 0, strategy), folder)
        if f"from step {STEPS - 1} " not in damaged or part.name not in damaged or wanted not in damaged:
            raise SystemExit(f"a damaged file: {damaged}")
        left = [x for x in os.listdir(folder + "/killed") if "tmp" in x]
        if left:
            raise SystemExit(f"left: {left}")
    print(f"{killed} kills under \"{strategy}\", bitwise the same after {STEPS} steps")


main()
