#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The core knows no operator: takes one family of operators out of a copy of the library, and all else compiles and passes.

Deleted are the operators' headers in op/ and in each backend's op/, their lines in the lists, their rows in the operator test table, and the networks
with them in the headers that tests share. Then the umbrella headers must compile, and so must every unit test of a core layer, and pass.
Left out, and counted by their reason, are tests that name an operator of the family, or a network that had one, or that need the zoo, whose networks
are compiled together and have all operators.

Tests of a folder are compiled together, a few at a time, without optimization; where that does not compile, each alone. A test that then
computes for more than a minute is compiled again alone, optimized.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "layer_norm": {"operators": ["layer_norm"], "files": ["layer_norm"]},
    "pooling": {"operators": ["max_pool", "average_pool", "max_pool3d", "average_pool3d", "global_average_pool"],
                "files": ["pool", "pooling", "global_average"]},
    "embedding": {"operators": ["embedding", "position_embedding"], "files": ["embedding"]},
}
FLAGS = ["-std=c++20", "-O0", "-D_GLIBCXX_ASSERTIONS", "-Iinclude", "-I.", "-Itests"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Wno-restrict"]
CUDA = Path("/usr/local/cuda/include")
SHARED = {"tests/support/networks.hpp": "test_networks", "examples/networks.hpp": "networks"}
ZOO = "examples/zoo/zoo.hpp"


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def matching(text, at):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
        if depth == 0:
            return at


def without_entries(text, operators):
    """The operator test table without the entries { ... } whose attributes are of these operators."""
    named = re.compile(r"op_kind::(?:%s)\b" % "|".join(operators))
    place = text.index("{", text.index("op_table()"))
    place = text.index("{", text.index("= {" if "= {" in text[place:] else "return", place)) + 1
    kept = []
    begin = place
    for at in range(place, len(text)):
        if at < begin or text[at] not in "{}":
            continue
        if text[at] == "}":
            return text[:place] + "".join(kept) + text[begin:]
        end = matching(text, at)
        end += text[end:end + 1] == ","
        if not named.search(text[begin:end]):
            kept.append(text[begin:end])
        begin = end
    sys.exit("without.py: tests/op/table.hpp is not a list any more")


def without_networks(text, namespace, operators):
    """A header of networks without the entries of its namespace that name an operator, or another entry that does; and their names."""
    begin = text.index("{", text.index(f"namespace {namespace} ")) + 1
    end = text.rindex("} // namespace " + namespace)
    entries = []
    depth, first = 0, begin
    for at in range(begin, end):
        depth += (text[at] == "{") - (text[at] == "}")
        closes = text[at] == "}" and depth == 0 and text[at + 1:at + 2] != ";"
        if depth == 0 and (text[at] == ";" or closes):
            line = text.index("\n", at) + 1
            entries.append(text[first:line])
            first = line
    gone = set()
    while True:
        named = re.compile(r"\b(?:%s)\b(?! =)" % "|".join(sorted(set(operators) | gone)))
        more = set()
        for entry in entries:
            code = re.sub(r"//.*", "", entry)
            name = re.search(r"\b(?:namespace|struct|using|constexpr \w+)\s+(\w+)", code)
            if name and name[1] not in gone and named.search(code):
                more.add(name[1])
        if not more:
            break
        gone |= more

    def stays(entry):
        name = re.search(r"\b(?:namespace|struct|using|constexpr \w+)\s+(\w+)", re.sub(r"//.*", "", entry))
        return not name or name[1] not in gone

    return text[:begin] + "".join(filter(stays, entries)) + text[first:], gone


def take_out(tree, family):
    """Takes the family out; the networks that go with it, each as (namespace, name)."""
    operators, files = family["operators"], family["files"]
    rows = set()
    for folder in ("op", "backend/reference/op", "backend/host/op", "backend/cuda/op"):
        for name in files:
            header = tree / "include/tessera" / folder / f"{name}.hpp"
            if header.exists():
                rows.update(re.findall(r"(?:operator_row|row_list)\s+(\w+_rows?)\b", header.read_text()))
                header.unlink()
                print(f"  deleted {header.relative_to(tree)}")
    include = re.compile(r'#include "tessera/(?:backend/\w+/)?op/(?:%s)\.hpp"\n' % "|".join(files))
    names = "|".join(sorted(rows))
    item = re.compile(rf"(?:\+ (?:{names})\b|\b(?:{names}),)[ \t]*")
    for header in sorted((tree / "include/tessera").rglob("*.hpp")):
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
    networks = set()
    for name, namespace in SHARED.items():
        header = tree / name
        text, gone = without_networks(header.read_text(), namespace, operators)
        header.write_text(text)
        networks |= {(namespace, n) for n in gone}
        print(f"  networks of {name}: {', '.join(sorted(gone)) or 'none'}")
    return networks


def included(tree, source, seen):
    """What a source includes of tests/ and examples/, itself too."""
    if source in seen:
        return
    seen.add(source)
    for name in re.findall(r'#include [<"]([^>"]+)[>"]', source.read_text()):
        for place in (source.parent, tree, tree / "tests"):
            header = (place / name).resolve()
            if header.is_file() and not header.is_relative_to(tree / "include"):
                included(tree, header, seen)
                break


def uses_any(text, networks):
    """Whether a source uses one of the networks, by its namespace or another name for that."""
    for namespace in SHARED.values():
        gone = "|".join(sorted(n for of, n in networks if of == namespace))
        spaces = "|".join([namespace, *re.findall(r"namespace (\w+) = (?:\w+::)*%s;" % namespace, text)])
        if gone and re.search(r"\b(?:%s)::(?:%s)\b" % (spaces, gone), text):
            return True
    return False


def reason_to_leave(tree, source, family, networks):
    named = re.compile(r"\b(?:%s)\b" % "|".join(family["operators"]))
    text = source.read_text()
    if named.search(text):
        return "name an operator of the family"
    files = set()
    included(tree, source, files)
    if tree / ZOO in files:
        return "need the zoo"
    texts = [f.read_text() for f in files]
    if uses_any("\n".join(texts), networks):
        return "use a network that had one"
    if any(named.search(t) for t in texts):
        return "include a header of tests that names one"
    return None


class tests_of:
    """Compiles and runs tests in a tree."""

    def __init__(self, tree):
        self.tree = tree
        done = run(["g++", *FLAGS, "-c", "tests/main.cpp", "-o", "main.o"], tree)
        done.check_returncode()
        run(["g++", *FLAGS, "-x", "c++-header", "tests/precompiled.hpp", "-o", "tests/precompiled.hpp.gch"], tree).check_returncode()

    def program(self, name, text, optimized=False):
        """Compiles one source; the program, or what the compiler says."""
        source = self.tree / f"{name}.cpp"
        source.write_text(text)
        how = ["-O1"] if optimized else ["-include", "tests/precompiled.hpp"]
        built = run(["g++", *FLAGS, *how, source.name, "main.o", "-o", name, "-pthread"], self.tree)
        return (self.tree / name, "") if built.returncode == 0 else (None, built.stderr)

    def outcome(self, program, source, seconds=60):
        """What is wrong with a test; nothing: it passes. It may compute for so many seconds; if they are a minute, longer when it is optimized."""
        command = f'ulimit -t {seconds}; exec "{program}" "--source-file=*{source.relative_to(self.tree)}"'
        done = run(["bash", "-c", command], self.tree)
        if done.returncode == 0 and not re.search(r"test cases: +0 ", done.stdout):
            return ""
        if done.returncode < 0 and seconds == 60:
            return self.alone(source, optimized=True)
        return f"fails ({done.returncode}): {done.stdout[-400:]}"

    def alone(self, source, optimized=False):
        name = "_".join(source.relative_to(self.tree / "tests").with_suffix("").parts) + ("_optimized" if optimized else "")
        program, words = self.program(name, f'#include "{source}"\n', optimized)
        if program is None:
            if "undefined reference" in words and "error:" not in words.replace("ld returned", ""):
                return None
            wrong = [line for line in words.splitlines() if "error" in line]
            return f"does not compile: {wrong[0] if wrong else words[:400]}"
        result = self.outcome(program, source, 1800 if optimized else 60)
        program.unlink()
        return result

    def together(self, sources):
        """For each source an empty text, what is wrong, or none: it needs what another source of the tests defines."""
        if len(sources) == 1:
            return {sources[0]: self.alone(sources[0])}
        includes, bodies = [], []
        for source in sources:
            for line in source.read_text().splitlines():
                match = re.match(r'\s*#\s*include ([<"])([^>"]+)', line)
                if match:
                    own = source.parent / match[2]
                    line = f'#include "{own}"' if match[1] == '"' and own.exists() else line
                    if line not in includes:
                        includes.append(line)
            name = "_".join(source.relative_to(self.tree / "tests").with_suffix("").parts)
            bodies.append(f'namespace {name}_alone {{\n#include "{source}"\n}}\n')
        name = "_".join(sources[0].relative_to(self.tree / "tests").with_suffix("").parts) + "_and_more"
        program, _ = self.program(name, "\n".join(includes + bodies))
        if program is None:
            return {source: self.alone(source) for source in sources}
        results = {source: self.outcome(program, source) for source in sources}
        program.unlink()
        return results


def portions(sources, size):
    """Sources to be compiled together: of one folder, and without macros of their own."""
    groups = {}
    result = []
    for source in sources:
        if re.search(r"^ *# *(if|define)|^(extern|namespace tessera|template <>)", source.read_text(), re.M):
            result.append([source])
        else:
            groups.setdefault(source.parent, []).append(source)
    for group in groups.values():
        result += [group[i:i + size] for i in range(0, len(group), size)]
    return result


def check(tree, family, networks, options):
    failed = 0
    for umbrella in ("tessera", "host", "cuda"):
        if umbrella == "cuda" and not CUDA.exists():
            print("  tessera/cuda.hpp: left out, there is no CUDA")
            continue
        (tree / "umbrella.cpp").write_text(f'#include "tessera/{umbrella}.hpp"\n')
        done = run(["g++", *FLAGS, *WARNINGS, "-isystem", str(CUDA), "-fsyntax-only", "umbrella.cpp"], tree)
        wrong = [line for line in done.stderr.splitlines() if "error" in line]
        print(f"  tessera/{umbrella}.hpp: {'compiles' if not wrong else wrong[0]}", flush=True)
        failed += bool(wrong)

    layers = re.search(r"TESSERA_CORE_LAYERS ([^)]*)", (ROOT / "cmake/TesseraTargets.cmake").read_text())[1].split()
    sources = [s for layer in layers for s in sorted((tree / "tests" / layer).rglob("*.cpp"))]
    left = {}
    taken = []
    for source in sources:
        why = reason_to_leave(tree, source, family, networks)
        if why:
            left.setdefault(why, []).append(source)
        elif re.search(options.only, str(source.relative_to(tree / "tests"))):
            taken.append(source)
    tests = tests_of(tree)
    passed = 0
    with ThreadPoolExecutor(options.jobs) as workers:
        for done in as_completed([workers.submit(tests.together, some) for some in portions(taken, options.together)]):
            for source, words in done.result().items():
                if words is None:
                    left.setdefault("need what another source of the tests defines", []).append(source)
                elif words:
                    failed += 1
                    print(f"  {source.relative_to(tree)} {words}", flush=True)
                else:
                    passed += 1
                    if options.verbose:
                        print(f"  {source.relative_to(tree)} passes", flush=True)
    print(f"  of {len(sources)} unit tests of the core {passed} pass, {failed} failures")
    for why, which in sorted(left.items()):
        names = ", ".join(str(s.relative_to(tree / "tests").with_suffix("")) for s in which)
        print(f"  {len(which)} left out, for they {why}: {names}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(FAMILIES), help="of " + ", ".join(FAMILIES))
    parser.add_argument("--only", default="", help="a regular expression of the tests that are compiled")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    parser.add_argument("--together", type=int, default=6, help="tests that are compiled as one source")
    parser.add_argument("--verbose", action="store_true", help="also says which tests pass")
    options = parser.parse_args()
    failed = 0
    for name in options.families:
        begin = time.monotonic()
        print(f"without {name}:", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder).resolve()
            for part in ("include", "tests", "examples"):
                shutil.copytree(ROOT / part, tree / part)
            networks = take_out(tree, FAMILIES[name])
            failed += check(tree, FAMILIES[name], networks, options)
        print(f"  {time.monotonic() - begin:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
