#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the code on the pages for beginners, and compares what they show with what is printed.

  blocks.py --runtime LIBRARY --plan PROGRAM --work FOLDER [--compiler g++] [--jobs 2] [--only 03] [--write] [--without-ranks]

The ```cpp blocks of a page are one translation unit, in order. A block that begins with a preprocessor line, a type, a template, a function, a
namespace or `using` stands at file scope, any other in the body of main, one after the other, so that what one declares the next may use. Comments of the page
say more:

  <!-- hidden cpp            a block that readers do not see
  ... -->
  <!-- in main -->           the next block stands in main, though it begins like a declaration
  <!-- compiled, not run --> the next block stands in a function that nobody calls
  <!-- run -->               the next ```sh block is run, in a folder of the page, with `plan` on the path
  <!-- printed -->           the next ```text block is what was printed since the last one: C++ and shell each by itself. `...` stands for any lines
  <!-- printed, within 5 % -->  the same, with numbers that may differ by so much
  <!-- printed, times vary -->  the same, with numbers that may be any
  <!-- ranks: 2 -->          the program runs as so many ranks of Open MPI

A page with an `int main(` is a program as it stands.

Every other ```sh block is held against the programs' own help: the options of `plan`, the verbs of bootstrap.sh. With --write the page's ```text blocks become
what was printed. Ends with 1 where anything fails.
"""
import argparse
import concurrent.futures
import difflib
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from shell_words import check_commands, known_options  # noqa: E402
from page_parts import compiled_pages, parts_of  # noqa: E402

FUNCTION = re.compile(r"^(?!(?:for|if|while|switch|try|do)\b)\w.*\) (?:const )?\{$")
FILE_SCOPE = re.compile(r"^(#|static\b|struct\b|class\b|enum\b|template\b|namespace\b|using\b|inline\b|int main\()")
MARK = "==== tessera page block %d ===="
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Failure(Exception):
    pass


def begins(body):
    """The first line of code."""
    return next((l for l in body.split("\n") if l.strip() and not l.strip().startswith("//")), "")


class Page:
    """The program of a page, and what it must print."""

    def __init__(self, path, root):
        self.path, self.name, self.root = path, str(path.relative_to(root)), root
        self.text = path.read_text()
        self.outer, self.inner, self.commands, self.checks, self.loose = [], [], [], [], []
        self.ranks = 0
        self.uses_mpi = self.has_main = False
        self.last = "cpp"
        said = None
        for part in parts_of(self.text):
            if part.kind == "comment":
                said = self.comment(part, said)
            elif part.kind == "block":
                self.block(part, said)
                said = None
            elif part.body.strip():
                if said:
                    raise Failure(f"{self.name}:{part.line}: '{said}' stands before no block")

    def comment(self, part, said):
        if part.body.startswith("hidden cpp"):
            self.code(part.body[len("hidden cpp"):], part.line, None)
            return said
        if part.body.startswith("ranks:"):
            self.ranks = int(part.body[6:])
            return said
        if part.body in ("in main", "compiled, not run", "run") or part.body.startswith("printed"):
            return part.body
        return said

    def block(self, part, said):
        if part.info == "cpp":
            if said not in (None, "in main", "compiled, not run"):
                raise Failure(f"{self.name}:{part.line}: '{said}' before a block of C++")
            self.code(part.body, part.line, said)
            self.last = "cpp"
        elif part.info == "sh":
            if said == "run":
                self.commands.append((part.body, part.line))
                self.last = "sh"
            elif said is None:
                self.loose.append(part)
            else:
                raise Failure(f"{self.name}:{part.line}: '{said}' before a shell block")
        elif part.info == "text" and said and said.startswith("printed"):
            self.checks.append((self.last, len(self.commands) if self.last == "sh" else None if self.has_main else len(self.inner), said, part))
        elif part.info == "text":
            raise Failure(f"{self.name}:{part.line}: output that nothing is compared with; say <!-- printed --> above")
        elif said:
            raise Failure(f"{self.name}:{part.line}: '{said}' before a block of '{part.info}'")

    def code(self, body, line, said):
        where = f'#line {line + 1} "{self.name}"\n{body}\n'
        self.uses_mpi |= "tessera/ranks/" in body
        self.has_main |= "int main(" in body
        if said == "compiled, not run":
            self.outer.append(f"[[maybe_unused]] static void not_called_{line}() {{\n{where}}}\n")
        elif said is None and (FILE_SCOPE.match(begins(body)) or FUNCTION.match(begins(body))):
            self.outer.append(where)
        else:
            self.inner.append(where)

    def source(self):
        if self.has_main:  # the page's own
            return "".join(self.outer)
        first = "if (mpi.rank() == 0) " if self.uses_mpi else ""  # what other ranks print is not compared
        body = "".join(code + f'#line 1 "end of block"\n{first}std::printf("\\n%s\\n", "{MARK % n}");\nstd::fflush(stdout);\n'
                       for n, code in enumerate(self.inner, 1))
        main = ("int main(int argc, char** argv) {\n    return tessera::mpi::run(argc, argv, [&](tessera::mpi::environment& mpi) {\n%s"
                "return 0; });\n}\n" if self.uses_mpi else "int main() try {\n%s} catch (const std::exception& e) {\n"
                "    std::fprintf(stderr, \"%%s\\n\", e.what());\n    return 1;\n}\n")
        return "#include <cstdio>\n#include <exception>\n" + "".join(self.outer) + main % body

    def has_program(self):
        return bool(self.inner or self.outer)


def run(command, timeout, **more):
    """Runs a command in a session of its own; what takes too long is ended, with all that it started."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failure(f"after {timeout} s not at its end: {' '.join(map(str, command))}")
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def mpi_flags(word):
    got = subprocess.run(["pkg-config", word, "ompi-c"], stdout=subprocess.PIPE, text=True)
    return shlex.split(got.stdout)


def outputs_of_program(page, a, folder):
    source = folder / "page.cpp"
    source.write_text(page.source())
    flags = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-I", str(a.root / "include")]
    libraries = [str(a.runtime), "-ldnnl", "-lgomp", "-lz", "-pthread"]
    if page.uses_mpi:
        flags += mpi_flags("--cflags")
        libraries += mpi_flags("--libs")
    built = run([a.compiler, *flags, str(source), "-o", str(folder / "page"), *libraries], 900)
    if built.returncode:
        raise Failure(f"{page.name} does not compile:\n{built.stderr[:4000]}")
    command, environment = [str(folder / "page")], dict(os.environ)
    if page.ranks:
        command = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(page.ranks), *command]
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ran = run(command, 120, cwd=folder, env=environment)
    if ran.returncode:
        raise Failure(f"{page.name} ends with {ran.returncode}:\n{ran.stdout[-1500:]}\n{ran.stderr[-1500:]}")
    if page.has_main:
        return [ran.stdout]
    pieces, rest = [], ran.stdout
    for n in range(1, len(page.inner) + 1):
        piece, _, rest = rest.partition("\n" + MARK % n + "\n")
        pieces.append(piece)
    return pieces


def outputs_of_commands(page, a, folder):
    outputs = []
    environment = dict(os.environ, PATH=f"{Path(a.plan).resolve().parent}:{os.environ['PATH']}", ROOT=str(a.root), LC_ALL="C")
    for body, line in page.commands:
        ran = run(["bash", "-euo", "pipefail", "-c", body], 120, cwd=folder, env=environment)
        if ran.returncode:
            raise Failure(f"{page.name}:{line}: ends with {ran.returncode}:\n{body}\n{ran.stdout[-1000:]}\n{ran.stderr[-1500:]}")
        outputs.append(ran.stdout)
    return outputs


def same_line(shown, printed, said):
    if shown == printed:
        return True
    within = re.search(r"within ([\d.]+) %", said)
    if not within and "times vary" not in said:
        return False
    if re.sub(r"\s+", " ", NUMBER.sub("#", shown)) != re.sub(r"\s+", " ", NUMBER.sub("#", printed)):
        return False
    if not within:
        return True
    share = float(within[1]) / 100
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)))
    return all(abs(x - y) <= share * max(abs(x), abs(y)) for x, y in pairs)


def same_output(shown, printed, said):
    """Whether the lines that are shown are those that are printed; `...` stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(same_output(shown[1:], printed[i:], said) for i in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0], said) and same_output(shown[1:], printed[1:], said)


def lines_of(text):
    lines = [l.rstrip() for l in text.strip("\n").split("\n")]
    return [] if lines == [""] else lines


def check_page(page, a):
    """Raises Failure with all that is wrong with a page; returns the seconds that it took and how many outputs were compared."""
    started = time.monotonic()
    folder = a.work / page.path.stem
    folder.mkdir(parents=True, exist_ok=True)
    for part in page.loose + [p for p in parts_of(page.text) if p.info == "sh"]:
        wrong = check_commands(part.body, a.known)
        if wrong:
            raise Failure(f"{page.name}:{part.line}: {wrong}")
    printed = {"cpp": [], "sh": []}
    if page.has_program():
        printed["cpp"] = outputs_of_program(page, a, folder)
    printed["sh"] = outputs_of_commands(page, a, folder)
    seen, wrong, new = {"cpp": 0, "sh": 0}, [], page.text
    for kind, until, said, part in page.checks:
        got = lines_of("".join(printed[kind][seen[kind]:until]))
        seen[kind] = until
        shown = lines_of(part.body)
        if not got:
            wrong.append(f"{page.name}:{part.line}: nothing was printed before this output")
        elif not same_output(shown, got, said):
            if a.write:
                new = new.replace("```text\n" + (part.body + "\n" if part.body else "") + "```", "```text\n" + "\n".join(got) + "\n```", 1)
            wrong.append(f"{page.name}:{part.line}: not what is printed:\n" + "\n".join(
                difflib.unified_diff(shown, got, "shown", "printed", lineterm="", n=1)))
    if a.write and new != page.text:
        page.path.write_text(new)
        print(f"{page.name}: written anew")
    elif wrong:
        raise Failure("\n".join(wrong))
    return time.monotonic() - started, len(page.checks)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    p.add_argument("--runtime", type=Path, required=True)
    p.add_argument("--plan", required=True)
    p.add_argument("--work", type=Path, required=True)
    p.add_argument("--compiler", default="g++")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--only", default="")
    p.add_argument("--write", action="store_true")
    p.add_argument("--without-ranks", action="store_true")
    a = p.parse_args()
    a.work = a.work.resolve()
    a.known = known_options(a.plan, a.root)
    failed, blocks, compared, pages = [], 0, 0, 0
    paths = [x for x in compiled_pages(a.root) if a.only in x.name]
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        waiting = {}
        for path in paths:
            try:
                page = Page(path, a.root)
                if page.uses_mpi and a.without_ranks:
                    print(f"{page.name}: left out, there is no MPI")
                    continue
                waiting[pool.submit(check_page, page, a)] = page
            except (Failure, ValueError) as e:
                failed.append(f"{path.name}: {e}")
        for done in concurrent.futures.as_completed(waiting):
            page = waiting[done]
            try:
                seconds, checks = done.result()
                pages, blocks, compared = pages + 1, blocks + len(page.inner) + len(page.outer), compared + checks
                print(f"{page.name}: {len(page.inner) + len(page.outer)} blocks, {checks} outputs compared, {seconds:.1f} s", flush=True)
            except Failure as e:
                failed.append(str(e))
    for f in failed:
        print(f"failed: {f}", file=sys.stderr)
    print(f"{blocks} blocks of {pages} pages compiled and run, {compared} outputs compared, {time.monotonic() - started:.1f} s "
          f"({resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.1f} s of processors)")
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
