#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that a page tells its reader to run has somebody in CI who runs it, by tests/site/commands.txt.

  commands.py [--root ROOT] [--build BUILD]   pages against the list, and the list against the steps it names
  commands.py --run FOLDER [--root ROOT]      runs the blocks that the list leaves to `pages`, those of a page in order, with FOLDER on the path

Commands are those of ```sh blocks of README.md, CONTRIBUTING.md and docs/, and what stands in `code` on the first two and begins with a program.
A block under <!-- run --> is run by docs.blocks, and so is `g++` on the pages whose code it compiles. With BUILD, tests that are named must be among those that CTest has there.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))
from page_parts import compiled_pages, parts_of  # noqa: E402

SPAN = re.compile(r"`((?:\./|python3 |cmake --|ctest |tests/\S+\.py )[^`]*)`")
LIST = "tests/site/commands.txt"


def commands_of(body):
    """The commands of a block: lines, continued ones joined, comments and repeated spaces taken out."""
    joined = re.sub(r"\\\n\s*", " ", body)
    return [c for c in (re.sub(r"\s+", " ", re.sub(r"(^|\s)#.*", "", line)).strip() for line in joined.split("\n")) if c]


def pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/**/*.md"))]


def blocks_of(page, root):
    """(line, body) of the ```sh blocks that the page does not run by itself."""
    runs = page in compiled_pages(root)
    found, said = [], None
    for part in parts_of(page.read_text()):
        if part.kind == "comment":
            said = part.body
        elif part.kind == "block":
            if part.info in ("sh", "bash", "console") and not (runs and (said == "run" or "\ng++ " in "\n" + part.body)):
                found.append((part.line, part.body))
            said = None
    return found


def read_list(root):
    """Command -> (step, number of the line)."""
    steps = {}
    for number, line in enumerate((root / LIST).read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        step, bar, command = line.partition(" | ")
        if not bar or command in steps:
            raise SystemExit(f"{LIST}:{number}: {'there already' if bar else 'not `step | command`'}: {line}")
        steps[command] = (step, number)
    return steps


def tests_of(build):
    said = subprocess.run(["ctest", "--test-dir", build, "-N"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"^ *Test *#\d+: (\S+)", said, re.M))


def wrong_step(step, command, root, tests):
    """Why the step does not run the command, or an empty text."""
    if step in (".ci/run", ".ci/long"):
        lines = [re.sub(r"(^|\s)#.*", "", l) for l in (root / step).read_text().split("\n")]
        return "" if any(command in l for l in lines) else f"{step} has it not"
    name = re.fullmatch(r"(\.ci/long )?test (\S+)(?: - .+)?", step)
    if name and name[1]:
        folder, _, last = name[2].partition(".")
        text = (root / ("python/CMakeLists.txt" if folder == "python" else "tests/package/tests.cmake")).read_text()
        return "" if re.search(rf"_test\({last} |ways {last.rpartition('.')[2]}\b", text) else f"there is no test {name[2]}"
    if name:
        return "" if tests is None or name[2] in tests else f"there is no test {name[2]}"
    if step == "pages" or re.fullmatch(r"nobody - .+", step):
        return ""
    return f"there is no step '{step}'"


def check(root, build):
    steps, seen, wrong = read_list(root), {}, []
    tests = tests_of(build) if build else None
    for page in pages(root):
        name = page.relative_to(root)
        told = [(line, c) for line, body in blocks_of(page, root) for c in commands_of(body)]
        if page.parent == root:
            told += [(0, c) for c in SPAN.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.S).replace("\n", " "))]
        for line, command in told:
            if command in steps:
                seen.setdefault(command, []).append(str(name))
            else:
                wrong.append(f"{name}:{line}: {LIST} says of nobody who runs `{command}`")
    for command, (step, number) in steps.items():
        if command not in seen:
            wrong.append(f"{LIST}:{number}: no page has `{command}`")
        reason = wrong_step(step, command, root, tests)
        if reason:
            wrong.append(f"{LIST}:{number}: `{command}`: {reason}")
    for command, where in seen.items():
        print(f"{', '.join(sorted(set(where)))}: {command}: {steps[command][0]}")
    return wrong


def run(root, programs):
    steps, wrong = read_list(root), []
    for page in pages(root):
        with tempfile.TemporaryDirectory() as folder:
            for line, body in blocks_of(page, root):
                if not any(steps.get(c, ("",))[0] == "pages" for c in commands_of(body)):
                    continue
                ran = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env=dict(os.environ, PATH=f"{Path(programs).resolve()}:{os.environ['PATH']}"))
                print(f"{page.relative_to(root)}:{line}: {'ok' if not ran.returncode else 'failed'}", flush=True)
                if ran.returncode:
                    wrong.append(f"{page.relative_to(root)}:{line}: ends with {ran.returncode}:\n{body}\n{ran.stdout[-2000:]}")
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    p.add_argument("--build")
    p.add_argument("--run")
    a = p.parse_args()
    wrong = run(a.root, a.run) if a.run else check(a.root, a.build)
    for w in wrong:
        print(f"failed: {w}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
