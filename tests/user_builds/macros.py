#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Macros of users' headers do not reach the library's: macros.py [--write]

Every header of the library hides the macros in NAMES while it is read, and shows them again at its end: its first line behind #pragma once includes
tessera/base/hide_macros.inl, its last tessera/base/show_macros.inl. Says which headers do not; with --write puts the lines there, and writes both of
these files, and macros.hpp here, which defines all of them for build.py.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
HIDE, SHOW = "tessera/base/hide_macros.inl", "tessera/base/show_macros.inl"
LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"

# What headers of windows, X11, Qt, R, Arduino, complex.h, sys/sysmacros.h, AssertMacros.h, loggers and old C programs define. Not `assert`, whose header
# may be read anew inside, nor words of the language.
NAMES = """
min max require check verify
ERROR DEBUG INFO WARNING FATAL LOG CHECK
T N I B F U PI SIZE
emit slots signals foreach forever
major minor makedev
linux unix
small near far interface
Success None Bool Status Always Complex
True False TRUE FALSE YES NO OK FAILURE SUCCESS
length error warning
bit round sq word abs square swap
likely unlikely
IN OUT OPTIONAL VOID
""".split()

HEAD = {
    HIDE: """// Hides what users' headers define by names that the library uses; show_macros.inl shows it again. Both are written by tests/user_builds/macros.py.
// A header that another one includes finds them hidden.
#pragma push_macro("TESSERA_HIDES_MACROS")
#ifndef TESSERA_HIDES_MACROS
#define TESSERA_HIDES_MACROS
""",
    SHOW: """// See hide_macros.inl.
#pragma pop_macro("TESSERA_HIDES_MACROS")
#ifndef TESSERA_HIDES_MACROS
""",
}


def fragments():
    hide = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in NAMES)
    show = "".join(f'#pragma pop_macro("{name}")\n' for name in NAMES)
    return {HIDE: LICENSE + HEAD[HIDE] + hide + "#endif\n", SHOW: LICENSE + HEAD[SHOW] + show + "#endif\n"}


def macros():
    """A definition of each that does not compile where it is used."""
    defined = "".join(f"#define {name}{'(a, b) ((a) tessera_used_macro (b))' if name in ('min', 'max') else ' tessera used a macro'}\n" for name in NAMES)
    return (LICENSE + "// Included before the program by build.py: macros as users' headers have them, by macros.py. The program's own headers come first.\n"
            "#pragma once\n\n#include <cstdint>\n#include <cstdio>\n#include <cstring>\n#include <string>\n#include <vector>\n\n" + defined)


def completed(text):
    """A header with both lines."""
    hide, show = f'#include "{HIDE}"\n', f'#include "{SHOW}"\n'
    if hide not in text:
        text = text.replace("#pragma once\n", "#pragma once\n" + hide, 1)
    if not text.endswith(show):
        text = text.replace(show, "").rstrip("\n") + "\n\n" + show
    return text


def main():
    write, wrong = "--write" in sys.argv, []
    wanted = {INCLUDE / name: text for name, text in fragments().items()} | {HERE / "macros.hpp": macros()}
    for path in sorted(INCLUDE.rglob("*.hpp")):
        text = path.read_text()
        if not re.search(r"^#include|^(namespace|struct|class|template|inline|constexpr)", text, re.MULTILINE):
            continue  # macros alone
        wanted[path] = completed(text)
    for path, text in wanted.items():
        if not path.is_file() or path.read_text() != text:
            wrong.append(path)
            if write:
                path.write_text(text)
    for path in wrong:
        print(f"{'written' if write else 'does not hide users’ macros'}: {path.relative_to(HERE.parents[1])}")
    if wrong and not write:
        print("run tests/user_builds/macros.py --write")
    return 1 if wrong and not write else 0


if __name__ == "__main__":
    sys.exit(main())
