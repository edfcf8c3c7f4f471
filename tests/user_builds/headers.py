#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header of the library begins and ends alike: headers.py [--write]

The first line behind #pragma once includes tessera/base/begin_header.inl, the last one tessera/base/end_header.inl. Between them the macros in NAMES, which
users' headers define, are hidden, and floating-point arithmetic is what the standard says, whatever flags the user compiles with. A header's bodies are
in the .inl of its name, and those of a class that has many in others beside it; it includes them last where it is not compiled (TESSERA_COMPILED); those of each source of tessera::compiled are listed in
tessera/compiled/. Says which headers lack a line; with --write puts them there, and writes both of these files, those lists, and macros.hpp here, which
defines all of NAMES for build.py.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
BEGIN, END = "tessera/base/begin_header.inl", "tessera/base/end_header.inl"
LICENSE = "// SPDX-License-Identifier: Apache-2.0\n// clang-format off\n"

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

TOP = """// At the beginning of every header; end_header.inl is at its end. Both are written by tests/user_builds/headers.py. What another header includes
// finds all this done.
#pragma push_macro("TESSERA_IN_HEADER")
#ifndef TESSERA_IN_HEADER
#define TESSERA_IN_HEADER

// Floating-point numbers as IEEE 754 has them, whatever the user's flags say of them (-ffast-math, -Ofast): kernels round by adding and subtracting a large
// number, and NaN is found. clang from 15 on keeps -ffinite-math-only in what conditions choose and functions take, which no pragma ends.
#if defined(__clang__)
#if __clang_major__ >= 15 && defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "tessera: -ffinite-math-only, a part of -ffast-math and -Ofast, hides numbers that are not finite from clang; add -fno-finite-math-only behind it"
#endif
#if defined(__x86_64__) && !defined(__CUDACC__)
#pragma float_control(precise, on, push)
#endif
#elif defined(__GNUC__) && (defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__))
#pragma GCC push_options
#pragma GCC optimize("no-fast-math")
#endif

// Before each body in a .inl: header-only, or in the one program part that defines them all (TESSERA_COMPILED, tessera::compiled).
#ifndef TESSERA_INLINE
#ifdef TESSERA_COMPILED
#define TESSERA_INLINE
#else
#define TESSERA_INLINE inline
#endif
#endif

// Macros of users' headers by names that the library uses.
"""
BOTTOM = """// See begin_header.inl.
#pragma pop_macro("TESSERA_IN_HEADER")
#ifndef TESSERA_IN_HEADER
#if defined(__clang__)
#if defined(__x86_64__) && !defined(__CUDACC__)
#pragma float_control(pop)
#endif
#elif defined(__GNUC__) && (defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__))
#pragma GCC pop_options
#endif
"""


def fragments():
    hide = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in NAMES)
    show = "".join(f'#pragma pop_macro("{name}")\n' for name in NAMES)
    return {BEGIN: LICENSE + TOP + hide + "#endif\n", END: LICENSE + BOTTOM + show + "#endif\n"}


def macros():
    """A definition of each that does not compile where it is used."""
    defined = "".join(f"#define {name}{'(a, b) ((a) tessera_used_macro (b))' if name in ('min', 'max') else ' tessera used a macro'}\n" for name in NAMES)
    return (LICENSE + "// Included before the program by build.py: macros as users' headers have them, by headers.py. The program's own headers come first.\n"
            "#pragma once\n\n#include <cstdint>\n#include <cstdio>\n#include <cstring>\n#include <exception>\n#include <string>\n#include <vector>\n\n" + defined)


def completed(text):
    """A header with both lines."""
    begin, end = f'#include "{BEGIN}"\n', f'#include "{END}"\n'
    if begin not in text:
        text = text.replace("#pragma once\n", "#pragma once\n" + begin, 1)
    if not text.endswith(end):
        text = text.replace(end, "").rstrip("\n") + "\n\n" + end
    return text


# The sources of tessera::compiled: folders whose bodies they hold, or what paths of bodies begin with (_ or . at the end), and what they need besides the
# standard library.
SOURCES = {
    "core": ("base cost layout machine net op part plan schedule simulate strategy task", None),
    "search": ("search", None),
    "placement": ("search/placement", None),
    "certified": ("search/certified search/best. search/searches.", None),
    "execute": ("execute backend/reference", None),
    "learned": ("learned", None),
    "io": ("io", None),
    "json": ("io", "nlohmann/json.hpp"),
    "contest": ("io/exchange/contest_file. io/exchange/split_problem_file. io/exchange/layer_profile_file.", None),
    "contest_json": ("io/exchange/contest_file. io/exchange/split_problem_file. io/exchange/layer_profile_file.", "nlohmann/json.hpp"),
    "onnx": ("part/onnx io/exchange/onnx_", None),
    "torch_export": ("backend/torch io/exchange/torch_", None),
    "host": ("backend/host", "oneapi/dnnl/dnnl.h"),
    "cuda_calls": ("backend/cuda", None),
    "cuda": ("backend/cuda", "cuda_runtime_api.h"),
    "mpi": ("ranks", "mpi.h"),
}

# Templates that they instantiate, which their headers declare as extern.
SESSION = ("session", "executor", "detail::parameter_state", "detail::run_results", "detail::plan_cache", "detail::plan_runs", "detail::session_answers")
INSTANCES = {name: "\n" + "".join(f"template class tessera::{part}<tessera::{name}::backend>;\n" for part in SESSION) for name in ("host", "cuda")}


def includes(path, known):
    """All that a header or its bodies include, directly or not."""
    if path not in known:
        known[path] = set()
        for name in re.findall(r'^#include ["<]([^">]+)[">]', (INCLUDE / path).read_text(), re.MULTILINE):
            known[path].add(name)
            if (INCLUDE / name).is_file():
                known[path] |= includes(name, known)
    return known[path]


def source_of(path, known):
    """The source that holds these bodies: of the folder nearest to them, the one whose library they include, else the first."""
    folder = max((f for folders, _ in SOURCES.values() for f in folders.split() if path.startswith(f"tessera/{f}" if f[-1] in "_." else f"tessera/{f}/")), key=len)
    candidates = [name for name, (folders, _) in SOURCES.items() if folder in folders.split()]
    return next((name for name in candidates if SOURCES[name][1] in includes(path, known)), candidates[0])


def compiled(bodies):
    """What each source includes."""
    known, lists = {}, {name: "" for name in SOURCES}
    for path in sorted(path.relative_to(INCLUDE).as_posix() for path in bodies):
        lists[source_of(path, known)] += f'#include "{path}"\n'
    first = "// SPDX-License-Identifier: Apache-2.0\n// For one source of a program that is compiled with TESSERA_COMPILED. Written by tests/user_builds/headers.py.\n"
    return {INCLUDE / f"tessera/compiled/{name}.inl": first + text + INSTANCES.get(name, "") for name, text in lists.items()}


def main():
    write, wrong = "--write" in sys.argv, []
    wanted = {INCLUDE / name: text for name, text in fragments().items()} | {HERE / "macros.hpp": macros()}
    bodies = [path for path in INCLUDE.rglob("*.inl") if "\n// Bodies of " in path.read_text()]
    wanted |= compiled(bodies)
    for path in sorted([*INCLUDE.rglob("*.hpp"), *bodies]):
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
        print(f"{'written' if write else 'lacks a line'}: {path.relative_to(HERE.parents[1])}")
    if wrong and not write:
        print("run tests/user_builds/headers.py --write")
    return 1 if wrong and not write else 0


if __name__ == "__main__":
    sys.exit(main())
