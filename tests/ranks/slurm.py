#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training under Slurm whose ranks are killed, and which goes on: slurm.py PROGRAM MPI_TYPE, of ranks_resumed and pmix or
pmi2.

Starts a Slurm of one node (Debian's slurm-wlm) in a folder of its own, gives it examples/slurm.sh, kills a rank twice, and
wants at the end the weights of a training that nobody killed. The exit code is 77, with the reason, where there is no Slurm
or it does not start."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 60
CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={port}
SlurmdPort={port1}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmctldTimeout=30
InactiveLimit=0
KillWait=2
SlurmdParameters=config_overrides
NodeName=localhost CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
"""


def skipped(why):
    print(f"skipped: {why}")
    sys.exit(77)


def output_of(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


class Slurm:
    """The daemons of one node, as long as it lives."""

    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        for name in ("state", "spool"):
            Path(folder, name).mkdir()
        port = 20000 + os.getpid() % 20000
        Path(folder, "slurm.conf").write_text(CONFIGURATION.format(folder=folder, port=port, port1=port + 1))
        Path(folder, "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
        key = Path(folder, "munge.key")
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        os.chmod(folder, 0o755)
        files = {"key": key, "pid": f"{folder}/munge.pid", "log": f"{folder}/munge.log", "seed": f"{folder}/munge.seed"}
        self.start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
                   *(f"--{name}-file={path}" for name, path in files.items()))
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D", "-N", "localhost")
        for _ in range(60):
            if "idle" in output_of(["sinfo", "-h", "-o", "%t"]).stdout:
                return
            time.sleep(0.5)
        logs = "; ".join(x.read_text()[-300:] for x in Path(folder).glob("*.log"))
        self.stop()
        skipped(f"Slurm does not start here: {logs}")

    def start(self, program, *arguments):
        path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        with open(f"{self.folder}/{program}.log", "w") as log:
            self.daemons.append(subprocess.Popen([path, *arguments], stdout=log, stderr=log, start_new_session=True))
        time.sleep(0.5)

    def stop(self):
        for d in reversed(self.daemons):
            d.terminate()
        for d in self.daemons:
            try:
                d.wait(10)
            except subprocess.TimeoutExpired:
                d.kill()


def ranks_of(program):
    found = []
    for process in Path("/proc").iterdir():
        try:
            ours = process.name.isdigit() and os.readlink(process / "exe") == program
            if ours and b"SLURM_PROCID=" in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            pass
    return found


def newest(folder):
    return max((int(x.name[5:]) for x in Path(folder).glob("step-*") if (x / "COMMIT").exists()), default=0)


def main():
    program, mpi_type = os.path.abspath(sys.argv[1]), sys.argv[2]
    missing = [x for x in ("munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo")
               if shutil.which(x, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None]
    if missing or os.geteuid() != 0:
        why = "not root, who alone starts Slurm"
        skipped(f"{', '.join(missing)} not found (Debian's slurm-wlm)" if missing else why)
    examples = str(Path(__file__).parents[2] / "examples")
    with tempfile.TemporaryDirectory() as folder:
        wanted = output_of([program, folder + "/whole", str(STEPS), "4", "0", "zero"], cwd=folder).stdout.split()[-1]
        slurm = Slurm(folder)
        try:
            job = output_of(["sbatch", "--parsable", "--ntasks=4", f"--chdir={folder}", f"--output={folder}/said.txt",
                             f"{examples}/slurm.sh", program, folder + "/run", str(STEPS), "1", "60", "zero"],
                            env={**os.environ, "TESSERA_EXAMPLES": examples, "SLURM_MPI_TYPE": mpi_type}, cwd=folder)
            if job.returncode != 0:
                raise SystemExit(f"sbatch: {job.stdout}{job.stderr}")
            said, kills, until = Path(folder, "said.txt"), 0, time.monotonic() + 120
            while output_of(["squeue", "-h", "-j", job.stdout.strip()]).stdout.strip() and time.monotonic() < until:
                there = ranks_of(program)
                if kills < 2 and there and newest(folder + "/run") > 15 * (kills + 1):
                    os.kill(there[kills % len(there)], signal.SIGKILL)
                    kills += 1
                    time.sleep(3)
                time.sleep(0.2)
            words = said.read_text() if said.exists() else ""
            if kills != 2 or words.count("starting again") != 2 or f"to {STEPS}: {wanted}" not in words:
                raise SystemExit(f"after {kills} kills, and without {wanted}: {words}")
            starts = [line.split(" ")[2] for line in words.splitlines() if line.startswith("from step ")]
            print(f"4 ranks under Slurm by {mpi_type}: {kills} kills, went on from step {starts[-1]}, and ended with the "
                  "weights of one process")
        finally:
            slurm.stop()


main()
