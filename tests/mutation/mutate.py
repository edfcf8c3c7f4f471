#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation score of the tests: faults are put into the headers of a room one at a time, and the room's own tests must catch them.

  tests/mutation/mutate.py --build build/dev [--rooms simulate schedule verify search] [--each 40] [--seed 1] [--hours 4]

A mutant is one changed line: an arithmetic operator or comparison turned, a condition negated, a number changed by one, or a statement
removed. They are drawn by seed from all mutants of the room. A mutant that does not compile is drawn again. It is caught where a test
source of the room fails with it, crashes, or takes ten times as long as without. Only the changed header is laid over include/, and the
sources are compiled one after the other, the likeliest first, by the build folder's own commands: tests/<room>/<stem of the header>.cpp,
then those that are quickest to build. Equivalent mutants, which no test can catch, stand with their proof in equivalent.txt beside this
file: `header | line | mutation | proof`. Results are kept in --results and gone on with; the score and the survivors are printed at the end.
The exit code is 1 below --least per cent of the others caught, or with more than 8 % claimed equivalent.
"""
import argparse
import concurrent.futures
import hashlib
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {  # name: patterns of headers below include/tessera, folders of tests that must catch their faults
    "simulate": (["simulate/*.hpp"], ["simulate", "machine"]),
    "schedule": (["schedule/*.hpp"], ["schedule", "simulate"]),
    "verify": (["plan/verif*.hpp"], ["plan"]),
    "search": (["search/*.hpp"], ["search"]),
}
SESSIONS = {"schedule", "execute"}  # folders whose precompiled header declares what an archive holds, without the mutant
TURNED = [(" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), (" % ", " / "), (" < ", " <= "), (" <= ", " < "),
          (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" && ", " || "), (" || ", " && "),
          (" += ", " -= "), (" -= ", " += "), ("std::max(", "std::min("), ("std::min(", "std::max("),
          ("true", "false"), ("false", "true"), ("++", "--")]
KEEP = re.compile(r"^\s*(#|//|\*|static_assert|template|using|typedef|namespace|struct|class|enum|public:|private:|case |default)")
STATEMENT = re.compile(r"^\s+(?!return\b|const\b|constexpr\b|auto\b|static\b|throw\b|else\b|if\b|for\b|while\b|do\b|using\b|typename\b|friend\b|"
                       r"explicit\b|virtual\b|inline\b|\}|\{)[\w:>.\[\]()*&+-]+.*;\s*(//.*)?$")
DECLARATION = re.compile(r"^\s+[\w:]+(<[^;=]*>)?[ &*]+\w+(\{.*\}| =.*|\[.*\])?;")


def mutations(line):
    """All changes of one line as (name, new line)."""
    if KEEP.match(line) or not line.strip():
        return
    code, _, comment = line.partition("//")
    in_text = [m.span() for m in re.finditer(r'"(\\.|[^"\\])*"', code)]

    def outside(at):
        return not any(a <= at < b for a, b in in_text)

    for old, new in TURNED:
        for m in re.finditer(re.escape(old) if not old.isalpha() else rf"\b{old}\b", code):
            if outside(m.start()):
                yield f"{old.strip()} to {new.strip()} at {m.start()}", code[:m.start()] + new + code[m.end():]
    for m in re.finditer(r"(?<![\w.{<'])([0-9]+)(?![\w.'>])", code):
        if outside(m.start()):
            yield f"{m[1]} to {int(m[1]) + 1} at {m.start()}", code[:m.start()] + str(int(m[1]) + 1) + code[m.end():]
    m = re.match(r"^(\s*(?:\} else )?if \()(?!constexpr)(.*)(\) \{\s*)$", code)
    if m:
        yield "condition negated", f"{m[1]}!({m[2]}){m[3]}"
    if STATEMENT.match(code) and not DECLARATION.match(code):
        yield "statement removed", re.match(r"^\s*", code)[0] + ";"


def mutants_of(header):
    """All mutants of a header as (line number, name, old line, new line); declarations with defaults in options stay."""
    found = []
    text = header.read_text().splitlines()
    in_comment = False
    for number, line in enumerate(text):
        in_comment = (in_comment or "/*" in line) and "*/" not in line
        if not in_comment:
            found += [(number, name, line, new.rstrip()) for name, new in mutations(line) if new.strip() != line.strip()]
    return found


class Tests:
    """The test sources of a room, each with the commands that build it."""

    def __init__(self, build, folders):
        self.build = build
        commands = json.loads((build / "compile_commands.json").read_text())
        self.sources = {}
        for entry in commands:
            path = Path(entry["file"])
            if path.parent.parent == ROOT / "tests" and path.parent.name in folders:
                self.sources[path] = entry
        self.main = next(build.glob("tests/CMakeFiles/tessera_test_main.dir/main.cpp.o"), None)
        if not self.sources or self.main is None:
            sys.exit(f"mutate.py: {build} has no unit tests of {folders}; configure it with TESSERA_TESTS_TOGETHER=0 and build them")
        self.zoo = list(build.glob("examples/zoo/libtessera_zoo.a"))

    def command(self, source, overlay, output):
        words = shlex.split(self.sources[source]["command"])
        while not re.search(r"(\+\+|cc|clang)[-\d.]*$", words[0]):
            words.pop(0)  # a launcher
        kept = []
        skip = False
        for word, after in zip(words, words[1:] + [""]):
            if skip:
                skip = False
            elif word in ("-o", "-c"):
                skip = True
            elif source.parent.name in SESSIONS and word == "-include" and "cmake_pch" in after:
                skip = True
            else:
                kept.append(word)
        return kept[:1] + ["-I", str(overlay)] + kept[1:] + ["-w", "-c", str(source), "-o", str(output)]

    def libraries(self, source):
        return ["-ldnnl", "-lgomp"] if "tessera/host.hpp" in source.read_text() or source.parent.name in SESSIONS else []

    def run(self, source, overlay, folder, limit):
        """'caught', 'survived' or 'does not compile', and seconds of the run. The longest may take `limit` seconds."""
        output = folder / "test.o"
        program = folder / "test"
        where = self.sources[source]["directory"]
        if subprocess.run(self.command(source, overlay, output), cwd=where, capture_output=True).returncode != 0:
            return "does not compile", 0
        link = ["g++", "-pthread", str(output), str(self.main), *map(str, self.zoo), *self.libraries(source), "-lz", "-o", str(program)]
        linked = subprocess.run(link, cwd=where, capture_output=True, text=True)
        if linked.returncode != 0:
            return "does not link: " + linked.stderr[-300:], 0
        begin = time.monotonic()
        try:
            done = subprocess.run([str(program)], cwd=where, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "caught", limit
        return ("survived" if done.returncode == 0 else "caught"), time.monotonic() - begin


def time_without(tests, results):
    """Seconds of every test source without a mutant; a source that fails then cannot judge."""
    for source in list(tests.sources):
        key = f"time {source.relative_to(ROOT)}"
        if key not in results:
            with tempfile.TemporaryDirectory() as folder:
                begin = time.monotonic()
                verdict, ran = tests.run(source, Path(folder), Path(folder), 600)
                results[key] = {"verdict": verdict, "run": ran, "build": time.monotonic() - begin - ran}
        if results[key]["verdict"] != "survived":
            print(f"mutate.py: left out, as it fails without a mutant: {source.relative_to(ROOT)}: {results[key]['verdict']}", file=sys.stderr)
            del tests.sources[source]


def judge(tests, results, header, number, new, seconds):
    """The first source that catches the mutant, or 'survived', or 'does not compile'."""
    def likeliest(source):
        known = results[f"time {source.relative_to(ROOT)}"]
        return (source.stem != header.stem, header.stem not in source.read_text(), known["build"] + known["run"])

    with tempfile.TemporaryDirectory() as folder:
        laid = Path(folder) / header.relative_to(ROOT / "include")
        laid.parent.mkdir(parents=True)
        lines = header.read_text().splitlines()
        lines[number] = new
        laid.write_text("\n".join(lines) + "\n")
        for source in sorted(tests.sources, key=likeliest):
            verdict, _ = tests.run(source, Path(folder), Path(folder), 10 * results[f"time {source.relative_to(ROOT)}"]["run"] + 5)
            if verdict == "does not compile":
                return verdict
            if verdict == "caught":
                return "caught by " + str(source.relative_to(ROOT))
            if time.monotonic() > seconds:
                return "not judged in time"
    return "survived"


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
    results = json.loads(kept.read_text()) if kept.exists() else {}
    deadline = time.monotonic() + options.hours * 3600
    equivalent = {}
    for line in (Path(__file__).parent / "equivalent.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            header, text, name, proof = (part.strip() for part in line.split(" | "))
            equivalent[(header, text, name)] = proof

    def save():
        kept.write_text(json.dumps(results, indent=1))

    failed = False
    for room in options.rooms:
        patterns, folders = ROOMS[room]
        tests = Tests(build, folders)
        time_without(tests, results)
        save()
        headers = sorted(h for p in patterns for h in (ROOT / "include/tessera").glob(p))
        drawn = [(h, *m) for h in headers for m in mutants_of(h)]
        random.Random(f"{room} {options.seed}").shuffle(drawn)
        state = {}

        def one(mutant):
            header, number, name, old, new = mutant
            shown = f"{header.relative_to(ROOT / 'include/tessera')}:{number + 1} {name}: {old.strip()}"
            key = hashlib.sha256((shown + new + header.read_text()).encode()).hexdigest()[:16]
            if key not in results:
                results[key] = {"what": shown, "verdict": judge(tests, results, header, number, new, deadline)}
                save()
                print(f"{room}: {shown}: {results[key]['verdict']}", file=sys.stderr, flush=True)
            known = (str(header.relative_to(ROOT / "include/tessera")), old.strip(), name)
            if results[key]["verdict"] == "survived" and known in equivalent:
                return shown, "equivalent"
            return shown, results[key]["verdict"]

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            while drawn and len(state) < options.each and time.monotonic() < deadline:
                batch = [drawn.pop() for _ in range(min(len(drawn), options.each - len(state)))]
                for shown, verdict in pool.map(one, batch):
                    if verdict not in ("does not compile", "not judged in time"):
                        state[shown] = verdict
        counts = {v: sum(x.startswith(v) for x in state.values()) for v in ("caught", "survived", "equivalent")}
        judged = counts["caught"] + counts["survived"]
        score = 100 * counts["caught"] / judged if judged else 0
        print(f"{room}: {len(state)} mutants, {counts['caught']} caught, {counts['survived']} survived, {counts['equivalent']} equivalent: "
              f"{score:.1f} % of the others caught")
        for shown, verdict in sorted(state.items()):
            if verdict == "survived":
                print("  survived: " + shown)
        failed = failed or score < options.least or counts["equivalent"] > 0.08 * len(state) or len(state) < options.each
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
