#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the code on the pages for beginners, and compares what they show with what is printed.

  blocks.py --library FILE --plan PROGRAM --work FOLDER [--compiler g++] [--jobs 2] [--only 03] [--write] [--without-ranks] [--whole]

The ```cpp blocks of a page, one after the other as they stand, are one program. The page prints the commands that compile it in a ```sh block, whose last
`g++` names the source; they are run literally, in a folder where `include` and, unless the page makes it, `libtessera.a` lie. Comments of the page say more:

  <!-- run -->               the next ```sh block is run, in a folder of the page, with `plan` on the path
  <!-- printed -->           the next ```text block is what was printed since the last one: C++ and shell each by itself. `...` stands for any lines
  <!-- printed, within 5 % -->  the same, with numbers that may differ by so much
  <!-- printed, times vary -->  the same, with numbers that may be any
  <!-- ranks: 2 -->          the program runs as so many ranks of Open MPI

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
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from shell_words import check_commands, known_options  # noqa: E402
from page_parts import compiled_pages, parts_of  # noqa: E402

LITERALS = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'')
MARK = "==== tessera page block %d ===="
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Failure(Exception):
    pass


def braces(code):
    """How many braces are open at the end."""
    code = LITERALS.sub("", code)
    return code.count("{") - code.count("}")


class Page:
    """The program of a page, and what it must print."""

    def __init__(self, path, root):
        self.path, self.name, self.root = path, str(path.relative_to(root)), root
        self.text = path.read_text()
        self.pieces, self.commands, self.checks, self.loose, self.compile = [], [], [], [], []
        self.ranks = 0
        self.uses_mpi = False
        self.in_main = []  # for each piece, whether main() goes on behind it
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

        if self.pieces and not self.compile:
            raise Failure(f"{self.name}: no ```sh block says how its program is compiled")
        if self.in_main and (self.in_main[-1] or braces(self.program()) != 0):
            raise Failure(f"{self.name}: its blocks, one after the other, do not end main()")

    def comment(self, part, said):
        if part.body.startswith("hidden cpp") or part.body in ("in main", "compiled, not run"):
            raise Failure(f"{self.name}:{part.line}: '{part.body.split(chr(10))[0]}': readers see the whole program, in the order in which it compiles")
        if part.body.startswith("ranks:"):
            self.ranks = int(part.body[6:])
            return said
        if part.body == "run" or part.body.startswith("printed"):
            return part.body
        return said

    def block(self, part, said):
        if part.info == "cpp":
            if said is not None:
                raise Failure(f"{self.name}:{part.line}: '{said}' before a block of C++")
            self.pieces.append((part.body, part.line))
            self.uses_mpi |= "tessera/ranks/" in part.body
            whole = self.program()
            main = whole.find("int main(")
            self.in_main.append(main >= 0 and braces(whole[main:]) > 0)
            self.last = "cpp"
        elif part.info == "sh":
            if said == "run":
                self.commands.append((part.body, part.line))
                self.last = "sh"
            elif said is None:
                self.loose.append(part)
                if re.search(r"^g\+\+ ", part.body, re.M):
                    if self.compile:
                        raise Failure(f"{self.name}:{part.line}: its program is compiled twice")
                    self.compile = part.body.split("\n")
            else:
                raise Failure(f"{self.name}:{part.line}: '{said}' before a shell block")
        elif part.info == "text" and said and said.startswith("printed"):
            self.checks.append((self.last, len(self.commands) if self.last == "sh" else len(self.pieces), said, part))
        elif part.info == "text":
            raise Failure(f"{self.name}:{part.line}: output that nothing is compared with; say <!-- printed --> above")
        elif said:
            raise Failure(f"{self.name}:{part.line}: '{said}' before a block of '{part.info}'")

    def program(self):
        """What a reader has who copies the blocks."""
        return "".join(body + "\n" for body, _ in self.pieces)

    def source(self):
        """The same, which tells besides where in main() a block has ended."""
        mark = "if (mpi.rank() == 0) " if self.uses_mpi else ""  # what other ranks print is not compared
        return "".join(f'#line {line + 1} "{self.name}"\n{body}\n'
                       + (f'#line 1 "end of block"\n{mark}__builtin_puts("\\n{MARK % n}");\n' if inside else "")
                       for n, ((body, line), inside) in enumerate(zip(self.pieces, self.in_main), 1))

    def names(self):
        """The source and the program that the last command names."""
        words = shlex.split(re.sub(r"\$\([^)]*\)", "", self.compile[-1]))
        sources = [w for w in words if w.endswith(".cpp")]
        if words[:1] != ["g++"] or len(sources) != 1 or "-o" not in words:
            raise Failure(f"{self.name}: '{self.compile[-1]}' is no command that makes a program of one source")
        return sources[0], words[words.index("-o") + 1]


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


