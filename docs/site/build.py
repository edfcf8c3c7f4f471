#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site, without a network connection: build.py --to FOLDER [--plan PROGRAM] [--work FOLDER]

Pages of the repository are staged (staging.py), the reference is made of comments in headers (reference.py), pictures by the planner (gallery.py) and of files of
results (plots.py); MkDocs with the theme Material makes pages of it, as Debian 12 has both (mkdocs 1.4.2, mkdocs-material 8.2.5). The result opens from
files, search too."""
import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import gallery  # noqa: E402
import plots  # noqa: E402
from reference import page_of, write_reference  # noqa: E402
from staging import Staging, wide_picture  # noqa: E402

GUIDES = ["networks", "network_programs", "training", "plans", "prediction", "planner", "network_file", "from_pytorch", "torch_export", "onnx",
          "pipelines", "micro_benchmarks", "certified", "placements", "learned", "contest", "ranks", "gpus", "sequences", "packages", "programs"]
LISTS = ["architecture", "glossary", "layers", "operators", "searches", "mistakes", "errors", "limits"]
FIRST = ["getting_started", "gallery", "benchmarks"]


def navigation(root, folders):
    """Pages in order; one of docs/ that nobody has named here is a guide."""
    stems = sorted(p.stem for p in (root / "docs").glob("*.md"))
    adding = [s for s in stems if s.startswith("adding_")]
    guides = [s for s in GUIDES if s in stems] + [s for s in stems if s not in GUIDES + LISTS + FIRST + adding]
    layers = [f for f in folders if f and ("/" not in f or f.startswith("backend/") and f.count("/") == 1) and f != "backend"]
    return [
        {"Home": "index.md"},
        {"Getting started": "getting_started.md"},
        {"Tutorials": [f"tutorials/{p.name}" for p in sorted((root / "docs/tutorials").glob("*.md"))]},
        {"Guides": [s + ".md" for s in guides]},
        {"Extend": [s + ".md" for s in adding]},
        {"Lists": [s + ".md" for s in LISTS if s in stems]},
        {"API": ["reference/index.md"] + [{f: page_of(f)} for f in layers] + [{"umbrella headers": page_of("")}]},
        {"Gallery": "gallery.md"},
        {"Benchmarks": "benchmarks.md"},
        {"Project": [{"Changes": "changelog.md"}, {"Contributing": "contributing.md"}]},
    ]


def with_pictures(text, root, folder, made):
    """A page with what its comments ask for: plots, reports and traces."""
    def one(m):
        kind, name = m[1], m[2]
        if kind == "plot":
            return wide_picture(f"![{plots.draw(root, folder, name)}](pictures/{name}.svg)")
        if not made:
            return "*(This site was built without the planner.)*"
        if kind == "report":
            if not (folder / f"{name}.html").exists():
                raise ValueError(f"docs/gallery.md: no command writes {name}.html")
            return (f'<iframe class="report" src="pictures/{name}.html" loading="lazy" title="Report: {name}"></iframe>\n\n'
                    f"[This report by itself](pictures/{name}.html)")
        (folder / f"{name}.svg").write_text(gallery.draw_trace(folder / f"{name}.trace.json", name))
        return wide_picture(f"![Devices over time, of the trace {name}](pictures/{name}.svg)") + f"\n\n[This trace](pictures/{name}.trace.json)"
    return re.sub(r"^<!-- (plot|report|trace): (\w+) -->$", one, text, flags=re.M)


def make_search_offline(site):
    """The search's worker and index as scripts, see assets/offline_search.js. Pages of sources are not searched: the reference is."""
    worker = next((site / "assets/javascripts/workers").glob("search.*.min.js")).read_text()
    (site / "assets/search_worker.js").write_text("var search_worker_source = " + json.dumps(re.sub(r"\n//# sourceMappingURL=.*", "", worker)) + ";\n")
    index = json.loads((site / "search/search_index.json").read_text())
    index["docs"] = [d for d in index["docs"] if not d["location"].startswith("files/")]
    for d in index["docs"]:
        d["text"] = re.sub(r"\s+", " ", d["text"])
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    (site / "assets/search_index.js").write_text("take_search_index(" + text + ");\n")
    shutil.rmtree(site / "search")
    return len(index["docs"]), len(text)


def build(root: Path, to: Path, work: Path, plan, mkdocs):
    started = time.monotonic()
    shutil.rmtree(work, ignore_errors=True)
    pages = work / "pages"
    here = root / "docs/site"
    staged = Staging(root, pages)
    staged.stage()
    folders, names = write_reference(root, pages)
    pictures = pages / "pictures"
    pictures.mkdir()
    if plan:
        gallery.make(root, plan, pictures)
    for page in ("gallery.md", "benchmarks.md"):
        (pages / page).write_text(with_pictures((pages / page).read_text(), root, pictures, bool(plan)))
    shutil.copytree(here / "assets", pages / "assets")
    config = {"INHERIT": str(here / "mkdocs.yml"), "docs_dir": str(pages), "site_dir": str(to), "nav": navigation(root, folders),
              "theme": {"custom_dir": str(here / "theme")}}
    (work / "mkdocs.yml").write_text(json.dumps(config, indent=1))
    before = time.monotonic()
    ran = subprocess.run([mkdocs, "build", "--quiet", "-f", str(work / "mkdocs.yml"), "-d", str(to)], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    # Not --strict: with Debian's jinja2 the theme's own templates are warned of.
    warned = [l for l in ran.stdout.split("\n") if l.startswith("WARNING") and "Deprecation" not in l]
    if ran.returncode or warned:
        raise ValueError(f"mkdocs ends with {ran.returncode}:\n{ran.stdout[-4000:]}")
    after = time.monotonic()
    for leftover in ("404.html", "sitemap.xml", "sitemap.xml.gz"):  # these want the address of a server
        (to / leftover).unlink(missing_ok=True)
    sections, size = make_search_offline(to)
    count = len(list(to.rglob("*.html")))
    print(f"{count} pages, {names} names in the reference, {sections} sections searched ({size / 1e6:.1f} MB), {time.monotonic() - started:.1f} s "
          f"(mkdocs {after - before:.1f} s)")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    p.add_argument("--to", type=Path, required=True)
    p.add_argument("--work", type=Path, help="for what is staged; the site's folder with -pages behind it where nothing is said")
    p.add_argument("--plan", type=Path)
    p.add_argument("--mkdocs", default="mkdocs")
    a = p.parse_args()
    to = a.to.resolve()
    try:
        build(a.root.resolve(), to, (a.work or to.with_name(to.name + "-pages")).resolve(), a.plan, a.mkdocs)
    except (ValueError, OSError) as e:
        print(f"build.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
