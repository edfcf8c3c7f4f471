#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two versions of the library beside each other: how long each takes for the same work, in interleaved pairs.

    pairs.py OLD NEW [--works small,gpt] [--pairs 31] [--rounds 10] [--milliseconds 150]

OLD and NEW are pair_steps.cpp compiled against either. A pair is a fresh process of each, so that addresses and pages are
drawn anew; they work in turns (AB BA AB ...) for so many rounds of about so long, and the one that is not asked sleeps.
A pair's ratio is the new one's median round over the old one's. The table has the median of the pairs' ratios and an
interval that holds the true median in at least 95 of 100 measurements: two order statistics by the binomial distribution,
which asks nothing of how ratios are distributed. Of processor seconds and of wall seconds; on a machine that others use,
and for works on one device, the former count.

Before, plans of both are compared line by line, and after each round what was computed, bit by bit; either difference
ends the program, for then the two do not do the same work. With --plans, that alone is done.
"""
import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no __pycache__ in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import paired

WORKS = ["small", "alexnet", "resnet50", "gpt", "dispatch", "proposals", "proposals_nmt", "small2", "dispatch2"]
UNIT = {"dispatch": 10_000, "dispatch2": 10_000}  # of how many things one unit of work consists


class Side:
    """One process that works when it is asked."""

    def __init__(self, program, work):
        self.process = subprocess.Popen([program, work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, units):
        """Processor seconds and wall seconds of one unit, and what was computed."""
        try:
            self.process.stdin.write(f"{units}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            sys.exit(f"pairs.py: {' '.join(self.process.args)} ended without an answer")
        return float(answer[0]) / units, float(answer[1]) / units, answer[2]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def same_plans(programs, work):
    plans = [subprocess.run([p, work, "plan"], capture_output=True, text=True, check=True).stdout for p in programs]
    if plans[0] != plans[1]:
        old, new = (p.splitlines() for p in plans)
        line = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
        words = [p[line] if line < len(p) else "(nothing)" for p in (old, new)]
        sys.exit(f"pairs.py: the plans of {work} differ in line {line + 1}:\n  old {words[0]}\n  new {words[1]}")
    return plans[0].count("\n")


def pair(programs, work, number, rounds, seconds):
    """Medians of the rounds of one pair: processor seconds and wall seconds of a unit, old and new."""
    sides = [Side(program, work) for program in programs]
    cost, _, first = sides[0].do(1)
    if sides[1].do(1)[2] != first:
        sys.exit(f"pairs.py: old and new compute different numbers in {work}")
    units = max(1, round(seconds / cost))
    measured = ([], [])
    for turn in range(rounds):
        answers = {}
        for which in ((0, 1) if (turn + number) % 2 == 0 else (1, 0)):
            answers[which] = sides[which].do(units)
            measured[which].append(answers[which][:2])
        if answers[0][2] != answers[1][2]:
            sys.exit(f"pairs.py: old and new compute different numbers in {work}: {answers[0][2]}, {answers[1][2]}")
    for side in sides:
        side.end()
    return [[statistics.median(column) for column in zip(*of)] for of in measured]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--milliseconds", type=float, default=150, help="about how long a round of one side takes")
    parser.add_argument("--plans", action="store_true", help="only compare the plans")
    options = parser.parse_args()
    if options.pairs < 6 or options.rounds < 1:
        parser.error("at least 6 pairs, below which there is no interval of 95 percent, and 1 round")
    programs = [os.path.abspath(options.old), os.path.abspath(options.new)]

    if not options.plans:
        print("| work | pairs | old, us CPU | new, us CPU | CPU new/old | 95 % interval | wall new/old | 95 % interval |\n"
              "|---|---|---|---|---|---|---|---|")
    for work in options.works.split(","):
        lines = same_plans(programs, work)
        if options.plans:
            print(f"{work}: {lines} lines, equal")
            continue
        pairs = [pair(programs, work, number, options.rounds, options.milliseconds * 1e-3) for number in
                 range(options.pairs)]
        scale = 1e6 / UNIT.get(work, 1)
        row = [work, str(options.pairs)]
        row += [f"{statistics.median(p[side][0] for p in pairs) * scale:.5g}" for side in (0, 1)]
        for clock in (0, 1):
            row += paired.cells([p[0][clock] for p in pairs], [p[1][clock] for p in pairs])
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
