#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tessera against PyTorch on this machine's CPU: ratios of the time of one training step. Builds and installs nothing.

    benchmarks/peers/run.py [--only ROW] [--rounds N] [--json FILE] [--tessera PROGRAM] [--no-gate] [--strict] [--self]

Both sides run alternately in one run (A B A B ...), train the same network from the same weights on the same batch, and
their losses are compared. A ratio is PyTorch's median over Tessera's in one round; the table shows the median, smallest
and largest of the rounds. Every round waits for an idle machine and is repeated when others used it meanwhile.

PROTOCOL. A side is a child process that lives as long as its row of the table:

    PROGRAM --network small --batch 64 --devices 1 --weights W.bin --data D.bin

  networks     all with biases, ending in cross entropy (softmax, mean over the batch):
    small      28x28x1: conv 1->10 5x5, maxpool 2, relu, conv 10->20 5x5, maxpool 2, relu, fc 320-50, relu, fc 50-10
    lenet5     28x28x1: conv 1->6 5x5 pad 2, relu, maxpool 2, conv 6->16 5x5, relu, maxpool 2, fc 400-120, relu, 120-84, relu, 84-10
    alexnet    224x224x3, 1000 classes: conv 3->64 11x11 stride 4 pad 2, relu, maxpool 3 stride 2, conv 64->192 5x5 pad 2, relu,
               maxpool 3 stride 2, conv 192->384 3x3 pad 1, relu, conv 384->256 3x3 pad 1, relu, conv 256->256 3x3 pad 1, relu,
               maxpool 3 stride 2, fc 9216-4096, relu, 4096-4096, relu, 4096-1000 (no dropout)
    mlp        784 values: fc 784-4096, relu, 4096-4096, relu, 4096-10
  --devices    1: one thread that computes, pinned to the first core of the process's affinity mask; 2: two devices of one
               thread each, on two cores
  W.bin        little-endian f32, nothing else; layer after layer: weight (conv [out][in][h][w], fc [out][in]), then bias [out];
               the fc after a convolution numbers its inputs [channel][h][w]
  D.bin        little-endian f32 inputs [batch][channels][h][w] (mlp [batch][784]), then int32 labels [batch]

The child reads one command a line from standard input and answers each with one line of JSON on standard output; anything
else belongs on standard error. Objects may have more fields than these.

  (set-up done)  {"ready": true, "side": "tessera", "version": "...", "settings": {...}}   weights are loaded, plans built
  steps K        {"ms": [K wall times of one step in ms], "loss": [K losses before the update of that step]}
                 K full steps, forward, loss, backward, SGD (learning rate 0.01, no momentum, no weight decay), all in f32, on
                 the whole batch of D.bin; a step's loss is of all devices; copying it out and printing need not be timed
  reset          {"reset": true}    the weights of W.bin again
  quit, or end of input: exit code 0, no answer
  on any error   {"error": "what, where, what to do"}, exit code not 0

