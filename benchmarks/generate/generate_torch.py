# SPDX-License-Identifier: Apache-2.0
"""Generation beside PyTorch's on the CPU, in fp32, in one run: a GPT of 6 layers, 384 channels and 6 heads with a
vocabulary of 8192 goes on with prompts, the likeliest token after the other. PyTorch keeps keys and values in tensors
that are as long as they get, written in place, and calls scaled_dot_product_attention on what is filled, without
gradients; both have the same weights and make the same tokens, which is checked. A round is one of each, in turns.

Usage: generate_torch.py --peer build/bench/benchmarks/generate/generate_peer [--samples 1 4] [--prompt 64] [--new 64]
                         [--threads 1] [--rounds 7]                                                    (needs torch)

Printed are tokens per second of both, prompts included in the time, and PyTorch's time over ours: the median over
rounds with its interval of 95 %.
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

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 6, 384, 6, 512, 8192


class Gpt:
    """The weights in the order in which the peer writes them."""

    def __init__(self, numbers):
        at = 0

        def take(*extents):
            nonlocal at
            count = torch.Size(extents).numel()
            at += count
            return numbers[at - count:at].view(*extents)

        def linear(outputs, inputs):
            return take(outputs, inputs), take(outputs)

        def norm():
            return take(WIDTH), take(WIDTH)

        self.words, self.places = take(VOCABULARY, WIDTH), take(CONTEXT, WIDTH)
        self.blocks = [(norm(), linear(WIDTH, WIDTH), linear(WIDTH, WIDTH), linear(WIDTH, WIDTH), linear(WIDTH, WIDTH),
                        norm(), linear(4 * WIDTH, WIDTH), linear(WIDTH, 4 * WIDTH)) for _ in range(LAYERS)]
        self.last = norm()
        if at != numbers.numel():
            sys.exit(f"the peer wrote {numbers.numel()} numbers, and the network here has {at}")

    def generate(self, prompts, more):
        samples, length = prompts.shape
        kept = [torch.empty(2, samples, HEADS, length + more, WIDTH // HEADS) for _ in self.blocks]
        tokens, begin, made = prompts, 0, []
        for _ in range(more):
            end = begin + tokens.shape[1]
            x = functional.embedding(tokens, self.words) + self.places[begin:end]
            for (first, query, key, value, merge, second, wide, narrow), cache in zip(self.blocks, kept):
                y = functional.layer_norm(x, (WIDTH,), *first)
                q, k, v = (functional.linear(y, *w).view(samples, end - begin, HEADS, -1).transpose(1, 2)
                           for w in (query, key, value))
                cache[0, :, :, begin:end], cache[1, :, :, begin:end] = k, v
                y = functional.scaled_dot_product_attention(q, cache[0, :, :, :end], cache[1, :, :, :end],
                                                            is_causal=begin == 0)
                x = x + functional.linear(y.transpose(1, 2).reshape(samples, end - begin, WIDTH), *merge)
                y = functional.layer_norm(x, (WIDTH,), *second)
                x = x + functional.linear(functional.gelu(functional.linear(y, *wide)), *narrow)
            x = functional.layer_norm(x[:, -1], (WIDTH,), *self.last)
            tokens = functional.linear(x, self.words).argmax(-1, keepdim=True)
            made.append(tokens)
            begin = end
        return torch.cat(made, 1)


def case(a, folder, samples):
    path = os.path.join(folder, f"weights-{samples}.bin")
    peer = subprocess.Popen([a.peer, *map(str, (samples, a.prompt, a.new, min(a.threads, samples))), path],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if peer.stdout.readline().strip() != "ready":
        sys.exit("the peer did not start")

    def ask(what):
        peer.stdin.write(what + "\n")
        peer.stdin.flush()
        return peer.stdout.readline().split()

    with open(path, "rb") as file:
        gpt = Gpt(torch.frombuffer(bytearray(file.read()), dtype=torch.float32))
    prompts = torch.tensor([[(n * 1009 + i * 31 + 7) % VOCABULARY for i in range(a.prompt)] for n in range(samples)])
    ask("run")
    found = torch.tensor([int(x) for x in ask("tokens")]).view(samples, a.new)
    same = float((found == gpt.generate(prompts, a.new)).float().mean())
    times = {"torch": [], "ours": []}
    for _ in range(a.rounds):
        begin = time.perf_counter()
        gpt.generate(prompts, a.new)
        times["torch"].append((time.perf_counter() - begin) * 1e3)
        time.sleep(0.01)  # PyTorch's threads spin for a while
        times["ours"].append(float(ask("run")[0]))
    peer.stdin.close()
    peer.wait()
    rate = {name: samples * a.new / statistics.median(t) * 1e3 for name, t in times.items()}
    ratios = [t / o for t, o in zip(times["torch"], times["ours"])]
    low, high = interval(ratios)
    print(f"{samples} prompts of {a.prompt}, {a.new} new tokens, {a.threads} threads: PyTorch {rate['torch']:.0f} tokens/s, "
          f"ours {rate['ours']:.0f}; ratio {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f}); "
          f"{100 * same:.1f} % of the tokens are the same", flush=True)


def main():
    parser = argparse.ArgumentParser(description="generation beside PyTorch's, on the CPU")
    parser.add_argument("--peer", required=True, help="the compiled generate_peer")
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    print(f"PyTorch {torch.__version__}, PyTorch's time over ours")
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for samples in a.samples:
            case(a, folder, samples)


main()