def outputs_of_program(page, a, folder):
    """What the page's program prints until the end of each of its blocks. The page's commands compile it."""
    source, program = page.names()
    (folder / source).write_text(page.source())
    for name, target in (("include", a.root / "include"), ("libtessera.a", a.library)):
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(Path(target).resolve())
    tools = folder / "tools"  # where pages say g++ they mean the compiler that the tests are for
    tools.mkdir(exist_ok=True)
    (tools / "g++").unlink(missing_ok=True)  # a link: a script that is still open in a process that another thread forks is busy
    (tools / "g++").symlink_to(shutil.which(a.compiler))
    commands = page.compile
    made = next((i for i, c in enumerate(commands) if c.startswith("ar rc libtessera.a")), None)
    if made is not None:
        if a.whole:
            (folder / "libtessera.a").unlink()
        else:  # minutes, for what the library that the tests link is already
            commands = commands[made + 1:]
    built = run(["bash", "-euc", "\n".join(commands)], 1800, cwd=folder, env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"))
    if built.returncode:
        raise Failure(f"{page.name} does not compile:\n{built.stderr[:4000]}")
    command, environment = [str(folder / program)], dict(os.environ)
    if page.ranks:
        command = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(page.ranks), *command]
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ran = run(command, 120, cwd=folder, env=environment)
    if ran.returncode:
        raise Failure(f"{page.name} ends with {ran.returncode}:\n{ran.stdout[-1500:]}\n{ran.stderr[-1500:]}")
    pieces, rest = [], ran.stdout
    for n, inside in enumerate(page.in_main, 1):
        piece = ""
        if inside:
            piece, _, rest = rest.partition("\n" + MARK % n + "\n")
        elif n == len(page.in_main):
            piece = rest
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
    if page.pieces:
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
    p.add_argument("--library", type=Path, required=True)
    p.add_argument("--plan", required=True)
    p.add_argument("--work", type=Path, required=True)
    p.add_argument("--compiler", default="g++")
    p.add_argument("--whole", action="store_true")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--only", default="")
    p.add_argument("--write", action="store_true")
    p.add_argument("--without-ranks", action="store_true")
    a = p.parse_args()
    a.work = a.work.resolve()
    a.known = known_options(a.plan, a.root)
    failed, blocks, compared, pages = [], 0, 0, 0
    paths = [x for x in compiled_pages(a.root) if re.search(a.only, x.name)]
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
                pages, blocks, compared = pages + 1, blocks + len(page.pieces), compared + checks
                print(f"{page.name}: {len(page.pieces)} blocks, {checks} outputs compared, {seconds:.1f} s", flush=True)
            except Failure as e:
                failed.append(str(e))
    for f in failed:
        print(f"failed: {f}", file=sys.stderr)
    print(f"{blocks} blocks of {pages} pages compiled and run, {compared} outputs compared, {time.monotonic() - started:.1f} s "
          f"({resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.1f} s of processors)")
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
