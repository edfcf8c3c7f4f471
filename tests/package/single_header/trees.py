#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What single_header.py does with small trees, right and damaged ones: trees.py COMPILER

A right tree is preprocessed twice, as headers that include each other and as the one header, and both must say the same, whatever macros are
defined. A damaged one must be refused with the name of what is wrong.
"""
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "cmake/packages/single_header.py"
VERSION = "".join(f"#define TESSERA_VERSION_{part} {n}\n" for n, part in enumerate(["MAJOR", "MINOR", "PATCH"], 3))
ONCE = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"
RIGHT = {
    "version.hpp": ONCE + VERSION,
    "root.hpp": ONCE + '#include <vector>\n#include "tessera/a.hpp"\n#ifdef WITH_B\n#include "tessera/b.hpp"\n#include <map>\n#endif\n'
                '#ifdef WITH_C\n#include "tessera/deep/c.hpp"\n#endif\n#include "tessera/b.hpp"\n#include <tessera/version.hpp>\nint root;\n',
    "a.hpp": ONCE + '/* once #include <nothing.h>\n#include <nothing.h>\n*/\n#define ROW int row1;\n#include "rows.inl"\n#undef ROW\n'
             '#define ROW int row2;\n#include "rows.inl"\n#undef ROW\n#include "tessera/deep/c.hpp"\nint a = 1\'000;\n',
    "b.hpp": ONCE + '#include "a.hpp"\n#include "deep/d.hpp"\nint b;\n',
    "deep/c.hpp": ONCE + '#ifdef WITH_B\n#include "d.hpp"\n#endif\n#define TEXT "#include <nothing.h>" \\\n#include <nothing.h>\n'
                  'const char* c = R"(\n#include "nothing.h"\n#pragma once\n\n\n)";\n',
    "deep/d.hpp": ONCE + '#include "tessera/deep/c.hpp"\nint d;\n',
    "rows.inl": "ROW\n",
}
# What is changed, and what is said of it.
DAMAGED = [
    ({"deep/d.hpp": ONCE + "#include <cstdio>\n#include <dnnl.h>\n"},
     "tessera/deep/d.hpp:4 includes <dnnl.h>, which is neither Tessera's nor of the standard library"),
    ({"deep/d.hpp": ONCE + "#if WITH_CUDA\n#  include <cuda_runtime_api.h>\n#endif\n"}, "tessera/deep/d.hpp:4 includes <cuda_runtime_api.h>"),
    ({"deep/c.hpp": None}, "tessera/a.hpp:12 includes tessera/deep/c.hpp, which is not below include/"),
    ({"rows.inl": None}, "tessera/a.hpp:7 includes rows.inl, which is not below include/"),
    ({"b.hpp": ONCE + "#include NAME\n"}, "tessera/b.hpp:3 includes what a macro says"),
    ({"b.hpp": ONCE + "#ifdef X\n"}, "tessera/b.hpp does not end a condition that it began"),
    ({"b.hpp": ONCE + "#endif\n"}, "tessera/b.hpp:3 ends a condition that it did not begin"),
    ({"rows.inl": '#include "rows.inl"\n'}, "rows.inl, which includes itself"),
    ({"version.hpp": ONCE}, "tessera/version.hpp, which has the version"),
    ({"root.hpp": None}, "the list of roots includes tessera/root.hpp"),
]


def make(folder, changes):
    for name, text in {**RIGHT, **changes}.items():
        path = folder / "include/tessera" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text)
    return subprocess.run([sys.executable, SCRIPT, "--include", folder / "include", "--output", folder / "one/one.hpp", "tessera/root.hpp"],
                          capture_output=True, text=True)


def preprocess(compiler, folder, header, macros):
    """The declarations behind the standard headers, one a line."""
    source = folder / "source.cpp"
    source.write_text(f"#include <vector>\n#include <map>\nint begin;\n#include <{header}>\nint end = TESSERA_VERSION_MAJOR;\n")
    done = subprocess.run([compiler, "-std=c++20", "-E", "-P", f"-I{folder}/include", f"-I{folder}/one", *macros, source],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{header} with {macros} is not preprocessed:\n{done.stderr}")
    return [line for line in done.stdout.split("int begin;")[1].splitlines() if line.strip()]


def main():
    compiler = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        right = Path(work) / "right"
        done = make(right, {})
        if done.returncode != 0:
            sys.exit(f"the right tree is refused: {done.stderr}")
        for macros in itertools.chain.from_iterable(itertools.combinations(["-DWITH_B", "-DWITH_C"], n) for n in range(3)):
            many, one = (preprocess(compiler, right, header, macros) for header in ("tessera/root.hpp", "one.hpp"))
            if many != one or "int root;" not in one:
                sys.exit(f"with {macros}, the headers say\n{many}\nand the one header\n{one}")
        for number, (changes, words) in enumerate(DAMAGED):
            folder = Path(work) / f"damaged{number}"
            done = make(folder, changes)
            if done.returncode != 1 or words not in done.stderr or (folder / "one/one.hpp").exists():
                sys.exit(f"with {changes}: status {done.returncode}, '{done.stderr.strip()}', not '{words}'")
    print(f"one right tree, {len(DAMAGED)} damaged ones")


if __name__ == "__main__":
    main()
