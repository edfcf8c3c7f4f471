#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py WORDS: .ci/words refuses a page and a header with old words, and accepts the corrected ones."""

import pathlib
import subprocess
import sys
import tempfile

CASES = [  # file, text, its line and the word that is refused, the corrected text
    ("docs/page.md", "# A page\n\nPoints in the plane are\ntold apart.\n", "docs/page.md:3: Points in the plane are told apart",
     "# A page\n\nThe program classifies points in the plane.\n"),
    ("docs/page.md", "A strategy has\n`ts::used_late<2>`.\n", "docs/page.md:2: used_late -> bounded_staleness",
     "A strategy has\n`ts::bounded_staleness<2>`.\n"),
    ("docs/ranks.md", "Each node sends a letter.\n", "docs/ranks.md:1: letter -> remote write", "Each node sends a remote write.\n"),
    ("include/tessera/execute/a.hpp", "x.fill_kept(0, 1);\n", "a.hpp:1: fill_kept -> load_state",
     "x.load_state(0, 1);\n// A letter of the alphabet.\n"),
    ("include/tessera/execute/a.hpp", "void use_averages(bool);\n", "a.hpp:1: use_averages -> use_ema",
     "[[deprecated(\"since 0.3: use use_ema\")]] void use_averages(bool);\n"),
]


def checked(words, name, text):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        ended = subprocess.run([sys.executable, words, "--no-spelling", folder], capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout


for name, wrong, says, right in CASES:
    code, printed = checked(sys.argv[1], name, wrong)
    if code != 1 or says not in printed:
        sys.exit(f"{name}: {wrong!r} is not refused with {says!r}, but ends with {code} and\n{printed}")
    code, printed = checked(sys.argv[1], name, right)
    if code != 0:
        sys.exit(f"{name}: {right!r} is refused:\n{printed}")
print(f"{len(CASES)} texts are refused, and accepted when they are corrected")
