#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of Tessera against two processes of PyTorch's DistributedDataParallel over gloo, one thread each, in turns:

    benchmarks/ranks/against_ddp.py [--only ROW] [--turns N] [--seconds S] [--torch PYTHON]
        [--ranks PROGRAM] [--profile FILE]

PYTHON has torch (TESSERA_TORCH_PYTHON, or this one); PROGRAM is rank_peer, started by mpirun. Both sides train the same
network from the same weights on the same batch, at the best settings that they have (benchmarks/peers/torch_peer.py,
rank_peer.cpp), and their losses are compared. FILE keeps what Tessera's side measures at its set-up, for the next run.
A ratio is PyTorch's median of a turn over Tessera's in the turn after it;
printed are the median over the turns with the interval that holds it with 95 % (where there are 6 turns or more, else
all), and both medians. The exit code is 1 where losses differ by more than 1e-3.
"""
import argparse
import glob
import json
import math
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "peers"))
sys.dont_write_bytecode = True
import run
from side import PeerError, Side

# row: network, batch, wanted ratio, steps whose losses are compared
ROWS = {
    "small": ("small", 64, 5, 20),
    "alexnet": ("alexnet", 32, 1.7, 4),
    "resnet50": ("resnet50", 16, 1.3, 3),
}


def resnet50_weights():
    """Weights without biases (4 extents), and pairs of gamma and beta (1) with their gamma, in the order of the files.

    The last norm of a block has a gamma of 0.25: with 1 everywhere the gradients of such deep random networks with norms
    are so large (Yang et al., "A mean field theory of batch normalization", ICLR 2019, as recalled) that PyTorch's own
    losses differ by 8e-3 in the third step between two layouts of memory.
    """
    weights, inputs = [((64, 3, 7, 7), None), ((64,), 1)], 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            weights += [((width, inputs, 1, 1), None), ((width,), 1), ((width, width, 3, 3), None), ((width,), 1)]
            weights += [((4 * width, width, 1, 1), None), ((4 * width,), 0.25)]
            weights += [((4 * width, inputs, 1, 1), None), ((4 * width,), 1)] if block == 0 else []
            inputs = 4 * width
    return weights + [((1000, 2048), None)]


def write_files(folder, network, batch, numpy):
    """Seeded weights and data of one row."""
    if network != "resnet50":
        return run.write_files(folder, network, batch, numpy)
    random = numpy.random.default_rng(20251125)
    weights, data = os.path.join(folder, "weights.bin"), os.path.join(folder, "data.bin")
    with open(weights, "wb") as file:
        for shape, gamma in resnet50_weights():
            if gamma is not None:
                file.write(numpy.full(shape, gamma, "<f4").tobytes() + numpy.zeros(shape, "<f4").tobytes())  # beta of 0
                continue
            bound = math.sqrt(3 / math.prod(shape[1:]))
            file.write(random.uniform(-bound, bound, shape).astype("<f4").tobytes())
        file.write(numpy.zeros(1000, "<f4").tobytes())
    with open(data, "wb") as file:
        file.write(random.standard_normal((batch, 3, 224, 224), dtype="float32").astype("<f4").tobytes())
        file.write(random.integers(0, 1000, batch).astype("<i4").tobytes())
    return weights, data


def interval(ratios):
    """The median, and the order statistics that hold it with 95 %."""
    ordered, n = sorted(ratios), len(ratios)
    place, below = 0, 0.5**n
    while 2 * below <= 0.05:  # of a binomial of n and one half
        place += 1
        below += math.comb(n, place) * 0.5**n
    low = max(0, place - 1)
    return statistics.median(ordered), ordered[low], ordered[n - 1 - low]


def turn(side, count, losses_wanted):
    side.ask("reset")
    _, first = side.steps(2)
    times, rest = side.steps(max(count, losses_wanted - 2))
    return times, (first + rest)[:losses_wanted]


def race(name, options, numpy):
    """Both sides of a row in turns; whether their losses agree."""
    network, batch, wanted, compared = ROWS[name]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    os.environ.update(environment)
    profile = ["--profile", os.path.abspath(options.profile)] if options.profile else []
    sides = []
    with tempfile.TemporaryDirectory(prefix="tessera_ddp_") as folder, tempfile.TemporaryFile() as log:
        weights, data = write_files(folder, network, batch, numpy)
        shared = ["--network", network, "--batch", str(batch), "--devices", "2", "--weights", weights, "--data", data]
        commands = {
            "torch": [options.torch, os.path.join(ROOT, "benchmarks", "peers", "torch_peer.py"), *shared, "--ddp"],
            "tessera": [*options.launcher.split(), "-n", "2", options.ranks, *shared, *profile],
        }
        try:
            for side, command in commands.items():
                sides.append(Side(side, command, log))
                print(f"  {side}: {json.dumps(sides[-1].ready)}", file=sys.stderr, flush=True)
            ratios, medians, difference = [], ([], []), 0.0
            counts = []
            for side in sides:
                counts.append(max(2, min(2000, round(1e3 * options.seconds / statistics.median(turn(side, 3, 0)[0])))))
            for _ in range(options.turns):
                both = [turn(side, count, compared) for side, count in zip(sides, counts)]
                for known, (times, _) in zip(medians, both):
                    known.append(statistics.median(times))
                ratios.append(medians[0][-1] / medians[1][-1])
                difference = max(difference, run.largest_difference(both[1][1], both[0][1]))
        finally:
            for side in sides:
                side.close()
    middle, low, high = interval(ratios)
    agrees = difference <= run.LOSS_TOLERANCE
    print(f"{name:9} batch {batch}: PyTorch {sides[0].ready['version']} DDP {statistics.median(medians[0]):.3f} ms, Tessera's ranks "
          f"{statistics.median(medians[1]):.3f} ms a step ({sides[1].ready['settings']['strategy']}); ratio {middle:.2f}, {low:.2f} to {high:.2f} "
          f"({options.turns} turns; wanted: {wanted}); losses of {compared} steps differ by {difference:.1e}"
          + ("" if agrees else ", TOO MUCH"), flush=True)
    return agrees


def main():
    parser = argparse.ArgumentParser(description="two ranks of Tessera against PyTorch's DDP over gloo")
    parser.add_argument("--only", action="append", choices=list(ROWS))
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a turn (0.5), at least 2 steps")
    parser.add_argument("--torch", default=os.environ.get("TESSERA_TORCH_PYTHON", sys.executable), help="a python that has torch")
    parser.add_argument("--ranks", metavar="PROGRAM", help="default: the newest build/**/rank_peer")
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--launcher", default="mpirun --bind-to none")
    options = parser.parse_args()
    if options.turns < 1 or options.seconds <= 0:
        parser.error("--turns is at least 1, --seconds is more than 0")
    if options.ranks is None:
        found = glob.glob(os.path.join(ROOT, "build", "**", "rank_peer"), recursive=True)
        if not found:
            sys.exit("against_ddp.py: no program rank_peer below build; build the target rank_peer, or name it: --ranks PROGRAM")
        options.ranks = max(found, key=os.path.getmtime)
    try:
        import numpy
    except ImportError:
        sys.exit("against_ddp.py: needs numpy")
    try:
        good = [race(name, options, numpy) for name in options.only or ROWS]
    except PeerError as error:
        sys.exit(f"against_ddp.py: {error}")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
