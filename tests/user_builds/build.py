#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer under the flags that users have: build.py [--quick] [--only REGEX] [--list] [COMPILER...]

Compiles the program in this folder with each set of flags and each compiler (those of g++, clang++-14 and clang++-19 that are there), runs it, and
compares its losses with those of the first build, which has no flags. NaN in a batch must be refused in every build, and change no weight. --quick: a
build of each kind with the first compiler, some minutes less. --only: builds whose name matches. Exit status 1 where one fails, 77 where oneDNN is not
installed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
LINKED = ["-ldnnl", "-lgomp", "-lpthread"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
ONE = ["unity.cpp"]
TWO = ["main.cpp", "train.cpp", "refuse.cpp"]
MACROS = ["-include", str(HERE / "macros.hpp")]

# Name, flags, sources; those of --quick are marked.
BUILDS = [
    ("plain", ["-O0", *WARNINGS], TWO, True),
    ("checked library, sanitizers", ["-O0", "-D_GLIBCXX_DEBUG", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], ONE, True),
    ("fast math", ["-O2", "-ffast-math"], ONE, True),
    ("macros", ["-O0", *MACROS], ONE, True),
    ("unity", ["-O0", *WARNINGS], ONE, False),
    ("debug", ["-O0", "-g", "-D_GLIBCXX_ASSERTIONS"], ONE, False),
    ("checked library", ["-O0", "-D_GLIBCXX_DEBUG", "-D_GLIBCXX_DEBUG_PEDANTIC"], ONE, False),
    ("address and undefined behaviour", ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], TWO, False),
    ("threads", ["-O1", "-fsanitize=thread"], ONE, False),
    ("optimized", ["-O2", "-DNDEBUG"], TWO, False),
    ("most optimized", ["-O3", "-march=native", "-DNDEBUG", "-D_FORTIFY_SOURCE=2"], ONE, False),
    ("small", ["-Os"], ONE, False),
    ("fast math, most optimized", ["-Ofast", "-march=native"], ONE, False),
    ("finite math, two sources", ["-O2", "-ffinite-math-only", "-fno-signed-zeros"], TWO, False),
    ("no rtti", ["-O0", "-fno-rtti"], TWO, False),
    ("unsigned char", ["-O0", "-funsigned-char"], ONE, False),
    ("overflow wraps", ["-O1", "-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"], ONE, False),
    ("link-time optimization", ["-O1", "-flto"], TWO, False),
    ("hidden, shared", ["-O0", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"], TWO, False),
    ("gnu++20", ["-O0", "-std=gnu++20", *WARNINGS], ONE, False),
    ("C++23", ["-O0", "-std=c++2b"], ONE, False),
]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def build(compiler, flags, sources, folder):
    """What it prints, or why there is nothing."""
    program = folder / "program"
    standard = [] if any(f.startswith("-std") for f in flags) else ["-std=c++20"]
    objects = []
    for source in sources:
        objects.append(str(folder / (source + ".o")))
        made = run([compiler, *standard, *flags, f"-I{INCLUDE}", "-c", str(HERE / source), "-o", objects[-1]])
        if made.returncode:
            return None, f"{source} does not compile\n" + made.stdout[:4000]
    linked = run([compiler, *flags, *objects, "-o", str(program), *LINKED])
    if linked.returncode:
        return None, "does not link\n" + linked.stdout[:4000]
    # oneDNN is not compiled for the thread sanitizer, and OpenMP's barriers are unknown to it.
    environment = dict(os.environ, TSAN_OPTIONS=f"suppressions={HERE.parent / 'tsan.supp'}", UBSAN_OPTIONS="print_stacktrace=1")
    ran = run([str(program)], env=environment, timeout=600)
    return (ran.stdout, None) if ran.returncode == 0 else (None, f"ends with {ran.returncode}\n" + ran.stdout[:4000])


def read(printed):
    *losses, refused = printed.splitlines()
    return [float(x) for x in losses], refused


def differs(losses, of):
    """Rounding differs between builds, and grows with the steps."""
    if len(losses) != len(of):
        return f"{len(losses)} losses, {len(of)} expected"
    for step, (a, b) in enumerate(zip(losses, of)):
        most = 2e-5 if step == 0 else 2e-3
        if not abs(a - b) <= most * abs(b):  # not: NaN differs
            return f"loss {a} in step {step}, {b} expected"
    return None


def main():
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--quick", action="store_true")
    given.add_argument("--only", default="")
    given.add_argument("--list", action="store_true")
    given.add_argument("compilers", nargs="*", default=["g++", "clang++-14", "clang++-19"])
    given = given.parse_args()
    compilers = [c for c in given.compilers if shutil.which(c)][: 1 if given.quick else None]
    if not compilers:
        sys.exit("build.py: none of " + " ".join(given.compilers) + " is there")
    if run([compilers[0], "-E", "-x", "c++", "-"], input="#include <oneapi/dnnl/dnnl.hpp>\n").returncode:
        print("skipped: oneDNN is not installed")
        return 77
    wrong, expected = 0, None
    for compiler in compilers:
        for name, flags, sources, quick in BUILDS:
            first = expected is None and name == "plain"
            if not first and ((given.quick and not quick) or not re.search(given.only, name)):
                continue
            if given.list:
                print(f"{compiler}: {name}: {' '.join(flags)}")
                continue
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                printed, why = build(compiler, flags, sources, Path(folder))
            if printed is not None:
                losses, refused = read(printed)
                expected = losses if first else expected
                why = differs(losses, expected)
                if why is None and not losses[-1] < 0.7 * losses[0]:
                    why = f"it does not learn: loss {losses[0]}, later {losses[-1]}"
                if why is None and "not finite in sample 5" not in refused:
                    why = f"NaN in sample 5 is not refused, or a weight changed; it says '{refused}'"
            print(f"{compiler}: {name}: {why or 'ok'} ({time.monotonic() - began:.0f} s)", flush=True)
            wrong += why is not None
            if first and why is not None:
                return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
