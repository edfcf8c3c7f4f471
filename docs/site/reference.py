# SPDX-License-Identifier: Apache-2.0
"""The reference of the API: a page for every folder of include/tessera, made of the comments in its headers. Names in `detail` and private members are
left out."""
import re
from pathlib import Path

from declarations import declarations


def page_of(folder):
    """The page of a folder of include/tessera ("" is the folder itself)."""
    return "reference/" + (folder.replace("/", "_") or "umbrellas") + ".md"


def anchor_of(header):
    return header.rsplit("/", 1)[-1].replace(".", "-")


def about_of(text):
    """The comment on top of a header, behind the license."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("// SPDX"):
            continue
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def escaped(text):
    """Prose of comments as Markdown: names with underscores and angles stay what they are."""
    out, listed, code = [], False, False
    for line in text.split("\n"):
        listed = line.startswith("- ") or (listed and line.startswith(" "))
        if line.startswith("  ") and not listed:  # set apart in the comment too: as it stands
            out += ["", "```text"] if not code else []
            code = True
            out.append(line[2:])
            continue
        if code:
            out += ["```", ""]
            code = False
        parts = re.split(r"(`[^`]*`)", line)
        for k in range(0, len(parts), 2):
            parts[k] = re.sub(r"([*_<>\[\]\\])", r"\\\1", parts[k])
        line = "".join(parts)
        line = re.sub(r"^\\([*])(\s)", r"\1\2", line)
        if line.startswith("- ") and out and out[-1] and not out[-1].startswith(("- ", "  ")):
            out.append("")
        out.append(line)
    return "\n".join(out + ["```"] if code else out)


def shown(s, d, indent=""):
    """A declaration as code; of a type with its public members."""
    text = "\n".join(indent + l if l else l for l in dedented(d.text).split("\n"))
    after = f" // {d.after}" if d.after else ""
    if d.kind != "type" or not d.inside:
        return text + after
    if d.text.lstrip().startswith("enum"):
        return text + " {" + re.sub(r"///<", "//", s[d.inside[0]:d.inside[1]]).rstrip() + "\n" + indent + "};" + after
    public = not re.search(r"\bclass\b", d.text.split("<")[0] if not d.text.startswith("template") else d.text[d.text.rfind(">"):])
    lines = []
    for member in declarations(s, *d.inside):
        if member.kind == "access":
            public = member.name == "public"
        elif public and member.text:
            lines += [indent + "    // " + l for l in member.comment.split("\n") if l]
            lines.append(shown(s, member, indent + "    "))
    body = "\n".join(lines)
    return f"{text} {{\n{body}\n{indent}}};{after}" if body else f"{text} {{}};{after}"


def dedented(text):
    """Lines behind the first one less deep by what the last of them has too much."""
    lines = text.strip().split("\n")
    deep = min((len(l) - len(l.lstrip()) for l in lines[1:] if l.strip()), default=0)
    return "\n".join([lines[0]] + [l[deep:] if lines[1:] and deep < 8 else "    " + l.strip() for l in lines[1:]])


def public_of(s, begin, end, space=""):
    """All that is declared at namespace scope and is no detail, with the namespace."""
    for d in declarations(s, begin, end):
        if d.kind == "namespace":
            if d.inside and d.name and not re.search(r"\bdetail\b", d.name):
                yield from public_of(s, *d.inside, space + d.name + "::")
        elif d.name and d.text and not d.text.startswith(("TESSERA_", "template class", "friend ")) and space:
            yield space, d


def section_of(path, header):
    """A header's part of the page, and how much of it is documented."""
    s = path.read_text()
    name = header.rsplit("/", 1)[-1]
    out = [f"## {name} {{ #{anchor_of(header)} }}", "", f"`#include <tessera/{header}>`", "", escaped(about_of(s)), ""]
    bare, documented = [], 0
    if path.suffix == ".hpp":
        groups = {}
        for space, d in public_of(s, 0, len(s)):
            if d.comment or (space, d.name) in groups or (d.kind == "type" and d.inside):
                groups.setdefault((space, d.name), []).append(d)
            elif d.kind != "type":  # forward declarations say nothing
                bare.append(d)
        for (space, name), all_of in groups.items():
            documented += 1
            out += [f"### {space.replace('tessera::', 'ts::', 1)}{name.replace('<', chr(92) + '<')}", ""]
            for d in all_of:
                if d.comment:
                    out += [escaped(d.comment), ""]
                out += ["```cpp", shown(s, d), "```", ""]
        if bare:
            out += ["Also here:", "", "```cpp"] + [shown(s, d) for d in bare] + ["```", ""]
    return "\n".join(out), documented


def write_reference(root: Path, to: Path):
    """Writes the pages; returns them in order, with the number of documented names."""
    include = root / "include/tessera"
    folders = {}
    for path in sorted(include.rglob("*")):
        if path.suffix in (".hpp", ".inl"):
            folders.setdefault(str(path.parent.relative_to(include)).replace(".", "", 1) if path.parent == include else
                               str(path.parent.relative_to(include)), []).append(path)
    total, rows = 0, []
    parents = {str(Path(f).parent) for f in folders if "/" in f} - {"."}
    for folder in sorted(set(folders) | parents):
        headers = folders.get(folder, [])
        below = sorted(f for f in folders if f.startswith(folder + "/") and folder)
        title = f"tessera/{folder}" if folder else "Umbrella headers"
        out = [f"# {title}", ""]
        if below:
            out += ["Folders: " + ", ".join(f"[`{f}`]({Path(page_of(f)).name})" for f in below) + ".", ""]
        count = 0
        for path in headers:
            section, documented = section_of(path, str(path.relative_to(include)))
            out.append(section)
            count += documented
        (to / page_of(folder)).parent.mkdir(parents=True, exist_ok=True)
        (to / page_of(folder)).write_text("\n".join(out))
        total += count
        rows.append((folder, len(headers), count))
    out = ["# API reference", "", "Made of the comments in the headers, folder by folder. `ts` is the namespace `tessera`. What a layer is for says the",
           "[architecture](../architecture.md#layers).", "", "| folder | headers | documented names |", "|---|---|---|"]
    out += [f"| [`{f or 'umbrella headers'}`]({Path(page_of(f)).name}) | {n} | {c} |" for f, n, c in rows]
    (to / "reference/index.md").write_text("\n".join(out) + "\n")
    return [f for f, _, _ in rows], total
