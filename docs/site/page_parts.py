# SPDX-License-Identifier: Apache-2.0
"""Pages as a list of parts: fenced blocks, comments, and lines between them; and which pages there are."""
import re
from pathlib import Path
from typing import List, NamedTuple


class Part(NamedTuple):
    kind: str  # "block", "comment" or "text"
    info: str  # of a block, its language
    body: str  # of a block or comment, what is inside
    line: int  # the first, counted from 1


FENCE = re.compile(r"^( *)(`{3,})(.*)$")


def parts_of(text: str) -> List[Part]:
    """The parts of a page in order. Raises ValueError for a block or comment that does not end."""
    lines = text.split("\n")
    parts, plain, i = [], [], 0

    def end_plain(at):
        if plain:
            parts.append(Part("text", "", "\n".join(plain), at - len(plain) + 1))
            plain.clear()

    while i < len(lines):
        fence = FENCE.match(lines[i])
        if fence:
            end_plain(i)
            close = next((j for j in range(i + 1, len(lines)) if lines[j].strip() == fence[2]), None)
            if close is None:
                raise ValueError(f"line {i + 1}: the block does not end")
            indent = len(fence[1])
            body = "\n".join(l[indent:] if not l[:indent].strip() else l for l in lines[i + 1:close])
            parts.append(Part("block", fence[3].strip(), body, i + 1))
            i = close + 1
        elif lines[i].startswith("<!--"):
            end_plain(i)
            close = next((j for j in range(i, len(lines)) if lines[j].rstrip().endswith("-->")), None)
            if close is None:
                raise ValueError(f"line {i + 1}: the comment does not end")
            body = "\n".join(lines[i:close + 1]).strip()[4:-3].strip()
            parts.append(Part("comment", "", body, i + 1))
            i = close + 1
        else:
            plain.append(lines[i])
            i += 1
    end_plain(len(lines))
    return parts


def compiled_pages(root: Path) -> List[Path]:
    """Pages whose blocks are a program: the first steps and the tutorials. Blocks of all others stand in sources that are compiled and run
    with the tests, which tests/readme/check.cmake holds them to."""
    return [root / "docs/getting_started.md", *sorted((root / "docs/tutorials").glob("*.md"))]
