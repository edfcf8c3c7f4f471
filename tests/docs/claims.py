# SPDX-License-Identifier: Apache-2.0
"""What pages claim of measurements, against the newest results.

Usage: claims.py ROOT. README.md and docs/ link results as benchmarks/results/STEM-DATE.md. Such a link must lead to the newest
date of its stem, and every figure of a paragraph, a bullet or a table that links results (a number with a fraction, a
percentage, or one of three digits and more) must stand in one of the files that it links, rounded as the page rounds it.
claims.txt beside this file names the exceptions, each with why: figures that follow from several of a file's, and links that
are of a day on purpose; one that is needed no longer is an error. It also has claims in words: a page's sentence, and what the
newest file of a stem must say for it.
"""

import pathlib
import re
import sys

LINK = re.compile(r"benchmarks/results/([a-z0-9-]+?)-(\d{4}-\d\d-\d\d)([a-z0-9-]*)\.(md|csv)")
NUMBER = re.compile(r"(?<![\w.^/-])\d{1,3}(?:,\d{3})+(?![\w])|(?<![\w.^/,-])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")


def newest(results, stem, rest, ext):
    dates = [m[1] for p in results.glob(f"{stem}-*{rest}.{ext}")
             if (m := re.fullmatch(rf"{re.escape(stem)}-(\d{{4}}-\d\d-\d\d){re.escape(rest)}\.{ext}", p.name))]  # fmt: skip
    return max(dates, default=None)


def blocks(text):
    """Paragraphs, bullets and tables with the number of their first line; without blocks of code and headings."""
    code, block, first = False, [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.lstrip().startswith("```"):
            code = not code
            line = ""
        ends = not line.strip() or code or line.startswith("#") or re.match(r" *[-*] ", line)
        if ends and block:
            yield first, "\n".join(block)
            block = []
        if line.strip() and not code and not line.startswith("#"):
            first = first if block else number
            block.append(line)


def figures(text):
    """Numbers worth comparing: as the text has them, their value, and half of their last digit."""
    text = re.sub(r"\]\([^)]*\)", "]", text)  # links are no claims
    text = re.sub(r"`[^`]*`", "", text)
    for m in NUMBER.finditer(text):
        word = m[0].replace(",", "")
        percent = text[m.end() :].lstrip(" ").startswith("%")
        if percent or "." in word or "e" in word or len(word) > 2:
            mantissa, _, exponent = word.partition("e")
            places = len(mantissa.partition(".")[2])
            yield m[0], float(word), 0.5 * 10.0 ** (int(exponent or 0) - places) * 1.000001


def numbers_of(text):
    return [float(x.replace(",", "")) for x in re.findall(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)]


def read_exceptions(path):
    """(kind, page, what): why."""
    known, words = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, page, what, why = (x.strip() for x in line.split(" | ", 3))
            if kind == "words":
                words.append((page, what, why))
            else:
                known[kind, page, what] = why
    return known, words


def main():
    root = pathlib.Path(sys.argv[1])
    results = root / "benchmarks" / "results"
    known, words = read_exceptions(root / "tests" / "docs" / "claims.txt")
    wrong, used, compared = [], set(), 0
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md")), *sorted((root / "docs" / "tutorials").glob("*.md"))]
    for path in pages:
        page = path.relative_to(root).as_posix()
        all_blocks = list(blocks(path.read_text(encoding="utf-8")))
        for place, (line, block) in enumerate(all_blocks):
            linked = list(LINK.finditer(block))
            if block.startswith("|") and not linked:  # of a table without links, what stands around it
                around = [all_blocks[i][1] for i in (place + 1, place - 1) if 0 <= i < len(all_blocks)]
                linked = next((found for x in around if (found := list(LINK.finditer(x)))), [])
            said = []
            for m in linked:
                stem, date, rest, ext = m.groups()
                last = newest(results, stem, rest, ext)
                name = f"{stem}-{date}{rest}.{ext}"
                if last != date and ("link", page, name) not in known:
                    wrong.append(f"{page}:{line}: {name} is not the newest, which is of {last}")
                used.add(("link", page, name))
                if (results / name).is_file():
                    said += numbers_of((results / name).read_text(encoding="utf-8"))
            for word, value, half in figures(block) if linked else ():
                compared += 1
                if not any(abs(x - value) <= half or abs(x * 100 - value) <= half for x in said):
                    used.add(("figure", page, word))
                    if ("figure", page, word) not in known:
                        wrong.append(f"{page}:{line}: {word} does not stand in the results that are linked there")
    for page, sentence, rule in words:
        stem, _, needed = rule.partition(" says ")
        text = re.sub(r"\s+", " ", (root / page).read_text(encoding="utf-8"))
        last = newest(results, stem, "", "md")
        if sentence not in text:
            wrong.append(f"{page} no longer says '{sentence}'; take it out of claims.txt")
        elif last is None or not re.search(needed, re.sub(r"\s+", " ", (results / f"{stem}-{last}.md").read_text(encoding="utf-8"))):
            wrong.append(f"{page} says '{sentence}', and the newest {stem} does not say /{needed}/")
    for exception in set(known) - used:
        wrong.append(f"claims.txt: {' | '.join(exception)} is needed no longer")
    print("\n".join(wrong) if wrong else f"{compared} figures and {len(words)} sentences of {len(pages)} pages are those of the newest results")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
