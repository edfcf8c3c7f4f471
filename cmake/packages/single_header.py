#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One header out of many: single_header.py [--include FOLDER] [--output FILE] [ROOT...]

Writes tessera_core.hpp: the headers ROOT and all that they include of Tessera, each once, behind the headers of the standard library. The
default roots are the core: networks, strategies, machines, costs, searches in constant expressions, plans and their simulation. The same tree
gives the same bytes. Headers of any other library are refused by name, as are headers that are missing; the exit status is then 1.
"""
import argparse
import posixpath
import re
import sys
from pathlib import Path

CORE = ["tessera/tessera.hpp", "tessera/layout/typed_redistribution.hpp", "tessera/strategy/typed_layout_of.hpp",
        "tessera/plan/lower/lower.hpp", "tessera/plan/finish.hpp", "tessera/plan/print.hpp", "tessera/simulate/simulate.hpp"]
# What may come from outside: the standard library of C++20, and what every POSIX system has.
STANDARD = set("""
algorithm any array atomic barrier bit bitset charconv chrono compare complex concepts condition_variable coroutine deque exception execution
filesystem format forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale
map memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set
shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream syncstream system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar
cwchar cwctype
dirent.h fcntl.h pthread.h sched.h sys/file.h sys/mman.h sys/stat.h sys/types.h unistd.h
""".split())
INCLUDE = re.compile(r'\s*#\s*include\b\s*(?:"([^"]+)"|<([^>]+)>)?')
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|endif)\b")
ONCE = re.compile(r"\s*#\s*pragma\s+once\b")
LICENSE = "// SPDX-License-Identifier: Apache-2.0"
# A comment, a raw string, a string or a character, so that a directive inside one of them is taken for the text that it is.
TOKEN = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|R"([^()\\\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


# What every header begins and ends with.
BEGIN, END = "tessera/base/begin_header.inl", "tessera/base/end_header.inl"


class Refused(Exception):
    """What is wrong with the tree, as a sentence."""


def lines_of(text):
    """Each line, and whether a directive may begin it: not inside a comment, a string or behind a backslash."""
    inside, line, at = set(), 1, 0
    for token in TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        length = token.group().count("\n")
        inside.update(range(line + 1, line + length + 1))
        line, at = line + length, token.end()
    before = ""
    for number, one in enumerate(text.splitlines(), 1):
        yield number, one, number not in inside and not before.endswith("\\")
        before = one


class Joined:
    """What has been read so far."""

    def __init__(self, include):
        self.include = include
        self.standard = set()
        self.once = set()  # headers that stand in the result whatever the conditions are
        self.open = []
        self.out = []

    def read(self, name, by):
        path = self.include / name
        if not path.is_file():
            raise Refused(f"{by} includes {name}, which is not below {self.include.name}/")
        return path.read_text(encoding="utf-8")

    def find(self, name, quoted, here):
        """The name below include/ of what a header includes, or none where it is not Tessera's."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(here), name))
        if quoted and (self.include / beside).is_file():
            return beside
        return name if quoted or name.startswith("tessera/") or (self.include / name).is_file() else None

    def add(self, name, by, conditions):
        """Puts a header here, with what it includes; `conditions` is how many #if are open around it."""
        if name in self.once or name in (BEGIN, END):  # both stand once around all
            return
        text = self.read(name, by)
        has_once = any(free and ONCE.match(line) for _, line, free in lines_of(text))
        if not has_once and name in self.open:
            raise Refused(f"{by} includes {name}, which includes itself and has no #pragma once")
        # Whether a header under a condition is read is known to the compiler alone: the same header may come again, and a macro lets one in.
        guard = "TESSERA_HAS_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper() if has_once else None
        guarded = guard is not None and (conditions > 0 or guard in self.guards())
        if has_once and conditions == 0:
            self.once.add(name)
        elif has_once and name in self.open:
            return
        self.open.append(name)
        self.out.append(f"\n// ---- {name}")
        if guarded:
            self.out += [f"#ifndef {guard}", f"#define {guard}"]
        self.add_lines(name, text, conditions)
        if guarded:
            self.out.append("#endif")
        self.open.pop()

    def guards(self):
        return {line[len("#define "):] for line in self.out if line.startswith("#define TESSERA_HAS_")}

    def add_lines(self, name, text, conditions):
        depth = 0
        for number, line, free in lines_of(text):
            if free and (ONCE.match(line) or line == LICENSE):
                continue
            condition, include = free and CONDITION.match(line), free and INCLUDE.match(line)
            if condition:
                depth += -1 if condition[1] == "endif" else 1
            if depth < 0:
                raise Refused(f"{name}:{number} ends a condition that it did not begin")
            if not include:
                if line or not free or self.out[-1]:  # one empty line is enough
                    self.out.append(line)
                continue
            quoted, given = include[1] is not None, include[1] or include[2]
            if given is None:
                raise Refused(f"{name}:{number} includes what a macro says; name the header")
            own = self.find(given, quoted, name)
            if own is not None:
                self.add(own, f"{name}:{number}", conditions + depth)
            elif given not in STANDARD:
                raise Refused(f"{name}:{number} includes <{given}>, which is neither Tessera's nor of the standard library")
            elif conditions + depth > 0:
                self.out.append(line)
            else:
                self.standard.add(given)
        if depth != 0:
            raise Refused(f"{name} does not end a condition that it began")


def version_of(include):
    path = include / "tessera/version.hpp"
    numbers = re.findall(r"^#define TESSERA_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)$", path.read_text() if path.is_file() else "", re.MULTILINE)
    if len(numbers) != 3:
        raise Refused("tessera/version.hpp, which has the version, is missing or has not its three numbers")
    return ".".join(numbers)


def join(include, roots):
    """The text of the one header."""
    joined = Joined(include)
    version = version_of(include)
    for root in roots:
        joined.add(root, "the list of roots", 0)
    top = [LICENSE,
           f"// Tessera {version} in one header, made by cmake/packages/single_header.py; change the headers that it is made of:",
           *(f"//   {root}" for root in roots),
           "#pragma once", "",
           "#if __cplusplus < 202002L", '#error "tessera: compile as C++20 or later: -std=c++20"', "#endif",
           "#ifdef TESSERA_VERSION",
           '#error "tessera: this one header takes the place of those below tessera/; include it alone"', "#endif", "",
           *(f"#include <{name}>" for name in sorted(joined.standard))]
    around = [(include / name).read_text(encoding="utf-8").replace(LICENSE + "\n", "").replace("// clang-format off\n", "") if (include / name).is_file() else "" for name in (BEGIN, END)]
    return "\n".join(top + [around[0]] + joined.out + [around[1]]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=Path, default=Path(__file__).resolve().parents[2] / "include")
    parser.add_argument("--output", type=Path, default=Path("tessera_core.hpp"))
    parser.add_argument("roots", nargs="*", metavar="ROOT")
    options = parser.parse_args()
    try:
        text = join(options.include, options.roots or CORE)
    except Refused as why:
        sys.exit(f"single_header.py: {why}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
