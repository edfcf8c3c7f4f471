#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""see_site.py SITE [--pictures FOLDER]: opens pages of the built site from files in headless Chromium, at the widths of a phone and of a desktop, and searches.

Nothing may be wider than the window, no script may fail, nothing may be asked of another host; words that are typed into the search box must find
the pages that have them, and words that no page has must find nothing. Ends with 77 where there is no Chromium."""
import argparse
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser, find  # noqa: E402

WIDTHS = {"phone": (390, 844, True), "desktop": (1280, 900, False)}
PAGES = ["index.html", "getting_started.html", "tutorials/02_strategy_by_hand.html", "tutorials/03_read_the_plan.html", "training.html", "operators.html",
         "glossary.html", "mistakes.html", "gallery.html", "benchmarks.html", "reference/index.html", "reference/search.html", "reference/execute.html",
         "results/host-2026-11-21.html", "files/examples/own_operator.hpp.html"]
SEARCHES = [("best_options", "reference/search.html"), ("pipeline schedule chimera", "pipelines.html"), ("staleness", "glossary.html"),
            ("suited_searches", "reference/search.html"), ("fashion", "training.html")]
RESULTS = "Array.from(document.querySelectorAll('.md-search-result__list a.md-search-result__link')).map(a => a.href)"


def type_words(b, words):
    b.value("document.querySelector('[data-md-component=search-query]').focus()")
    b.value("document.querySelector('[data-md-component=search-query]').select()")
    b.call("Input.insertText", text=words)
    b.call("Input.dispatchKeyEvent", type="keyUp", key=words[-1])  # which the theme waits for


def search(b, words, wanted):
    """Types words; returns what is wrong with what is found."""
    type_words(b, words)
    if not b.wait(f"{RESULTS}.some(a => a.includes({json.dumps(wanted)}))", 40):
        return f"'{words}' does not find {wanted}, but {b.value(RESULTS)[:6]}"
    return ""


def see(site, pictures, program):
    failed, seen = [], 0
    for kind, (width, height, phone) in WIDTHS.items():
        b = Browser(program)
        try:
            b.size(width, height, phone)
            for page in PAGES:
                b.open((site / page).as_uri())
                seen += 1
                wide = b.value("document.documentElement.scrollWidth")
                if wide > width:
                    who = b.value("Array.from(document.querySelectorAll('article *')).filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
                                  ".slice(0, 3).map(e => e.tagName + ' ' + e.textContent.slice(0, 60))")
                    failed.append(f"{kind}: {page} is {wide} wide, the window {width}: {who}")
                broken = b.value("Array.from(document.images).filter(i => i.complete && i.naturalWidth === 0).map(i => i.src)")
                if broken:
                    failed.append(f"{kind}: {page} has pictures that do not load: {broken}")
                if not b.value("getComputedStyle(document.querySelector('.md-header')).position === 'sticky' && document.querySelector('h1') !== null"):
                    failed.append(f"{kind}: {page} has no style, or no heading")
                if pictures:
                    b.picture(pictures / f"{kind}_{re.sub('[/.]', '_', page)}.png")
            b.open((site / "index.html").as_uri())
            if phone:
                b.value("document.querySelector('label.md-header__button[for=__search]').click()")
            for words, wanted in SEARCHES:
                wrong = search(b, words, wanted)
                if wrong:
                    failed.append(f"{kind}: {wrong}")
            if pictures:
                b.picture(pictures / f"{kind}_search.png")
            type_words(b, "qxzzyqx")
            if not b.wait(f"/No matching/.test(document.querySelector('.md-search-result__meta').textContent) && {RESULTS}.length === 0", 20):
                failed.append(f"{kind}: a word that no page has is found: {b.value(RESULTS)[:3]}")
            type_words(b, SEARCHES[0][0])
            b.wait(f"{RESULTS}.length > 0", 20)
            first = b.value(RESULTS)
            if first:  # a click leads there, with the words marked
                b.value("document.querySelector('.md-search-result__list a.md-search-result__link').click()")
                if not b.wait("document.readyState === 'complete' && document.querySelectorAll('mark').length > 0", 60):
                    failed.append(f"{kind}: {first[0]} does not open with what was searched marked")
            for url in b.requested():
                if not re.match(r"(file|data|blob|about):", url):
                    failed.append(f"{kind}: another host is asked: {url}")
            failed += [f"{kind}: {c}" for c in b.complaints()]
        finally:
            b.close()
    return failed, seen


def main():
    p = argparse.ArgumentParser()
    p.add_argument("site", type=Path)
    p.add_argument("--pictures", type=Path)
    a = p.parse_args()
    program = find()
    if not program:
        print("skipped: there is no Chromium to see the site in")
        return 77
    if a.pictures:
        a.pictures.mkdir(parents=True, exist_ok=True)
    failed, seen = see(a.site.resolve(), a.pictures, program)
    for f in failed:
        print(f"failed: {f}", file=sys.stderr)
    print(f"{seen} pages seen, {2 * len(SEARCHES)} searches typed, {len(failed)} things wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
