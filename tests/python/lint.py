#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pyflakes says of the project's Python, and whether exported programs keep to the Python that PyTorch 1.13 has: lint.py ROOT

A line with `# noqa` is passed over. Without pyflakes (python3-pyflakes of Debian) it says so and is skipped.
"""

import ast
import pathlib
import re
import shutil
import subprocess
import sys

EXPORTED = "include/tessera/backend/torch/tessera_runtime.py"
OLDEST = (3, 7)  # of PyTorch 1.13
FOLDERS = ("include", "tests", "python", "cmake", "docs", "benchmarks", "examples", ".ci")


def complaints(files):
    """Lines of pyflakes, without those that a comment explains."""
    program = shutil.which("pyflakes3")
    command = [program] if program else [sys.executable, "-m", "pyflakes"]
    ran = subprocess.run([*command, *map(str, files)], capture_output=True, text=True)
    if "No module named pyflakes" in ran.stderr:
        print("skipped: there is no pyflakes; install python3-pyflakes")
        sys.exit(77)
    for line in (ran.stdout + ran.stderr).splitlines():
        at = re.match(r"(.*?\.py):(\d+):", line)
        if not at or "# noqa" not in pathlib.Path(at[1]).read_text(encoding="utf-8").splitlines()[int(at[2]) - 1]:
            yield line


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    try:
        ast.parse((root / EXPORTED).read_text(encoding="utf-8"), feature_version=OLDEST)
    except SyntaxError as e:
        found.append(f"{EXPORTED}:{e.lineno}: not in Python {OLDEST[0]}.{OLDEST[1]}: {e.msg}")
    files = sorted(p for folder in FOLDERS for p in (root / folder).rglob("*.py") if "build" not in p.relative_to(root).parts)
    found += complaints(files)
    print("\n".join(found) or f"{len(files)} files of Python, and nothing to say of them")
    return 1 if found or root / EXPORTED not in files else 0


if __name__ == "__main__":
    sys.exit(main())
