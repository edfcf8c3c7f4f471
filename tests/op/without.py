#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The core knows no operator: takes one family of operators out of a copy of the library, and all else compiles and passes.

Deleted are the operators' headers in op/ and in each backend's op/, their lines in the lists, and their rows in the operator test table. Then the
umbrella headers must compile, and every unit test that neither names such an operator itself nor includes a file that does must pass.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "layer_norm": {"operators": ["layer_norm"], "files": ["layer_norm"]},
    "pooling": {"operators": ["max_pool", "average_pool", "global_average_pool"],
                "files": ["pool", "pooling", "global_average"]},
    "embedding": {"operators": ["embedding", "position_embedding"], "files": ["embedding"]},
}
FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Wno-restrict",
         "-Iinclude", "-I.", "-Itests", "-DTESSERA_TEST_HOST"]
CUDA = Path("/usr/local/cuda/include")


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def without_entries(text, operators):
    """The operator test table without the entries { ... } whose attributes are of these operators."""
    named = re.compile(r"op_kind::(?:%s)\b" % "|".join(operators))
    place = text.index("{", text.index("op_table()"))
    place = text.index("{", text.index("= {" if "= {" in text[place:] else "return", place)) + 1
    kept, depth, begin = [], 0, place
    for at in range(place, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth < 0:
                return text[:place] + "".join(kept) + text[begin:]
            if depth == 0:
                end = at + 1 + (text[at + 1:at + 2] == ",")
                if not named.search(text[begin:end]):
                    kept.append(text[begin:end])
                begin = end
    sys.exit("without.py: tests/op/table.hpp is not a list any more")


def take_out(tree, family):
    operators, files = family["operators"], family["files"]
    rows = set()
    for folder in ("op", "backend/reference/op", "backend/host/op", "backend/cuda/op"):
        for name in files:
            header = tree / "include/tessera" / folder / f"{name}.hpp"
            if header.exists():
                rows.update(re.findall(r"operator_row(?:<Real>)?\s+(\w+_rows?)\b", header.read_text()))
                header.unlink()
                print(f"  deleted {header.relative_to(tree)}")
    include = re.compile(r'#include "tessera/(?:backend/\w+/)?op/(?:%s)\.hpp"\n' % "|".join(files))
    item = re.compile(r"\b(?:%s)(?:<Real>)?,[ \t]*" % "|".join(sorted(rows)))
    for header in (tree / "include/tessera").rglob("*.hpp"):
        old = header.read_text()
        new = include.sub("", old)
        if header.name == "table.hpp":
            new = item.sub("", new)
        if header.name == "attributes.hpp":
            new = re.sub(r"X\((?:%s)\) ?" % "|".join(operators), "", new)
        if new != old:
            header.write_text(new)
            print(f"  lines of {header.relative_to(tree)}")
    table = tree / "tests/op/table.hpp"
    table.write_text(without_entries(table.read_text(), operators))


def reads(tree, source):
    done = run(["g++", *FLAGS, "-MM", "-MG", str(source)], tree)
    return [tree / name for name in done.stdout.replace("\\\n", " ").split()[1:] if (tree / name).exists()]


def check(tree, family, limit):
    named = re.compile(r"\b(?:%s)\b" % "|".join(family["operators"]))
    failed = 0
    for umbrella in ("tessera", "host", "cuda"):
        if umbrella == "cuda" and not CUDA.exists():
            continue
        (tree / "umbrella.cpp").write_text(f'#include "tessera/{umbrella}.hpp"\n')
        done = run(["g++", *FLAGS, "-isystem", str(CUDA), "-fsyntax-only", "umbrella.cpp"], tree)
        wrong = [line for line in done.stderr.splitlines() if "error" in line]
        print(f"  tessera/{umbrella}.hpp: {'compiles' if not wrong else wrong[0]}")
        failed += bool(wrong)

    def names(path):
        return path.is_relative_to(tree / "tests") or path.is_relative_to(tree / "examples")

    main = tree / "main.o"
    run(["g++", *FLAGS, "-c", "tests/main.cpp", "-o", str(main)], tree)
    sources = []
    for source in sorted((tree / "tests").glob("*/*.cpp")):
        if source.parent.name in ("op", "net", "layout", "plan", "machine", "base", "cost", "simulate", "schedule", "search"):
            sources.append(source)

    def test(source):
        if any(names(p) and named.search(p.read_text()) for p in reads(tree, source)):
            return None
        program = tree / (source.parent.name + "-" + source.stem)
        built = run(["g++", *FLAGS, str(source), str(main), "-o", str(program), "-pthread", "-lz", "-ldnnl", "-lgomp"], tree)
        if "undefined reference" in built.stderr:
            return None  # it needs the zoo's networks, which use all operators
        if built.returncode:
            return f"{source.relative_to(tree)} does not compile: {built.stderr.splitlines()[0]}"
        done = run([str(program)], tree)
        program.unlink()
        return "" if done.returncode == 0 else f"{source.relative_to(tree)} fails: {done.stdout[-400:]}"

    with ThreadPoolExecutor(2) as workers:
        results = list(workers.map(test, sources[:limit]))
    passed = sum(r == "" for r in results)
    left = sum(r is None for r in results)
    for r in results:
        if r:
            print("  " + r)
            failed += 1
    print(f"  {passed} unit tests pass, {left} name the operators or the networks of the zoo, {failed} failures")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(FAMILIES), help="of " + ", ".join(FAMILIES))
    parser.add_argument("--tests", type=int, default=1 << 30, help="at most so many unit tests are looked at")
    options = parser.parse_args()
    failed = 0
    for name in options.families:
        print(f"without {name}:", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            for part in ("include", "tests", "examples"):
                shutil.copytree(ROOT / part, tree / part)
            take_out(tree, FAMILIES[name])
            failed += check(tree, FAMILIES[name], options.tests)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
