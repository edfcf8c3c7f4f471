#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses numbers of kernels that are taken by their place: host code and kernels name them by the fields of one struct (TESSERA_KERNELS in
tessera/backend/cuda/kernels/kernel.hpp). Text that is put together of loop nests has places that are computed, and is no exception here: it has no literal.

    check.py ROOT FOLDER...            no source below these folders may
    check.py --expected FILE ROOT FOLDER...   what is refused must be exactly the lines of that file
"""

import argparse
import pathlib
import re
import sys

# a.n[3], n.n[5 + d], numbers.f[0], and n[3] of a pointer to them.
BY_PLACE = re.compile(r"(\.[nf]|\bn)\[\s*\d")


def refusals(root, folders):
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".inl"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                if BY_PLACE.search(line):
                    found.append(f"{path.relative_to(root).as_posix()}:{number}: takes a number by its place; name it in the struct of its kernel: {line.strip()}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expected", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folders", nargs="+")
    given = parser.parse_args()
    found = refusals(given.root, given.folders)
    if given.expected is None:
        print("\n".join(found) or "kernel numbers: all have names")
        sys.exit(1 if found else 0)
    wanted = given.expected.read_text(encoding="utf-8").splitlines()
    if found != wanted:
        print("refused:", *found, "wanted:", *wanted, sep="\n")
        sys.exit(1)


main()
