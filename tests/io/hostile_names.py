#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what tests/io/hostile_names.cpp has written with Python's own parsers: the names in it are those in expected.json."""

import ast
import csv
import html.parser
import json
import pathlib
import struct
import sys
import unicodedata
import xml.etree.ElementTree

folder = pathlib.Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
NAMES, TITLE, INPUTS = expected["names"], expected["title"], expected["inputs"]
BESIDE = set("\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\ufffe\uffff") | {chr(c) for c in range(0x202A, 0x202F)}


def shown(text):
    """As a page can show it: a picture for every control character."""
    out = ""
    for c in text:
        hidden = unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in BESIDE
        out += c if not hidden else chr(0x2400 + ord(c)) if ord(c) < 32 else "\u2421" if c == "\x7f" else "\ufffd"
    return out


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r} is not {wanted!r}")


# -- Python: no statement but those that every program has; the literals are the names.
text = (folder / "torch/program.py").read_bytes().decode("utf-8")
tree = ast.parse(text)
compile(tree, "program.py", "exec")
same({type(x).__name__ for x in tree.body}, {"Expr", "Import", "Assign", "FunctionDef", "If"}, "statements")
same([type(x).__name__ for x in tree.body].count("Expr"), 1, "docstrings")
if not ast.get_docstring(tree, clean=False).startswith(TITLE + " on 4 ranks."):
    sys.exit(f"the docstring is {ast.get_docstring(tree, clean=False)[:80]!r}")
modules = {a.name for x in ast.walk(tree) if isinstance(x, ast.Import) for a in x.names}
same(modules, {"pathlib", "torch", "torch.nn.functional", "tessera_runtime"}, "imports")
tables = {x.targets[0].id: x.value for x in tree.body if isinstance(x, ast.Assign)}
keys = {name: [k.value for k in t.keys] for name, t in tables.items() if isinstance(t, ast.Dict)}
same(sorted(keys["INPUTS"]), sorted(INPUTS), "inputs")
same(set(keys["PARAMETERS"]), {n + part for n in NAMES for part in ("/weight", "/bias")}, "parameters")
calls = [x for x in ast.walk(tree) if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)]
same({x.args[0].value for x in calls if x.func.attr == "parameter"}, set(keys["PARAMETERS"]), "parameters of calls")
used = {x.args[0].value for x in calls if x.func.attr in ("take", "exchange")}
same(used, set(keys["EXCHANGES"]), "exchanges")
same({i.value for x in calls if x.func.attr == "Exchange" for i in x.keywords if i.arg == "input" for i in [i.value]}, set(INPUTS),
     "inputs that are taken")
for c in text:
    if unicodedata.category(c) == "Cc" and c != "\n":
        sys.exit(f"program.py has {c!r}")


# -- HTML
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.script, self.titles, self.texts, self.comments = [], [], "", [], {}, 0

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br", "hr", "img"):
            self.open.append(tag)
        self.titles += [""] if tag == "title" else []

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        same(self.open.pop(), tag, "end of an element")

    def handle_comment(self, data):
        self.comments += 1

    def handle_data(self, data):
        where = self.open[-1] if self.open else ""
        self.texts[where] = self.texts.get(where, "") + data
        if where == "script":
            self.script += data
        if where == "title":
            self.titles[-1] += data


page = Page()
source = (folder / "report.html").read_bytes().decode("utf-8")
page.feed(source)
page.close()
same(page.open, [], "open elements")
same(page.comments, 0, "comments")
same(page.tags.count("script"), 1, "scripts")
same(page.titles[0], shown(TITLE), "title of the page")
same(page.texts["h1"], shown(TITLE), "heading")
for name in NAMES:
    if not any(t.startswith(shown(name) + ": linear, output") for t in page.titles):
        sys.exit(f"the drawing does not say {name!r}")
# Lines of the notes: pictures of all controls but line ends.
notes = page.texts["pre"]
for line in "\n".join(NAMES).split("\n"):
    if shown(line) not in notes:
        sys.exit(f"the notes do not say {line!r}")
for bad in ("<", ">", "&"):
    if bad in page.script[page.script.index("const D = "):page.script.index(";\n(function")]:
        sys.exit(f"{bad} in the data of the script")
start = page.script.index("const D = ") + 10
data = json.loads(page.script[start:page.script.index(";\n(function", start)])
for name in NAMES:
    if not any(name in label for label in data["labels"]):
        sys.exit(f"no label says {name!r}")

# -- SVG
for file in ("lines.svg", "points.svg"):
    root = xml.etree.ElementTree.fromstring((folder / file).read_bytes())
    tag = "{http://www.w3.org/2000/svg}"
    same([x.text for x in root.iter(tag + "title")], [shown(n) for n in NAMES], file)
    texts = [x.text for x in root.iter(tag + "text")]
    for text in (TITLE, NAMES[21], NAMES[7], *NAMES):
        if shown(text) not in texts:
            sys.exit(f"{file} has no text {text!r}")
    same({x.tag[len(tag):] for x in root.iter()} - {"svg", "rect", "line", "text", "g", "title", "polyline", "circle", "polygon"}, set(),
         file)

# -- JSON
load = lambda name: json.loads((folder / name).read_bytes().decode("utf-8"))  # noqa: E731
same([n["name"] for n in load("network.json")["nodes"] if "name" in n][:-1], NAMES, "network")
same(load("network.json")["name"], TITLE, "network's name")
same([x["name"] for x in load("rows.json")], NAMES, "rows")
same(load("machine.json")["name"], TITLE, "machine")
if not set(NAMES) <= set(x for x in json.dumps(load("strategy.json"), ensure_ascii=False) and
                         [y["layer"] if "layer" in y else y["name"] for y in load("strategy.json")["layers"]]):
    sys.exit("the strategy does not name all layers")
events = load("trace.json")["traceEvents"]
for name in NAMES:
    if not any(name in e["name"] for e in events):
        sys.exit(f"no event says {name!r}")
raw = (folder / "torch/weights.safetensors").read_bytes()
header = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
same(set(header) - {"__metadata__"}, set(keys["PARAMETERS"]), "safetensors")
for file in ("network.json", "strategy.json", "rows.json", "trace.json", "machine.json"):
    for c in (folder / file).read_text(encoding="utf-8"):
        if unicodedata.category(c) in ("Cc", "Zl", "Zp") and c != "\n":
            sys.exit(f"{file} has {c!r}")

# -- CSV
newer = sys.version_info >= (3, 11)  # before, the module does not read NUL
names = [n for n in NAMES if newer or "\0" not in n]
with open(folder / "rows.csv", encoding="utf-8", newline="") as file:
    table = list(csv.reader((line for line in file if newer or "\0" not in line), strict=True))
same([r[0] for r in table], ["name"] + names, "rows.csv")
with open(folder / "log/metrics.csv", encoding="utf-8", newline="") as file:
    same([r[0] for r in csv.reader(file, strict=True)], ["tag"] + [n for n in NAMES if "\0" not in n], "metrics.csv")
print(f"hostile_names: {len(NAMES)} names, all said again")
