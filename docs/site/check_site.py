#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_site.py SITE: every link of the built site leads to a file of it, every anchor to an id there, and no page asks another host for anything."""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

# What a browser fetches by itself, as against what somebody may click.
FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"), ("embed", "src"),
           ("object", "data"), ("image", "href"), ("use", "href"), ("form", "action"), ("img", "srcset"), ("input", "src"), ("track", "src")}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched, self.styles, self.in_style = set(), [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.in_style = tag == "style"
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif value and (tag, name) in FETCHED and not (tag == "form"):
                self.fetched.append(value)
            elif value and tag in ("a", "area") and name == "href":
                self.links.append(value)
            elif name == "style" and value:
                self.styles.append(value)

    def handle_data(self, data):
        if self.in_style:
            self.styles.append(data)


def check(site: Path):
    failed, links = [], 0
    pages = {p: Page(p.read_text()) for p in sorted(site.rglob("*.html"))}
    places = {}  # where a link from a folder leads: most pages have the same links of the navigation
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in page.fetched:
            if re.match(r"(https?:)?//", link):
                failed.append(f"{name} asks another host: {link}")
        for style in page.styles:
            if re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style):
                failed.append(f"{name} has a style that asks another host")
        for link in page.links + page.fetched:
            if re.match(r"[a-z]+:|//", link) or link == "":
                continue
            links += 1
            file, anchor = urldefrag(link)
            if (path.parent, file) not in places:
                place = path if not file else (path.parent / unquote(file.split("?")[0])).resolve()
                place = place / "index.html" if place.is_dir() else place
                places[path.parent, file] = place if place.is_file() and site in place.parents else None
            target = places[path.parent, file] if file else path
            if target is None:
                failed.append(f"{name}: {link} leads nowhere")
            elif anchor and target in pages and unquote(anchor) not in pages[target].ids and not anchor.startswith("__"):
                failed.append(f"{name}: {link}: {target.relative_to(site)} has no such heading")
    for path in site.rglob("*.css"):
        if re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", path.read_text()):
            failed.append(f"{path.relative_to(site)} asks another host")
    return failed, len(pages), links


def main():
    site = Path(sys.argv[1]).resolve()
    failed, pages, links = check(site)
    for f in failed[:60]:
        print(f"failed: {f}", file=sys.stderr)
    if not failed and (pages < 100 or links < 5000):
        failed.append("few")
        print(f"{links} links of {pages} pages; this check does not see them", file=sys.stderr)
    print(f"{links} links of {pages} pages, {len(failed)} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
