#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills or stops a random rank at a random moment, and holds what the others do: faults.py COUNT SEED RANKS PROGRAM LAUNCHER...

PROGRAM is ranks_failures, which trains for ever. A fault is right where the job ends with an exit code other than 0 within 5 s (10 s and the
deadline of 3 s for a rank that is stopped, and with TESSERA_RANKS_OF_NODE in the environment 9 s more; the longest are printed), where the sentence on standard error or in the file names the rank, and nothing is left: no process, no file
in /dev/shm. Before the ranks share memory there is nobody to name who is gone: then the launcher ends the job, which is counted, and MPI may leave
its own file. The exit code is 1
where a fault is not right.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 3
NODES = [os.environ["TESSERA_RANKS_OF_NODE"]] if "TESSERA_RANKS_OF_NODE" in os.environ else []
SILENCE = 9 if NODES else 0  # seconds after which a rank of another node counts as gone
LATEST = float(os.environ.get("TESSERA_FAULTS_LATEST", "1.5"))  # seconds after the start at which a fault is
LAUNCHER = "tessera: the launcher (process "  # how what is said of one that hung, and was ended, begins
hung = set()  # faults of which it was said
longest = {}  # seconds until the job has ended, by signal


def ranks_of(program, session):
    """Process numbers of the ranks by rank: those of the program that the launcher has started, and not the supervisor, which is in a session of its own."""
    found = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if os.path.basename(os.readlink(process / "exe")) != os.path.basename(program):
                continue
            environment = dict(x.split("=", 1) for x in (process / "environ").read_bytes().decode().split("\0") if "=" in x)
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, UnicodeDecodeError):
            continue
        if environment.get("TESSERA_FAULT") != session or state[0] == "Z":
            continue
        rank = environment.get("OMPI_COMM_WORLD_RANK", environment.get("PMI_RANK"))
        if rank is not None and int(state[1]) != 1:
            found.setdefault(int(rank), int(process.name))
        elif int(state[1]) == 1:
            found[-1] = int(process.name)
    return found


def has_supervisor(session):
    """Whether the ranks share memory: from then on a process of theirs watches them."""
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "comm").read_text() == "ts-supervisor\n":
                if f"TESSERA_FAULT={session}\0".encode() in (process / "environ").read_bytes():
                    return True
        except OSError:
            continue
    return False


def held():
    """Names in /dev/shm that a process has mapped or open: not left by anybody, but another program's."""
    found = set()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            paths = [line.split(None, 5)[-1] for line in (process / "maps").read_text().splitlines() if "/dev/shm/" in line]
            paths += [os.readlink(f) for f in (process / "fd").iterdir()]
        except OSError:
            continue
        found.update(x.strip().removeprefix("/dev/shm/") for x in paths if x.startswith("/dev/shm/"))
    return found


def fault(number, draw, ranks, program, launcher):
    how = draw.choice([signal.SIGKILL, signal.SIGSTOP])
    who = draw.randrange(ranks)
    delay = draw.choice([draw.uniform(low, min(high, LATEST)) for low, high in ((0, 0.05), (0, 0.3), (0.3, 1.5)) if low < LATEST])
    session = f"{os.getpid()}-{number}"
    shared = set(os.listdir("/dev/shm"))
    with tempfile.TemporaryDirectory() as folder:
        job = subprocess.Popen([*launcher, "-n", str(ranks), program, "none", "0", "-1", str(PATIENCE), *NODES], cwd=folder,
                               env={**os.environ, "TESSERA_FAULT": session}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        begun = time.monotonic()
        there = {}
        while who not in there and time.monotonic() - begun < 20:
            there = ranks_of(program, session)
        time.sleep(delay)
        shares = has_supervisor(session)
        try:
            os.kill(there[who], how)
        except (KeyError, ProcessLookupError):
            job.kill()
            return f"rank {who} has ended before its fault"
        hit = time.monotonic()
        what = f"{'kill' if how == signal.SIGKILL else 'stop'} of rank {who} of {ranks} after {delay:.2f} s"
        allowed = 5 + SILENCE if how == signal.SIGKILL else PATIENCE + SILENCE + 10  # on a machine that others use, too
        try:
            words = job.communicate(timeout=allowed + 20)[1]
        except subprocess.TimeoutExpired:
            for process in ranks_of(program, session).values():
                os.kill(process, signal.SIGKILL)
            job.kill()
            return f"{what}: it hangs"
        took = time.monotonic() - hit
        if how == signal.SIGSTOP:
            try:
                os.kill(there[who], signal.SIGCONT)
            except ProcessLookupError:
                pass
        time.sleep(0.5)
        left = ranks_of(program, session)
        file = Path(folder, "tessera-failure.txt")
        words += file.read_text() if file.exists() else ""
        hung.update([number] if LAUNCHER in words else [])
        words = "\n".join(line for line in words.split("\n") if LAUNCHER not in line)  # of the ranks it says nothing
        if left:
            for process in left.values():
                os.kill(process, signal.SIGKILL)
            return f"{what}: processes {left} are left"
        names = set(os.listdir("/dev/shm")) - shared
        if names:  # of a program that runs beside, or has run: what is left stays, and nobody has it
            names -= held()
            time.sleep(0.5)
            names &= set(os.listdir("/dev/shm"))
        if "tessera: " not in words:  # MPI itself is starting: the file is its own, and it alone knows of it
            for name in [x for x in names if x.startswith(("mpich_shar_tmp", "ucx_shm_posix"))]:
                Path("/dev/shm", name).unlink()
                names.remove(name)
        if names:
            return f"{what}: {names} is left in /dev/shm"
        if job.returncode == 0:
            return f"{what}: the exit code is 0"
        if took > allowed:
            return f"{what}: it took {took:.1f} s"
        longest[how] = max(longest.get(how, 0), took)
        if "tessera: " not in words:
            return "" if not shares else f"{what}: no word of it: {words[-300:]}"
        said = [line for line in words.split("\n") if line.startswith("tessera: ")] or [words[words.index("tessera: "):]]
        if NODES and len(said) > 1:  # of other nodes the supervisors know only that the launcher has ended their ranks, and say so
            said = [line for line in said if "was ended by SIGTERM" not in line] or said
        first = said[0]
        if f"rank {who} (process {there[who]}" not in first:
            return f"{what}: '{first}' does not name it"
    return None


def main():
    count, seed, ranks, program = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), os.path.abspath(sys.argv[4])
    draw = random.Random(seed)
    wrong = early = 0
    for number in range(count):
        state = draw.getstate()
        said = fault(number, draw, ranks, program, sys.argv[5:])
        if said and os.environ.get("TESSERA_FAULTS_AGAIN"):  # one in some forty is still named wrongly: twice the same fault is not chance
            print(f"again, for {said}", flush=True)
            draw.setstate(state)
            said = fault(f"{number}-again", draw, ranks, program, sys.argv[5:])
        early += said == ""
        if said:
            wrong += 1
            print(said, flush=True)
        elif sys.stdout.isatty():
            print(f"\r{number + 1} of {count}", end="", flush=True)
    times = ", ".join(f"{s.name} {t:.2f} s" for s, t in sorted(longest.items()))
    print(f"{count} faults of {ranks} ranks, {early} before the ranks shared memory, {wrong} wrong; in {len(hung)} the launcher "
          f"hung and was ended; longest until the end: {times}")
    return 1 if wrong else 0


sys.exit(main())
