# SPDX-License-Identifier: Apache-2.0
"""The repository's pages as pages of the site: links between files of the repository become links between pages, and what a page links that is no page (a
source, a folder) becomes one."""
import os
import re
import shutil
from html import escape
from pathlib import Path

from page_parts import FENCE
from reference import anchor_of, page_of

LINK = re.compile(r"(\]\()([^()\s]+)(\))")
RAW = {".svg", ".png", ".csv", ".json", ".html"}
LANGUAGE = {".hpp": "cpp", ".cpp": "cpp", ".inl": "cpp", ".h": "cpp", ".py": "python", ".sh": "sh", ".cmake": "cmake", ".txt": "text", ".md": "text"}


def anchor_on_site(heading):
    """What Markdown's own ids are replaced by: those of a forge, so that one link serves both."""
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")


def wide_picture(line):
    """A line that is a picture alone as one that a phone scrolls instead of making its words too small."""
    found = re.fullmatch(r"!\[([^\]]*)\]\((\S+\.svg)\)", line)
    return f'<div class="wide"><img src="{found[2]}" alt="{escape(found[1])}"></div>' if found else line


class Staging:
    def __init__(self, root: Path, to: Path):
        self.root, self.to = root, to
        self.pages = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
        for path in sorted((root / "docs").rglob("*.md")):
            self.pages[str(path.relative_to(root))] = str(path.relative_to(root / "docs"))
        for path in sorted((root / "benchmarks/results").glob("*.md")):
            self.pages[str(path.relative_to(root))] = "results/" + path.name
        self.waiting, self.made = [], {}

    def place_of(self, target):
        """Where a file or folder of the repository is on the site, with an anchor where it is a header. Sources and folders are made pages."""
        if target in self.pages:
            return self.pages[target], ""
        path, parts = self.root / target, target.split("/")
        if parts[:2] == ["include", "tessera"] and (path.is_dir() or path.suffix in (".hpp", ".inl")):
            inside = "/".join(parts[2:])
            if path.is_dir():
                return page_of(inside), ""
            return page_of(str(Path(inside).parent).replace(".", "", 1) if "/" not in inside else str(Path(inside).parent)), anchor_of(inside)
        if target not in self.made:
            if path.is_dir():
                self.made[target] = f"files/{target}/index.md" if target != "." else "files/index.md"
            else:
                # MkDocs passes over names that begin with a dot
                self.made[target] = "files/" + re.sub(r"(^|/)\.", r"\1dot_", target) + ("" if path.suffix in RAW else ".md")
            self.waiting.append(target)
        return self.made[target], ""

    def linked(self, line, page, here):
        """A line of a page of the repository with its links as they are on the site."""
        def one(m):
            if re.match(r"[a-z]+:|#", m[2]):
                return m[0]
            file, _, anchor = m[2].partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), file))
            if target.startswith("..") or not (self.root / target).exists():
                raise ValueError(f"{page}: {m[2]} leads nowhere")
            place, own = self.place_of(target)
            anchor = anchor or own
            return m[1] + os.path.relpath(place, os.path.dirname(here) or ".") + ("#" + anchor if anchor else "") + m[3]
        return LINK.sub(one, line)

    def text_of(self, page, here):
        """A page of the repository as Markdown for the site."""
        out, code, comment, before = [], None, False, ""
        for line in (self.root / page).read_text().split("\n"):
            fence = FENCE.match(line)
            if code is not None:
                out.append(line)
                if line.strip() == code:
                    code = None
                continue
            if comment or line.startswith("<!--"):
                comment = not line.rstrip().endswith("-->")
                if re.match(r"<!-- (plot|report|trace): ", line):
                    out += ["", line, ""]
                continue
            if fence:
                code = fence[2]
                if before.strip():
                    out.append("")
                out.append(line)
                before = ""
                continue
            item = re.match(r"^( *)([-*]|\d+\.) ", line)
            if item:
                if before.strip() and not re.match(r"^ *([-*]|\d+\.) |^  ", before):
                    out.append("")
                if item[1]:
                    line = " " * (4 * ((len(item[1]) + 1) // 2)) + line.strip()
            elif line.startswith("|") and before.strip() and not before.startswith("|"):
                out.append("")
            out.append(wide_picture(self.linked(line, page, here)))
            before = line
        return "\n".join(out)

    def stage(self):
        """Writes all pages, then those that they link, until nothing is left."""
        for page, here in self.pages.items():
            self.write(here, self.text_of(page, here))
        while self.waiting:
            target = self.waiting.pop()
            path, here = self.root / target, self.made[target]
            if path.is_dir():
                self.write(here, self.folder(target, here))
            elif path.suffix in RAW:
                (self.to / here).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.to / here)
            else:
                text = path.read_text()
                ticks = "`" * max([3] + [len(t) + 1 for t in re.findall(r"^ *(`{3,})", text, re.M)])
                self.write(here, f"# {target}\n\n{ticks}{LANGUAGE.get(path.suffix, 'text')}\n{text.rstrip()}\n{ticks}\n")

    def folder(self, target, here):
        out = [f"# {target}/", ""]
        for path in sorted((self.root / target).iterdir()):
            name = str(path.relative_to(self.root))
            if path.name.startswith((".", "__")):
                continue
            shown = path.name + ("/" if path.is_dir() else "")
            known = self.pages.get(name) or self.made.get(name)
            out.append(f"- [`{shown}`]({os.path.relpath(known, os.path.dirname(here))})" if known else f"- `{shown}`")
        return "\n".join(out) + "\n"

    def write(self, here, text):
        (self.to / here).parent.mkdir(parents=True, exist_ok=True)
        (self.to / here).write_text(text)