Between an answer and the next command the process must be idle: blocked on its input, no worker that spins (20 ms are
granted to settle). run.py measures that and rejects the row otherwise. A set-up may take 10 minutes and may measure: no
other side is started or busy meanwhile.
"""
import argparse
import glob
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leaves no __pycache__ in the source tree
import idle_gate
from side import PeerError, Side

PYTHON = "/usr/bin/python3"  # Debian's, the one that python3-torch belongs to
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# weight shapes, shape of a sample, classes, scale of the weights' bound 1/sqrt(inputs), steps whose losses are compared
NETWORKS = {
    "small": ([(10, 1, 5, 5), (20, 10, 5, 5), (50, 320), (10, 50)], (1, 28, 28), 10, 1.7, 20),
    "lenet5": ([(6, 1, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (10, 84)], (1, 28, 28), 10, 2.0, 20),
    "alexnet": (
        [(64, 3, 11, 11), (192, 64, 5, 5), (384, 192, 3, 3), (256, 384, 3, 3), (256, 256, 3, 3)]
        + [(4096, 9216), (4096, 4096), (1000, 4096)],
        (3, 224, 224), 1000, 1.4, 6,
    ),
    "mlp": ([(4096, 784), (4096, 4096), (10, 4096)], (784,), 10, 1.4, 8),
}
# row: network, batch, wanted ratio on one thread, two threads, two processes
ROWS = {
    "small-64": ("small", 64, 1.4, 1.5, 2.0),
    "small-1024": ("small", 1024, 1.3, 1.25, 1.35),
    "lenet5-64": ("lenet5", 64, 1.5, 1.6, 2.0),
    "alexnet-32": ("alexnet", 32, 1.3, 1.25, 1.6),
    "mlp-256": ("mlp", 256, 1.05, 1.05, 1.5),
}
LOSS_TOLERANCE = 1e-3
SPIN_LIMIT = 0.05  # cores that a side may use while it is another's turn
SETTLE_SECONDS = 0.02


def write_files(folder, network, batch, numpy):
    """Seeded weights and data of one row."""
    shapes, sample, classes, scale, _ = NETWORKS[network]
    random = numpy.random.default_rng(20240501)
    weights, data = os.path.join(folder, "weights.bin"), os.path.join(folder, "data.bin")
    with open(weights, "wb") as file:
        for shape in shapes:
            bound = 1.0 / math.sqrt(math.prod(shape[1:]))
            file.write(random.uniform(-scale * bound, scale * bound, shape).astype("<f4").tobytes())
            file.write(random.uniform(-bound, bound, shape[0]).astype("<f4").tobytes())
    with open(data, "wb") as file:
        file.write(random.standard_normal((batch, *sample), dtype="float32").astype("<f4").tobytes())
        file.write(random.integers(0, classes, batch).astype("<i4").tobytes())
    return weights, data


def run_block(active, sides, count, losses_wanted):
    """One turn of one side, from W.bin's weights: two untimed steps, then `count` timed ones."""
    waiting = [side for side in sides if side is not active]
    time.sleep(SETTLE_SECONDS)
    begin, before = time.monotonic(), [idle_gate.session_seconds(side.process.pid) for side in waiting]
    active.ask("reset")
    _, first = active.steps(2)
    times, rest = active.steps(count)
    for side, cpu in zip(waiting, before):
        side.cpu_while_waiting += idle_gate.session_seconds(side.process.pid) - cpu
        side.seconds_waiting += time.monotonic() - begin
    return times, (first + rest)[:losses_wanted]


def largest_difference(losses, reference):
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(losses, reference))


def run_round(sides, counts, trajectories, options):
    """Medians of ms for each side, and the cores that others used; the calmest of at most --tries."""
    best = None
    for _ in range(1 if options.no_gate else options.tries):
        if not options.no_gate:
            idle_gate.wait_until_idle(options.wait)
        meter = idle_gate.OthersMeter([side.process.pid for side in sides])
        times = [[] for _ in sides]
        for _ in range(options.blocks):
            for index, side in enumerate(sides):
                block, losses = run_block(side, sides, counts[index], len(trajectories[0]))
                times[index] += block
                trajectories.append(losses)
        others = meter.read()
        if best is None or others < best[1]:
            best = [statistics.median(block) for block in times], others
        if others <= idle_gate.OTHERS_LIMIT:
            break
    return best


