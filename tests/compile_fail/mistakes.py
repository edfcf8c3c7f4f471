#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/mistakes.md: mistakes that people make, the first lines that g++ and clang print for each, and the correction.

    mistakes.py --check            compiles all of them and compares with the page
    mistakes.py --check --some 6   the same for so many of them, drawn by --seed
    mistakes.py --update           writes the page anew
    --only REGEX                   with either: of the programs whose names have this; the rest of the page stays

Each is a program of this folder, behind the umbrella header that a user includes. The page is what the oldest supported
compilers print, g++ 12 and clang 14 of Debian 12; where one of them is not there, --check ends with 77 (skipped).
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "mistakes.md"
LINES = 5
SKIPPED = 77

# Chapters; what a reader would say of the mistake, and the program.
MISTAKES = {
    "Networks": [
        ("A network that does not begin with its input", "network_without_input"),
        ("A network that does not end with a loss", "network_without_loss"),
        ("A linear layer on an image, without `flatten`", "linear_on_image"),
        ("A convolution on features", "conv_on_features"),
        ("A convolution whose kernel is larger than its padded input", "conv_kernel_exceeds_height"),
        ("A pool whose window is larger than its input", "pool_window_exceeds_input"),
        ("A residual whose branch changes the number of channels", "residual_changes_channels"),
        ("A residual whose branch changes the height", "residual_changes_height"),
        ("A sum of tensors of different shapes", "add_of_different_channels"),
        ("Branches of different heights, concatenated", "concat_of_different_heights"),
        ("Heads that do not divide the channels", "heads_do_not_divide_channels"),
        ("Groups that do not divide the channels", "groups_do_not_divide_inputs"),
        ("A dropout of everything", "dropout_of_everything"),
        ("An embedding of numbers instead of tokens", "embedding_of_numbers"),
        ("A reshape to another number of elements", "reshape_of_other_elements"),
        ("One layer used twice", "layer_used_twice"),
        ("A layer tied to weights of another shape", "tied_layer_of_other_shape"),
        ("A layer tied to one that comes later, or never", "tied_to_nothing"),
        ("A tap of something that was not saved", "tap_before_save"),
        ("A node that reads one that does not exist", "node_refers_to_nothing"),
        ("Something after the loss", "loss_has_consumer"),
        ("Labels of the wrong type", "labels_are_floats"),
        ("Labels of the wrong shape", "labels_of_wrong_shape"),
    ],
    "Strategies": [
        ("A layer that the network does not have", "unknown_layer"),
        ("A layer configured twice", "layer_configured_twice"),
        ("A degree that does not divide the extent", "degree_does_not_divide_channels"),
        ("A degree that does not divide the batch", "degree_does_not_divide_samples"),
        ("More shards than channels", "more_shards_than_channels"),
        ("More shards than devices", "more_shards_than_devices"),
        ("A device that does not exist", "listed_device_does_not_exist"),
        ("A placement for fewer shards than there are", "placement_too_short"),
        ("A batch norm split by samples, without its reduction", "coupled_split_of_batch_norm"),
        ("More micro-batches than samples", "micro_batches_exceed_samples"),
        ("A stage from a layer that the network does not have", "stage_from_unknown_layer"),
    ],
    "Training": [
        ("No backend", "default_backend_of_none"),
        ("An operator that the backend cannot compute", "backend_lacks_an_operator"),
        ("A strategy that was made for another network", "strategy_of_another_network"),
        ("A forgotten feed", "feed_forgotten"),
        ("A group of parameters of a layer that the network does not have", "group_of_unknown_layer"),
        ("A prediction of a layer that the network does not have", "prediction_of_unknown_layer"),
    ],
}


