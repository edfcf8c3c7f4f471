#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation score of the tests: faults are put into the headers of a room one at a time, and the room's own tests must catch them.

  tests/mutation/mutate.py --build build/dev [--rooms schedule simulate search verify reference] [--each 40] [--seed 1] [--hours 4] [--jobs 2]

The build folder is configured with TESSERA_TESTS_TOGETHER=0 (the default); of it tests/main.cpp and the archive of the zoo are built here.

A mutant is one changed line: an arithmetic operator or comparison turned, a condition negated, a number changed by one, or a statement
removed. Room reserved in vectors and values that fields have before they are set stay. Mutants are drawn by seed from all of the room; one
that does not compile is drawn again. Most are written into one copy of the headers and turned on by number at run time (switch.hpp), so that a
test is compiled once for all of them and run for those that it reaches. The others, and those that a constant reaches, are compiled one by one.
The copies are laid over include/; nothing of the library is precompiled.

A mutant is caught where a test source of the room fails with it, crashes, or takes ten times the processor time that it takes without (at
least 10 s, at most 300 s more), or where the compiler refuses it because an assertion fails. Equivalent mutants, which no test can catch, stand
with their proof in equivalent.txt beside this file: `header | line | mutation | proof`. Results are kept in --results and gone on with: a
survivor is tried again with what has changed of the tests since. The score and the survivors are printed at the end. The exit code is 1 below
--least per cent of the others caught, or with more than 8 % claimed equivalent.
"""
import argparse
import concurrent.futures
import json
import sys
import threading
import time
from pathlib import Path

import mutants
from room import ROOT, Out, Room

ROOMS = {  # name: patterns of headers below include/tessera, folders of tests that must catch their faults, or a source below tests/
    "simulate": (["simulate/**/*.hpp"], ["simulate", "machine"]),
    "schedule": (["schedule/*.hpp"], ["schedule", "simulate"]),
    "verify": (["plan/verify/*.hpp"], ["plan", "schedule"]),
    "search": (["search/**/*.hpp"], ["search"]),
    "reference": (["backend/reference/op/*.hpp"], ["mutation/operators.cpp"]),
}
LIBRARY = ROOT / "include/tessera"


class Judge:
    """Judges the mutants of a room by its tests; results are a dictionary that is saved after each."""

    def __init__(self, room, pool, results, save, deadline):
        self.room, self.pool, self.results, self.save, self.deadline = room, pool, results, save, deadline
        self.lock = threading.Lock()

    def keep(self, m, verdict, tried):
        with self.lock:
            self.results[m.key] = {"what": m.shown(LIBRARY), "new": m.new.strip(), "verdict": verdict, "tried": tried}
            self.save()
        print(f"{self.room.name}: {m.shown(LIBRARY)}: {verdict}", file=sys.stderr, flush=True)

    def tried(self, m):
        with self.lock:
            return dict(self.results.get(m.key, {}).get("tried", {}))

    def is_open(self, m):
        return self.results.get(m.key, {"verdict": "not judged"})["verdict"].startswith(("survived", "not judged"))

    def try_with(self, m, sources, attempt):
        """Tries the sources one after the other: a verdict where one decides, otherwise None."""
        tried = self.tried(m)
        for source in sources:
            if tried.get(source.name) == source.text:
                continue
            if time.monotonic() > self.deadline:
                raise Out("not judged in time")
            verdict = attempt(source)
            if verdict.startswith("does not"):
                return verdict, tried
            if verdict.startswith("caught"):
                return verdict.replace("caught", "caught by " + source.name), tried
            tried[source.name] = source.text
        return None, tried

    def switched(self, k, m):
        """With the switch: the sources that reach it."""
        near = [s for s in self.room.likeliest(m.header) if k in s.reached]
        verdict, tried = self.try_with(m, near, lambda s: s.run(k))
        if verdict:
            self.keep(m, verdict, tried)
        return verdict is None, tried

    def alone(self, m, sources):
        if not self.room.header_compiles(m):
            return self.keep(m, "does not compile", {})
        verdict, tried = self.try_with(m, sources, lambda s: s.run_alone(m))
        self.keep(m, verdict or "survived", tried)

    def __call__(self, batch):
        """Judges a batch of (number, mutant); the number is None where there is no switch."""
        mine = [(k, m) for k, m in batch if self.is_open(m)]
        left = {}
        for (k, m), (open_, tried) in zip([x for x in mine if x[0] is not None],
                                          self.pool.map(lambda x: self.switched(*x), [x for x in mine if x[0] is not None])):
            if open_:
                left[k] = (m, tried)
        asked = {}  # by number: sources in which constants reach it
        todo = [s for s in self.room.sources if any(m.header in s.includes and t.get(s.name) != s.text for m, t in left.values())]
        for source, numbers in zip(todo, self.pool.map(lambda s: s.constants_reach(sorted(left)), todo)):
            for k in numbers:
                asked.setdefault(k, []).append(source)
        again = [(m, self.room.likeliest(m.header)) for k, m in mine if k is None]
        for k, (m, tried) in left.items():
            for s in self.room.sources:
                if s not in asked.get(k, []):
                    tried[s.name] = s.text
            self.results[m.key] = {"what": m.shown(LIBRARY), "new": m.new.strip(), "verdict": "survived" if k not in asked else "not judged", "tried": tried}
            if k in asked:
                again.append((m, asked[k]))
            else:
                self.keep(m, "survived", tried)
        list(self.pool.map(lambda x: self.alone(*x), again))


def read_equivalent():
    known = {}
    for line in (Path(__file__).parent / "equivalent.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            header, text, name, proof = (part.strip() for part in line.split(" | "))
            known[header, text, name] = proof
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rooms", nargs="+", choices=sorted(ROOMS), default=list(ROOMS))
    parser.add_argument("--each", type=int, default=40, help="mutants of a room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=95, help="per cent that must be caught")
    parser.add_argument("--results", type=Path, help="default: mutation.json in the build folder")
    options = parser.parse_args()
    build = options.build.resolve()
    kept = options.results or build / "mutation.json"
    results = json.loads(kept.read_text()) if kept.exists() else {"levels": {}, "mutants": {}}
    deadline = time.monotonic() + options.hours * 3600
    equivalent = read_equivalent()

    def save():
        written = kept.with_suffix(".new")
        written.write_text(json.dumps(results, indent=1))
        written.replace(kept)

    failed = False
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    for name in options.rooms:
        patterns, folders = ROOMS[name]
        headers = sorted(h for p in patterns for h in LIBRARY.glob(p))
        drawn = mutants.drawn(headers, f"{name} {options.seed}")
        drawn = [(k, m) for k, m in enumerate(drawn[:2 * options.each]) if not m.unset]
        state = {}
        try:
            room = Room(name, build, build / f"mutation/{name}-{options.seed}", folders, headers, results["levels"])
            numbers = room.prepare([(k, m) for k, m in drawn if m.edits], pool, deadline)
            save()
            judge = Judge(room, pool, results["mutants"], save, deadline)
            while drawn and len(state) < options.each:
                batch = [(k if k in numbers else None, m) for k, m in drawn[:options.each - len(state)]]
                del drawn[:len(batch)]
                judge(batch)
                for _, m in batch:
                    verdict = results["mutants"][m.key]["verdict"]
                    if not verdict.startswith("does not"):
                        known = (str(m.header.relative_to(LIBRARY)), m.old.strip(), m.name)
                        state[m.shown(LIBRARY)] = "equivalent" if verdict == "survived" and known in equivalent else verdict
        except Out as out:
            print(f"{name}: {out}", file=sys.stderr)
        counts = {v: sum(x.startswith(v) for x in state.values()) for v in ("caught", "survived", "equivalent")}
        judged = counts["caught"] + counts["survived"]
        score = 100 * counts["caught"] / judged if judged else 0
        print(f"{name}, seed {options.seed}: {len(state)} mutants, {counts['caught']} caught, {counts['survived']} survived, "
              f"{counts['equivalent']} equivalent: {score:.1f} % of the others caught")
        for shown, verdict in sorted(state.items()):
            if not verdict.startswith("caught"):
                print(f"  {verdict}: {shown}")
        failed = failed or score < options.least or counts["equivalent"] > 0.08 * len(state) or len(state) < options.each
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
