#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What g++ must refuse, many cases in one source: each in a namespace of its own, behind the headers of all.

    together.py --cmake CMAKE --run CompileFailRun.cmake --compiler g++ --include DIR --prefix HEADER --work DIR CASE...

An error is of the case that its lines up to 'error:' name last. A case that is refused there for its stated reason, with
as few errors as CompileFailRun.cmake allows, passes. Whatever is not clear from the source of all is judged as it always
was, by CompileFailRun.cmake with a compiler of its own, and that is the verdict: an instantiation that two cases share,
say, is refused once only. So a case passes here on errors that are its own, or alone.

    --first-lines     behind <tessera/host.hpp>, and the first expectation is in the first 5 lines of the case
    --must-fail A,B   exactly these cases must be found wrong: a test of this program
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

MAX_ERRORS = 3
MAX_BYTES = 6144
LINES = 5

ERROR = re.compile(r":\d+:(?:\d+:)? (?:fatal )?error: ")
OTHER = re.compile(r":\d+:(?:\d+:)? (?:note|warning): ")
CONTEXT = re.compile(r"^In file included from |^ +from |^\S+: (?:In |At )"
                     r"|^\S+:\d+(?::\d+)?: +(?:recursively )?(?:required|in 'constexpr' expansion)")


def blocks(output):
    """(lines before and with 'error:', lines after it) of every error."""
    found, waiting = [], []
    for line in output.splitlines():
        if ERROR.search(line):
            found.append((waiting + [line], []))
            waiting = []
        elif CONTEXT.search(line):
            waiting.append(line)
        else:
            if found:
                found[-1][1].extend(waiting + [line])
            waiting = []
    return found


def by_case(output, cases):
    """What the compiler says of each case, as if it stood in no namespace."""
    stems = {str(case): case.stem for case in cases}
    named = re.compile("|".join(re.escape(path) + r"(?=[:,])" for path in stems))
    said = {case.stem: [] for case in cases}
    last = None
    for before, after in blocks(output):
        names = named.findall("\n".join(before))
        if names:
            last = stems[names[-1]]
        elif len(before) > 1:  # a context that names no case
            last = None
        if last:
            said[last].append([line.replace(f"{last}_::", "") for line in before + after])
    return said


def refused(expectations, errors, first_lines):
    lines = [line for error in errors for line in error]
    text = "\n".join(lines)
    return (0 < len(errors) <= MAX_ERRORS and len(text) <= MAX_BYTES and "internal compiler error" not in text
            and "fatal error" not in text and all(wanted in text for wanted in expectations)
            and (not first_lines or expectations[0] in "\n".join(lines[:LINES])))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("cmake", "run", "compiler", "include", "prefix", "work"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--first-lines", action="store_true")
    options.add_argument("--must-fail", default=None)
    options.add_argument("cases", nargs="+", type=pathlib.Path)
    given = options.parse_args()

    expected, together, headers = {}, [], []
    for case in given.cases:
        text = case.read_text()
        expected[case.stem] = [one.strip() for one in re.findall(r"// expect-error: (.+)", text)]
        if expected[case.stem] and "#ifdef TESSERA_EXPECT_ERROR" in text and "expect-warning" not in text:
            together.append(case)
            headers += re.findall(r"^#include.*\n", text, re.M)
    if given.first_lines:
        headers.insert(0, "#include <tessera/host.hpp>\n")
    work = pathlib.Path(given.work)
    work.mkdir(parents=True, exist_ok=True)
    source = work / "together.cpp"
    source.write_text("".join(dict.fromkeys(headers)) + "".join(
        f'namespace {case.stem}_ {{\n#include "{case}"\n}}\n' for case in together))
    run = subprocess.run(
        [given.compiler, "-std=c++20", "-fdiagnostics-color=never", "-fmax-errors=0", "-Wno-deprecated-declarations",
         f"-I{given.include}", "-fsyntax-only", "-DTESSERA_EXPECT_ERROR", str(source)],
        capture_output=True, text=True, errors="replace", check=False, env={**os.environ, "LC_ALL": "C"})
    said = by_case(run.stderr, together)
    alone = [case for case in given.cases
             if case not in together or not refused(expected[case.stem], said[case.stem], given.first_lines)]

    mode = "first_lines" if given.first_lines else "rejected"
    wrong = []
    for case in alone:
        judged = subprocess.run(
            [given.cmake, f"-DCOMPILER={given.compiler}", f"-DINCLUDE={given.include}", f"-DPREFIX={given.prefix}",
             f"-DSOURCE={case}", f"-DMODE={mode}", "-P", given.run],
            capture_output=True, text=True, errors="replace", check=False)
        if judged.returncode != 0:
            wrong.append(case.stem)
            print(f"---- {case.stem}\n{judged.stdout}{judged.stderr}")
    print(f"{len(given.cases)} cases: {len(given.cases) - len(alone)} judged in one source, {len(alone)} alone"
          f"{': ' if alone else ''}{', '.join(case.stem for case in alone)}")
    if given.must_fail is not None:
        if wrong == given.must_fail.split(","):
            return 0
        print(f"together.py: found wrong: {', '.join(wrong) or '-'}; they must be {given.must_fail}")
        return 1
    if wrong:
        print(f"together.py: not refused as they must be: {', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