class Mistake:
    def __init__(self, chapter, title, stem):
        self.chapter, self.title, self.stem = chapter, title, stem
        text = (HERE / f"{stem}.cpp").read_text()
        self.words = re.search(r"^// expect-error: (.*)$", text, re.M)[1]
        body = re.sub(r"^//.*\n", "", text, flags=re.M)
        own = re.findall(r"^#include.*\n", body, re.M)
        executes = [line for line in own if re.search(r"tessera/(execute|backend)/", line)]
        # A user includes an umbrella; what that leaves out stays.
        umbrella = "tessera/host.hpp" if executes and "default_backend" not in stem else "tessera/tessera.hpp"
        body = f"#include <{umbrella}>\n" + body.lstrip("\n")
        wrong, right = self.variants(body)
        self.wrong_lines, self.right_lines = wrong, right
        self.program = re.sub(
            r"^#ifdef TESSERA_EXPECT_ERROR\n(.*?)^(?:#else\n.*?)?^#endif\n", lambda m: m[1], body, flags=re.M | re.S)

    @staticmethod
    def variants(body):
        found = re.findall(r"^#ifdef TESSERA_EXPECT_ERROR\n(.*?)(?:^#else\n(.*?))?^#endif\n", body, re.M | re.S)
        return tuple(textwrap.dedent("\n".join(one[k] for one in found)).rstrip() for k in (0, 1))

    def first_lines(self, compiler):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "mistake.cpp").write_text(self.program)
            run = subprocess.run(
                [compiler, "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{ROOT / 'include'}",
                 "mistake.cpp"],
                cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        if run.returncode == 0:
            raise SystemExit(f"mistakes.py: {compiler} compiles {self.stem}.cpp, which is a mistake")
        text = run.stderr.replace(f"{ROOT / 'include'}/", "")
        text = re.sub(r"(?:/[^\s:,]*)?/include/c\+\+/\d+(?:\.\d+)*/", "", text)
        # Lines of the library's headers move whenever somebody edits these.
        text = re.sub(r"(\btessera/[\w/]+\.hpp)(?::\d+)+", r"\1", text)
        text = re.sub(r"^ +\d+ \|", "      |", text, flags=re.M)
        return "\n".join(line.rstrip() for line in text.splitlines()[:LINES])


def all_mistakes():
    return [Mistake(chapter, *one) for chapter, list_of in MISTAKES.items() for one in list_of]


def version_of(compiler):
    try:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    return re.search(r"\d+\.\d+\.\d+", said)[0]


def section(m, said):
    parts = [f"### {m.title}\n", f"```cpp\n{m.wrong_lines}\n```\n"]
    for compiler, text in said.items():
        parts.append(f"{compiler}:\n\n```text\n{text}\n```\n")
    if m.right_lines:
        parts.append(f"Right:\n\n```cpp\n{m.right_lines}\n```\n")
    parts.append(f"The whole program: [{m.stem}.cpp](../tests/compile_fail/{m.stem}.cpp)\n")
    return "\n".join(parts)


TITLE = "# Mistakes, and what compilers say of them"
HEAD = """{count} mistakes that are easily made, each with the first {lines} lines that g++ 12 and clang 14 print, which are
those that an editor or a terminal shows, and the correction. In {good} of the {count} these lines have the sentence that
says what is wrong, with both compilers{left}. Line numbers of the library's headers are left out."""
MADE = """The page is made by [mistakes.py](../tests/compile_fail/mistakes.py) and compared with the compilers by a test. All
rules, also those that only values break, are in [Errors](errors.md)."""


def wrapped(text):
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def page(mistakes, said):
    bad = [m for m in mistakes if not all(m.words in text for text in said[m.stem].values())]
    left = "" if not bad else "; not in: " + ", ".join(m.title[0].lower() + m.title[1:] for m in bad)
    head = HEAD.format(count=len(mistakes), lines=LINES, good=len(mistakes) - len(bad), left=left)
    parts = [f"{TITLE}\n", f"{wrapped(head)}\n", f"{wrapped(MADE)}\n"]
    chapter = None
    for m in mistakes:
        if m.chapter != chapter:
            chapter = m.chapter
            parts.append(f"## {chapter}\n")
        parts.append(section(m, said[m.stem]))
    return "\n".join(parts), bad


def said_on_page(mistakes):
    """What the committed page has, by program and compiler; empty where it has nothing."""
    text = PAGE.read_text() if PAGE.exists() else ""
    sections = {part.split("\n", 1)[0]: part for part in text.split("\n### ")[1:]}
    said = {}
    for m in mistakes:
        found = re.findall(r"^(g\+\+ 12|clang 14):\n\n```text\n(.*?)\n```\n", sections.get(m.title, ""), re.M | re.S)
        said[m.stem] = {"g++ 12": "", "clang 14": "", **dict(found)}
    return said


def compile_all(mistakes, compilers, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {(m.stem, name): pool.submit(m.first_lines, path)
                   for m in mistakes for name, path in compilers.items()}
    return {m.stem: {name: futures[m.stem, name].result() for name in compilers} for m in mistakes}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    options.add_argument("--update", action="store_true")
    options.add_argument("--some", type=int, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--gcc", default="g++")
    options.add_argument("--clang", default="clang++-14")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--only", default="")
    given = options.parse_args()

    compilers = {"g++ 12": given.gcc, "clang 14": given.clang}
    for name, path in compilers.items():
        if not version_of(path).startswith(name.split()[1] + "."):
            print(f"mistakes.py: {path} is not {name}")
            return SKIPPED
    mistakes = all_mistakes()
    chosen = [m for m in mistakes if re.search(given.only, m.stem)]
    if given.update or os.environ.get("TESSERA_UPDATE_GOLDENS") == "1":
        said = {**said_on_page(mistakes), **compile_all(chosen, compilers, given.jobs)}
        text, bad = page(mistakes, said)
        PAGE.write_text(text)
        print(f"{len(mistakes) - len(bad)} of {len(mistakes)} say what is wrong in the first {LINES} lines; not: "
              f"{', '.join(m.stem for m in bad) or '-'}")
        return 0
    if given.some:
        chosen = random.Random(given.seed).sample(chosen, min(given.some, len(chosen)))
    said = {**said_on_page(mistakes), **compile_all(chosen, compilers, given.jobs)}
    committed = PAGE.read_text()
    wrong = [m.stem for m in chosen if section(m, said[m.stem]) not in committed]
    if not wrong and page(mistakes, said)[0] != committed:
        wrong = ["its head, its chapters, or a program that was not compiled now"]
    if wrong:
        print(f"mistakes.py: docs/mistakes.md is not what compilers say: {', '.join(wrong)}.\n"
              "Read the difference after: python3 tests/compile_fail/mistakes.py --update")
        return 1
    print(f"docs/mistakes.md has what compilers say of {len(chosen)} mistakes of {len(mistakes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
