#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses sources that quote texts for a language by themselves: what leaves as Python, C++, HTML, SVG, CSV, JSON or TSV goes through the one writer of that language
(tessera/base/quoted.hpp; text_of_json in io/files/json_builder.hpp).

    check.py ROOT FOLDER...            no source below these folders may
    check.py --expected FILE ROOT FOLDER...   what is refused must be exactly the lines of that file
"""

import argparse
import pathlib
import re
import sys

# A file may do what its language asks for: the writers, and readers that look at such letters.
WRITERS = {
    "include/tessera/base/quoted.inl": {"entity", "letter by letter"},
    "include/tessera/io/files/json_builder.inl": {"dump"},
    "include/tessera/io/exchange/contest_file.inl": {"letter by letter"},  # reads JSON of one shape
    "include/tessera/io/files/csv.inl": {"letter by letter"},  # reads
    "include/tessera/base/layer_name.hpp": {"letter by letter"},  # reads names that compilers write
    "include/tessera/net/paths.inl": {"letter by letter"},  # likewise
    "include/tessera/io/files/json.hpp": {"dump"},  # a number in a message
    "include/tessera/backend/torch/text.hpp": {"markup"},
}
RULES = [
    # An entity of HTML or XML that is put in the place of a letter.
    ("entity", re.compile(r'"[^"]*&(amp|lt|gt|quot|apos|#\d+);[^"]*"'), "writes an entity; quoted::html and quoted::svg do"),
    # A loop over letters that treats quotes, backslashes or markup apart.
    ("letter by letter", re.compile(r"== *'(\"|\\\\|<|&)' *(\?|\|\||\)\s*(\{|[a-zA-Z+]))"),
     "quotes letter by letter; take the writer of the language in base/quoted.hpp"),
    ("dump", re.compile(r"\.dump\("), "takes a text of the JSON library itself; text_of_json quotes all control characters"),
    ("dump", re.compile(r"\bstd::quoted\b"), "takes std::quoted, which is of no language"),
    # Parts of a text that end a script or a string, replaced one by one.
    ("letter by letter", re.compile(r"\.find\(\"(</|\\\"|<!--)\""), "looks for what ends a text; quoted::json_in_script leaves none"),
]
# Who writes elements with texts of others in them includes the writer.
MARKUP = re.compile(r'"[^"\n]*<(title|text|td|pre|h1|h2|b|span|p)[ >\\][^"\n]*"')
PYTHON = re.compile(r'"[^"\n]*(\\"\\"\\"|def |import )[^"\n]*"')
USES = re.compile(r"\bquoted::|plot_text\(|text_of_lines\(")


def code_of(text):
    """Lines without comments, as far as no text is one."""
    return [re.sub(r"^\s*//.*", "", re.sub(r"\s//[^\"]*$", "", line)) for line in text.split("\n")]


def refusals(root, folders):
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            here = path.relative_to(root).as_posix()
            if path.suffix not in (".hpp", ".cpp", ".inl") or "/peers/" in here:
                continue
            allowed = WRITERS.get(here, set())
            text = path.read_text(encoding="utf-8")
            for line in code_of(text):
                for name, pattern, words in RULES:
                    if name not in allowed and pattern.search(line):
                        found.append(f"{here}: {words}: {line.strip()}")
            if "markup" not in allowed and MARKUP.search(text) and not USES.search(text):
                found.append(f"{here}: writes elements of HTML or SVG and quotes none of their texts")
            if here.startswith("include/") and "/io/" not in here and "torch" in here and PYTHON.search(text) and not (
                    USES.search(text) or "literal(" in text or "runtime" in here):
                found.append(f"{here}: writes Python and quotes none of its texts")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expected", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folders", nargs="+")
    given = parser.parse_args()
    found = refusals(given.root, given.folders)
    if given.expected is None:
        print("\n".join(found) or "quoting: all texts go through the writer of their language")
        sys.exit(1 if found else 0)
    wanted = given.expected.read_text(encoding="utf-8").splitlines()
    if found != wanted:
        print("expected:", *wanted, "found:", *found, sep="\n  ")
        sys.exit(1)


main()
