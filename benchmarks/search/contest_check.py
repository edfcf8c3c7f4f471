#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a choice for a problem of the ASPLOS/EuroSys 2025 contest by the format's definition alone, without the library:

    benchmarks/search/contest_check.py PROBLEM.json[.gz] CHOICE.txt

A choice has a number a line, for each node. Printed: its cost and its peak; the exit code is 1 where it does not fit.
"""

import gzip
import json
import sys


def main():
    path, choices = sys.argv[1:]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        problem = json.load(file)["problem"]
    with open(choices, encoding="ascii") as file:
        choice = [int(line) for line in file]
    nodes, edges = problem["nodes"], problem["edges"]
    if len(choice) != len(nodes["costs"]):
        sys.exit(f"{choices} names {len(choice)} nodes of {len(nodes['costs'])}")
    cost = sum(costs[c] for costs, c in zip(nodes["costs"], choice))
    for (a, b), table in zip(edges["nodes"], edges["costs"]):
        cost += table[choice[a] * len(nodes["costs"][b]) + choice[b]]
    changes = {}
    for (first, last), usages, c in zip(nodes["intervals"], nodes["usages"], choice):
        if first < last:
            changes[first] = changes.get(first, 0) + usages[c]
            changes[last] = changes.get(last, 0) - usages[c]
    used = peak = 0
    for time in sorted(changes):
        used += changes[time]
        peak = max(peak, used)
    fits = peak <= problem["usage_limit"] and cost < 10**17
    print(f"{problem['name']}: cost {cost}, peak {peak} of {problem['usage_limit']}: {'fits' if fits else 'does not fit'}")
    sys.exit(0 if fits else 1)


main()
