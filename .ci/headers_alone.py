#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone: headers_alone.py [--jobs N] [--without REGEX] [--part K/N] FOLDER COMPILER OPTION...

What includes another header, directly or not, may as well be read after it: it sees the same declarations. So some headers that many
others include are precompiled, each header is read behind that one of them that spares most, and those behind the same one are put into
as few chains as there can be, each header of a chain including the one before it. A chain is one source, written into FOLDER. A header
that lacks an include of its own still fails: all that stands before it is what it includes itself.
"""
import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[1] / "include"
LINE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
BODIES = re.compile(r"^#ifndef TESSERA_COMPILED\n(.*?)^#(?:else|endif)\n", re.MULTILINE | re.DOTALL)
PRECOMPILED = 12


def read_closures(compiled):
    """Every file of the library, and of others what it includes, with all that it includes, directly or not; and what reading each costs."""
    direct, costs = {}, {}
    for path in INCLUDE.rglob("*"):
        if path.suffix not in (".hpp", ".inl"):
            continue
        name, text, found = path.relative_to(INCLUDE).as_posix(), path.read_text(), set()
        header = path.with_suffix(".hpp").relative_to(INCLUDE).as_posix() if path.suffix == ".inl" else None  # which includes its bodies
        for own, other in LINE.findall(BODIES.sub("", text) if compiled else text):
            if own == header:
                continue
            beside = (path.parent / own).resolve()
            found.add(beside.relative_to(INCLUDE).as_posix() if own and beside.is_file() else own or other)
        missing = [one for one in found if one.startswith("tessera/") and not (INCLUDE / one).is_file()]
        if missing:
            sys.exit(f"headers_alone.py: {name} includes {missing[0]}, which is not below {INCLUDE}")
        direct[name], costs[name] = found, len(text)
    closures = {}

    def close(name):
        if name not in closures:
            below = direct.get(name, set())
            closures[name] = below.union(*(close(one) for one in below))
            costs.setdefault(name, 60000)  # another library's, with what it includes
        return closures[name]

    for name in direct:
        close(name)
    return closures, costs


def choose_precompiled(headers, closures, costs):
    """The best to precompile of what each header includes, or none: chosen one by one, each time what spares most."""
    spared = {name: sum(costs[one] for one in closures[name]) + costs[name] for name in headers}
    best = dict.fromkeys(headers)

    def gain(candidate):
        return sum(max(0, spared[candidate] - spared.get(best[name], 0)) for name in headers
                   if candidate in closures[name]) - spared[candidate]

    for _ in range(PRECOMPILED):
        chosen = max(headers, key=gain)
        if gain(chosen) <= 0:
            break
        for name in headers:
            if chosen in closures[name] and spared[chosen] > spared.get(best[name], 0):
                best[name] = chosen
    return best


def chains_of(headers, closures):
    """As few chains as there can be: a largest matching of headers with their successors (Fulkerson 1956)."""
    after = {}

    def find_next(header, seen):
        for lower in sorted(closures[header] & headers - seen):
            seen.add(lower)
            if lower not in after or find_next(after[lower], seen):
                after[lower] = header
                return True
        return False

    for header in sorted(headers):
        find_next(header, set())
    for header in sorted(headers - set(after.values())):
        chain = [header]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        yield chain


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", metavar="REGEX", help="headers that cannot be read here")
    parser.add_argument("--part", metavar="K/N", default="0/1", help="of N parts the K-th, from 0: some precompiled headers with what is read behind them, and every N-th other source")
    parser.add_argument("folder", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    closures, costs = read_closures("-DTESSERA_COMPILED" in options.command)
    headers = {name for name in closures if name.endswith(".hpp") and name.startswith("tessera/")
               and not (options.without and re.search(options.without, name))}
    best = choose_precompiled(headers, closures, costs)
    options.folder.mkdir(parents=True, exist_ok=True)

    def compile_one(text, source, *arguments):
        source.write_text(text)
        done = subprocess.run([*options.command, *arguments, str(source)], capture_output=True, text=True)
        return "" if done.returncode == 0 else f"{source} does not compile:\n{text}{done.stderr}"

    def written(header):
        return options.folder / header.replace("/", "_")

    def precompile(header):
        text = f'#include "{header}"\n'
        return compile_one(text, written(header), "-x", "c++-header", "-o", f"{written(header)}.gch")

    def read(job):
        number, first, chain = job
        text = "".join(f'#include "{header}"\n' for header in chain)
        before = ["-Winvalid-pch", "-include", str(written(first))] if first else []
        return compile_one(text, options.folder / f"chain_{number}.cpp", "-fsyntax-only", *before)

    precompiled = sorted(set(best.values()) - {None})
    part, parts = (int(number) for number in options.part.split("/"))
    shares = [[] for _ in range(parts)]  # the largest group first, each to the smallest share
    sizes = {first: sum(one == first for one in best.values()) for first in precompiled}
    for first in sorted(precompiled, key=lambda one: (-sizes[one], one)):
        min(shares, key=lambda share: sum(sizes[one] for one in share)).append(first)
    precompiled = shares[part]
    headers = {name for name in headers if best[name] is None or best[name] in precompiled}
    jobs = [(first, chain) for first in precompiled
            for chain in chains_of({name for name in headers if best[name] == first}, closures)]
    alone = sorted(chains_of({name for name in headers if best[name] is None}, closures))[part::parts]
    headers = {name for chain in [*alone, *(chain for _, chain in jobs)] for name in chain}
    jobs = [(None, chain) for chain in alone] + jobs
    jobs = [(number, *job) for number, job in enumerate(jobs)]
    with ThreadPoolExecutor(options.jobs) as workers:
        wrong = [text for text in workers.map(precompile, precompiled) if text]
        wrong = wrong or [text for text in workers.map(read, jobs) if text]
    print("\n".join(wrong) or f"{len(headers)} headers compile alone, read in {len(jobs)} sources behind {len(precompiled)} precompiled ones")
    return 1 if wrong or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
