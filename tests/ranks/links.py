#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of ranks on nodes that are network namespaces of this machine, joined by links of a stated rate:

    links.py --mpi ompi-c|mpich --nodes N [--each RANKS] [--rates MB/s,MB/s...] PROGRAM ARGUMENTS...

Every node has a host name of its own and one way out, whose rate `tc` sets; the launcher starts the ranks of other nodes through an agent, as on a
cluster. In ARGUMENTS {rate} stands for the rate in bytes per second (0: no limit), and {nodes}. The program runs once for every rate. The exit code is the
program's first that is not 0; 77, with the reason, where there can be no such nodes: that needs root, iproute2 and the kernel's veth, bridge and tbf.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = f"ts{os.getpid()}"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def node(k):
    return f"{NAME}-{k}"


def address(k):
    return f"10.83.7.{k + 1}"


def make(nodes):
    ip("netns", "add", f"{NAME}-hub")
    ip("-n", f"{NAME}-hub", "link", "add", "hub", "type", "bridge")
    ip("-n", f"{NAME}-hub", "link", "set", "hub", "up")
    for k in range(nodes):
        ip("netns", "add", node(k))
        ip("-n", node(k), "link", "set", "lo", "up")
        ip("-n", node(k), "link", "add", "out", "type", "veth", "peer", "name", f"to{k}", "netns", f"{NAME}-hub")
        ip("-n", f"{NAME}-hub", "link", "set", f"to{k}", "master", "hub", "up")
        ip("-n", node(k), "address", "add", f"{address(k)}/24", "dev", "out")
        ip("-n", node(k), "link", "set", "out", "up")


def slow(k, rate):
    subprocess.run(["tc", "-n", node(k), "qdisc", "del", "dev", "out", "root"], check=False, capture_output=True)
    if rate > 0:
        bits = int(rate * 8)
        subprocess.run(["tc", "-n", node(k), "qdisc", "add", "dev", "out", "root", "tbf", "rate", f"{bits}bit", "burst",
                        str(max(16384, bits // 2000)), "latency", "400ms"], check=True, capture_output=True, text=True)


def remove(nodes):
    for name in [node(k) for k in range(nodes)] + [f"{NAME}-hub"]:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def launch(mpi, nodes, each, agent, program):
    """The launcher's command line on node 0."""
    if mpi == "ompi-c":
        hosts = ",".join(f"{address(k)}:{each}" for k in range(nodes))
        command = ["mpirun.openmpi", "--host", hosts, "-n", str(nodes * each), "--bind-to", "none", "--mca", "plm_rsh_agent", agent,
                   "--mca", "plm_rsh_no_tree_spawn", "1", *program]
    else:
        hosts = ",".join(f"{address(k)}:{each}" for k in range(nodes))
        command = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", agent, "-hosts", hosts, "-n", str(nodes * each), *program]
    return ["ip", "netns", "exec", node(0), "unshare", "--uts", "sh", "-c", 'hostname node0; exec "$@"', "sh", *command]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--mpi", default="ompi-c")
    p.add_argument("--nodes", type=int, default=2)
    p.add_argument("--each", type=int, default=1)
    p.add_argument("--rates", default="0")
    p.add_argument("program", nargs=argparse.REMAINDER)
    o = p.parse_args()
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        print("skipped: nodes of one's own need root, ip and tc (package iproute2)")
        return 77
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   # What would find memory that the nodes of one machine share, and no network of other makes.
                   "UCX_TLS": "tcp,self", "OMPI_MCA_btl": "tcp,self,vader", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_base_warn_component_unused": "0"}
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder, "agent")
        agent.write_text(f"""#!/bin/sh
# Starts on another node what the launcher asks for: agent [OPTIONS] HOST COMMAND...
while [ "${{1#-}}" != "$1" ]; do shift; done
k=$((${{1##*.}} - 1))
shift
exec ip netns exec {NAME}-$k unshare --uts sh -c "hostname node$k; cd {folder}; $*"
""")
        agent.chmod(0o755)
        try:
            try:
                make(o.nodes)
                slow(0, 1e6)
                slow(0, 0)
            except subprocess.CalledProcessError as e:
                print(f"skipped: the kernel gives no such nodes: {e.stderr.strip()}")
                return 77
            program = [os.path.abspath(o.program[0]), *o.program[1:]]
            for rate in [float(x) * 1e6 for x in o.rates.split(",")]:
                for k in range(o.nodes):
                    slow(k, rate)
                words = [w.replace("{rate}", str(int(rate))).replace("{nodes}", str(o.nodes)) for w in program]
                done = subprocess.run(launch(o.mpi, o.nodes, o.each, str(agent), words), cwd=folder, env=environment, check=False)
                if done.returncode != 0:
                    return done.returncode
        finally:
            remove(o.nodes)
    return 0


sys.exit(main())