def compare(sides, wanted, options, losses_wanted):
    """Runs sides[0] against each of the rest; one result per pair."""
    trajectories, counts = [], []
    for side in sides:
        side.ask("reset")
        times, losses = side.steps(losses_wanted)
        trajectories.append(losses)
        calm = statistics.median(times[len(times) // 2 :])
        counts.append(max(3, min(2000, round(1e3 * options.seconds / calm))))
    reference = trajectories[1]  # PyTorch in one process
    rounds = []
    for number in range(options.rounds):
        rounds.append(run_round(sides, counts, trajectories, options))
        print(f"  round {number + 1}: " + ", ".join(f"{side.name} {ms:.3f} ms" for side, ms in zip(sides, rounds[-1][0]))
              + f"; others used {rounds[-1][1]:.3f} cores", file=sys.stderr, flush=True)
    for side in sides:
        used = side.cpu_while_waiting / side.seconds_waiting
        if used > SPIN_LIMIT:
            raise PeerError(f"{side.name}: used {used:.2f} cores while it was another's turn; it must block on its input")
    difference = max(largest_difference(losses, reference) for losses in trajectories)
    results = []
    for index in range(1, len(sides)):
        ratios = [ms[index] / ms[0] for ms, _ in rounds]
        ratio = statistics.median(ratios)
        results.append({
            "peer": sides[index].name, "torch_ms": statistics.median(ms[index] for ms, _ in rounds),
            "tessera_ms": statistics.median(ms[0] for ms, _ in rounds), "ratio": ratio, "ratio_min": min(ratios),
            "ratio_max": max(ratios), "wanted": wanted[index - 1], "met": ratio >= wanted[index - 1] and difference <= LOSS_TOLERANCE,
            "loss_difference": difference, "loss_agrees": difference <= LOSS_TOLERANCE,
            "loss_first": reference[0], "loss_last": reference[-1], "others_cores": max(others for _, others in rounds),
            "torch": sides[index].ready, "tessera": sides[0].ready, "rounds": [ms for ms, _ in rounds],
        })
    return results


def run_group(row, devices, options, numpy, program):
    """Tessera on one or two devices and PyTorch's sides on as many, all alive at the same time, one of them busy."""
    network, batch, one, threads, processes = ROWS[row]
    torch = [PYTHON, os.path.join(HERE, "torch_peer.py")]
    peers = [("torch 1 thread", torch)] if devices == 1 else [("torch 2 threads", torch), ("torch DDP 2x1", [*torch, "--ddp"])]
    sides = []
    with tempfile.TemporaryDirectory(prefix="tessera_peers_") as folder, tempfile.TemporaryFile() as log:
        weights, data = write_files(folder, network, batch, numpy)
        shared = ["--network", network, "--batch", str(batch), "--devices", str(devices), "--weights", weights, "--data", data]
        try:
            for name, command in [("tessera", program), *peers]:
                if not options.no_gate:
                    idle_gate.wait_until_idle(options.wait)
                sides.append(Side(name, [*command, *shared], log))
                print(f"  {name}: {json.dumps(sides[-1].ready.get('settings', {}))}", file=sys.stderr, flush=True)
            wanted = [one] if devices == 1 else [threads, processes]
            results = compare(sides, wanted, options, NETWORKS[network][4])
        finally:
            for side in sides:
                side.close()
    return [{"row": row, "batch": batch, "devices": devices, **result} for result in results]


def print_table(results, options):
    head = ["row", "devices", "peer", "PyTorch ms", "Tessera ms", "ratio", "min", "max", "wanted", "", "losses differ by", ""]
    lines = [head]
    for result in results:
        noisy = result["others_cores"] > idle_gate.OTHERS_LIMIT
        lines.append([
            result["row"], str(result["devices"]), result["peer"], f"{result['torch_ms']:.3f}", f"{result['tessera_ms']:.3f}",
            f"{result['ratio']:.2f}", f"{result['ratio_min']:.2f}", f"{result['ratio_max']:.2f}", f"{result['wanted']:.2f}",
            "-" if options.self else "met" if result["met"] else "NOT MET",
            f"{result['loss_difference']:.1e}" + ("" if result["loss_agrees"] else " TOO MUCH")
            + f" ({result['loss_first']:.4f} -> {result['loss_last']:.4f})",
            f"noisy: others used {result['others_cores']:.2f} cores" if noisy else "",
        ])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def find_program(options):
    """The command of Tessera's side; with --self PyTorch again."""
    if options.self:
        return [PYTHON, os.path.join(HERE, "torch_peer.py")]
    if options.tessera:
        found = [options.tessera]
    else:
        patterns = ["build/peer_tessera", "build/**/peer_tessera"]
        found = [path for pattern in patterns for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
    found = [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]
    if not found:
        where = options.tessera or os.path.join(ROOT, "build")
        sys.exit(f"run.py: no program peer_tessera in {where}; build the target peer_tessera, or name it: --tessera PROGRAM")
    return [os.path.abspath(max(found, key=os.path.getmtime))]


def parse_arguments():
    parser = argparse.ArgumentParser(description="Tessera against PyTorch on the CPU", epilog="protocol: see this file's top")
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="ROW", help=", ".join(ROWS) + "; may be repeated")
    parser.add_argument("--devices", type=int, choices=[1, 2], help="only the comparisons on so many devices")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=2, help="turns of each side in a round (2)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a turn (0.5), at least 3 steps")
    parser.add_argument("--tries", type=int, default=5, help="repetitions of a round that others disturbed (5)")
    parser.add_argument("--wait", type=float, default=90, help="longest wait for an idle machine in s (90)")
    parser.add_argument("--no-gate", action="store_true", help="neither wait for an idle machine nor repeat rounds")
    parser.add_argument("--strict", action="store_true", help="exit code 2 when a ratio is not met or a row is noisy")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("--tessera", metavar="PROGRAM", help="Tessera's side; default: the newest build/**/peer_tessera")
    parser.add_argument("--self", action="store_true", help="PyTorch in Tessera's place: a check of this program")
    options = parser.parse_args()
    if min(options.rounds, options.blocks, options.tries) < 1 or options.seconds <= 0:
        parser.error("--rounds, --blocks and --tries are at least 1, --seconds is more than 0")
    if options.json and not os.path.isdir(os.path.dirname(os.path.abspath(options.json))):
        parser.error(f"--json: {os.path.dirname(os.path.abspath(options.json))} is no directory")
    return options


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("run.py: terminated"))  # unwinds: sides end, files go
    probe = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') and u.find_spec('numpy') else 1)"
    if not os.path.exists(PYTHON) or subprocess.run([PYTHON, "-c", probe], check=False).returncode:
        sys.exit(f"run.py: {PYTHON} has no torch; install it: apt-get install python3-torch libopenblas0-openmp")
    try:
        import numpy
    except ImportError:  # another Python than Debian's runs this file
        os.execv(PYTHON, [PYTHON, *sys.argv])
    program = find_program(options)
    cores = len(os.sched_getaffinity(0))
    if cores < 2 and options.devices != 1:
        sys.exit(f"run.py: two devices need two cores, this process may use {cores}; --devices 1 leaves them out")
    results, failures = [], []
    for row in options.only or ROWS:
        for devices in [options.devices] if options.devices else [1, 2]:
            print(f"{row}, {devices} device{'s' * (devices > 1)}", file=sys.stderr, flush=True)
            try:
                results += run_group(row, devices, options, numpy, program)
            except PeerError as error:
                failures.append(f"{row}, devices {devices}: {error}")
                print(f"  failed: {error}", file=sys.stderr, flush=True)
    if results:
        print_table(results, options)
    if options.json:
        partial = options.json + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump({"cores": cores, "self": options.self, "results": results, "failures": failures}, file, indent=1)
        os.replace(partial, options.json)
    for failure in failures:
        print("FAILED " + failure)
    if failures or not all(result["loss_agrees"] for result in results):
        sys.exit(1)
    noisy = any(result["others_cores"] > idle_gate.OTHERS_LIMIT for result in results)
    if options.strict and (noisy or not (options.self or all(result["met"] for result in results))):
        sys.exit(2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("run.py: interrupted")
