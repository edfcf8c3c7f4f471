#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every [[deprecated]] of the headers says since when and what to use (docs/packages.md#deprecation): check.py ROOT

The version is this one, an earlier one, or the next minor or major one, and CHANGELOG.md has a heading Deprecated where there is a mark.
Words that begin with "tessera: " have the compiler warn of a use; nothing goes. First the check is tried on marks that are right and wrong.
"""
import re
import sys
from pathlib import Path

MARK = re.compile(r"\[\[[^\]]*\bdeprecated\b(.*?)\]\]", re.DOTALL)
WARNING = re.compile(r'\(\s*"tessera: ')
RIGHT = re.compile(r'\(\s*"since (\d+)\.(\d+): use ([^"\s][^"]*)"\s*\)')


def marks_of(text):
    return [mark for mark in MARK.finditer(text) if not WARNING.match(mark[1])]


def faults_of(text, version):
    """What is wrong with the marks of a header, in the version (major, minor)."""
    for mark in marks_of(text):
        where, said = text.count("\n", 0, mark.start()) + 1, RIGHT.fullmatch(mark[1].strip())
        if said is None:
            yield where, f'is marked [[deprecated{mark[1]}]]; write [[deprecated("since MAJOR.MINOR: use NAME")]]'
            continue
        since = int(said[1]), int(said[2])
        if since > version and since not in [(version[0], version[1] + 1), (version[0] + 1, 0)]:
            yield where, f"is deprecated since {since[0]}.{since[1]}, and this is {version[0]}.{version[1]}"


def try_check():
    cases = [('[[deprecated("since 0.2: use best")]] int f();', 0), ('[[deprecated("since 0.3: use best")]] int f();', 0),
             ('[[nodiscard, deprecated("since 1.0: use best")]] int f();', 0), ("[[nodiscard]] int f();", 0), ("[[deprecated]] int f();", 1),
             ('[[deprecated("tessera: the loss is given probabilities")]] int f();', 0),
             ('[[deprecated("use best")]] int f();', 1), ('[[deprecated("since 0.2: use ")]] int f();', 1),
             ('[[deprecated("since 0.4: use best")]] int f();', 1), ('int a;\n[[nodiscard, deprecated("old")]] int f();', 1)]
    for text, count in cases:
        if len(list(faults_of(text, (0, 2)))) != count:
            sys.exit(f"{text} is not seen as it is: {list(faults_of(text, (0, 2)))}")
    return len(cases)


def main():
    root, tried = Path(sys.argv[1]), try_check()
    numbers = re.findall(r"(?m)^#define TESSERA_VERSION_(?:MAJOR|MINOR) ([0-9]+)$", (root / "include/tessera/version.hpp").read_text())
    version, headers, marks, faults = tuple(int(n) for n in numbers), 0, 0, []
    for path in sorted([*root.glob("include/**/*.hpp"), *root.glob("include/**/*.inl")]):
        text = path.read_text()
        headers, marks = headers + 1, marks + len(marks_of(text))
        faults += [f"{path.relative_to(root)}:{line} {fault}" for line, fault in faults_of(text, version)]
    if marks and not re.search(r"(?m)^### Deprecated$", (root / "CHANGELOG.md").read_text()):
        faults.append("names are deprecated, and CHANGELOG.md has no heading Deprecated")
    if headers < 500:
        faults.append(f"only {headers} headers are read")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{tried} marks tried; {marks} marks in {headers} headers")


if __name__ == "__main__":
    main()
