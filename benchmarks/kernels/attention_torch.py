# SPDX-License-Identifier: Apache-2.0
"""The host's kernels of attention beside PyTorch's scaled_dot_product_attention on the CPU, forward and backward in
fp32, in one run: a round is one of PyTorch's on tensors as they come out of a linear layer ([N, T, heads x width], seen
as [N, heads, T, width]), one on dense [N, heads, T, width], and one of the kernels', in turns. Both compute the same
numbers, which are compared first.

Usage: attention_torch.py [--peer build/bench/benchmarks/kernels/attention_peer] [--threads 1 2] [--positions 128 1024 4096]
                          [--heads 8] [--groups 8] [--width 64] [--samples 1] [--full] [--rounds 15]       (needs torch)

Without --peer it compiles the peer with c++ -O2. Ratios are PyTorch's time over ours, of its faster kind: the median
over rounds with its interval of 95 % by the clock, and by the processor's time, which a machine that others use as well
disturbs less; with several threads that counts also what they spin.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as functional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "support"))
from paired import interval  # noqa: E402


def compiled(folder):
    peer = os.path.join(folder, "attention_peer")
    subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT}", f"-I{ROOT}/include", "-o", peer,
                    f"{ROOT}/benchmarks/kernels/attention_peer.cpp", "-pthread"], check=True)
    return peer


def torch_side(q, k, v, dy, causal, grouped):
    """A step: its milliseconds forward, backward, of the processor, and its results."""
    def run():
        processor, begin = time.process_time(), time.perf_counter()
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)
        between = time.perf_counter()
        gradients = torch.autograd.grad(y, (q, k, v), dy)
        end = time.perf_counter()
        return (between - begin) * 1e3, (end - between) * 1e3, (time.process_time() - processor) * 1e3, (y, *gradients)
    return run


def case(a, peer_path, folder, positions, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(positions)
    heads = {"q": a.heads, "k": a.groups, "v": a.groups, "dy": a.heads}
    flat = {name: torch.randn(a.samples, positions, h * a.width) for name, h in heads.items()}
    path = os.path.join(folder, f"numbers-{positions}-{threads}.bin")
    with open(path, "wb") as file:
        for x in flat.values():
            file.write(bytes(x.untyped_storage()))

    def made(dense):
        t = {name: x.view(a.samples, positions, heads[name], a.width).transpose(1, 2) for name, x in flat.items()}
        t = {name: (x.contiguous() if dense else x).detach().requires_grad_(name != "dy") for name, x in t.items()}
        return torch_side(*t.values(), not a.full, a.groups < a.heads)

    sides = {"torch": made(False), "torch, dense": made(True)}
    numbers = [a.samples, positions, a.heads, a.groups, a.width, int(not a.full), threads]
    peer = subprocess.Popen([peer_path, *map(str, numbers), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(what):
        peer.stdin.write(what + "\n")
        peer.stdin.flush()
        return peer.stdout.readline().split()

    def ours():
        return tuple(float(x) for x in ask("run"))

    ours()
    ask("write")
    with open(path, "rb") as file:
        found = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    expected = [x.transpose(1, 2).reshape(-1) for x in sides["torch"]()[3]]
    worst = max(float((f - e.detach()).abs().max()) for f, e in zip(found.split([e.numel() for e in expected]), expected))

    rounds = max(a.rounds, int(a.rounds * 1024 / positions))
    times = {name: [] for name in (*sides, "ours")}
    for _ in range(rounds):
        for name, run in sides.items():
            times[name].append(run()[:3])
        time.sleep(0.01)  # PyTorch's threads spin for a while
        times["ours"].append(ours())
    peer.stdin.close()
    peer.wait()

    def of(name, what):
        return [{"forward": t[0], "backward": t[1], "both": t[0] + t[1], "processor": t[2]}[what] for t in times[name]]

    faster = min(sides, key=lambda name: statistics.median(of(name, "both")))
    cheaper = min(sides, key=lambda name: statistics.median(of(name, "processor")))
    print(f"T {positions:5}, {threads} thread{'s' if threads > 1 else ' '}: "
          + ", ".join(f"{name} {statistics.median(of(name, 'forward')):.3f} + {statistics.median(of(name, 'backward')):.3f} ms"
                      for name in times) + f"; numbers differ by {worst:.1e}")
    for what in ("forward", "backward", "both"):
        ratios = [t / o for t, o in zip(of(faster, what), of("ours", what))]
        low, high = interval(ratios)
        print(f"    {what:9} {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})", end="")
    ratios = [t / o for t, o in zip(of(cheaper, "processor"), of("ours", "processor"))]
    print(f"    processor {statistics.median(ratios):.2f} ({interval(ratios)[0]:.2f} to {interval(ratios)[1]:.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description="attention beside PyTorch's, on the CPU")
    parser.add_argument("--peer", help="the compiled attention_peer")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--positions", type=int, nargs="+", default=[128, 1024, 4096])
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--groups", type=int, default=0, help="heads of keys and values; 0: as many as of queries")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="without the causal mask")
    parser.add_argument("--rounds", type=int, default=15)
    a = parser.parse_args()
    a.groups = a.groups or a.heads
    print(f"PyTorch {torch.__version__}, {a.samples} x T x ({a.heads} heads of {a.width}, {a.groups} of keys), "
          f"{'full' if a.full else 'causal'}, PyTorch's time over ours")
    with tempfile.TemporaryDirectory() as folder:
        peer = a.peer or compiled(folder)
        for threads in a.threads:
            for positions in a.positions:
                case(a, peer, folder, positions, threads)


if __name__ == "__main__":
    main()
