#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools of docs/site find what they are for: tools.py PLAN. Pages that are wrong are refused, and the reference has what a header says."""
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
sys.path.insert(0, str(ROOT / "tests/site"))
import blocks  # noqa: E402
import check_site  # noqa: E402
import commands  # noqa: E402
import plots  # noqa: E402
from declarations import declarations  # noqa: E402
from page_parts import parts_of  # noqa: E402
from reference import section_of  # noqa: E402
from shell_words import check_commands, known_options  # noqa: E402
from staging import Staging  # noqa: E402

PLAN = sys.argv.pop(1)
HEADER = '''// SPDX-License-Identifier: Apache-2.0
// What the header is about.
#pragma once

namespace tessera {

namespace detail {
/// Not for readers.
struct hidden {};
} // namespace detail

/// A brace in a "text {" does not count.
inline const char* text = "{";

/// Holds numbers.
template <class T>
requires requires(T t) { t.size(); }
class holder {
public:
    /// How many.
    int count() const { return count_; }
    explicit holder(int n) : count_{n} {}

private:
    int count_ = 0; ///< secret
};

/// Adds.
template <class A, int N = (1 < 2)>
constexpr int sum(A a, A b = {}) {
    return a + b;
}

struct point {
    int x = 0; ///< to the right
};

enum class side { left, right };

} // namespace tessera
'''


class Pages(unittest.TestCase):
    def page(self, text, name="page.md"):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else Path(tempfile.mkdtemp())
        (folder / name).write_text(text)
        return blocks.Page(folder / name, folder), SimpleNamespace(root=ROOT, work=folder / "work", library=folder / "none", plan=PLAN, compiler="c++",
                                                                   known=known_options(PLAN, ROOT), write=False, whole=False)

    def refused(self, text, why):
        with self.assertRaisesRegex(blocks.Failure, why):
            page, how = self.page(text)
            blocks.check_page(page, how)

    def test_a_page_is_a_program_as_it_stands(self):
        page = "```sh\n%s\n```\n```cpp\n%sint main() {\n    std::puts(\"one {\");\n```\n<!-- printed -->\n```text\n%s\n```\n```cpp\n    std::puts(\"two\");\n%s```\n" \
               "<!-- printed -->\n```text\ntwo\n```\n"
        good = ("g++ -std=c++20 x.cpp -o x", "#include <cstdio>\n", "one {", "}\n")
        self.assertEqual(blocks.check_page(*self.page(page % good))[1], 2)
        self.assertEqual(self.page(page % good)[0].program(), '#include <cstdio>\nint main() {\n    std::puts("one {");\n    std::puts("two");\n}\n')
        for at, wrong, why in ((0, "echo g++", "no ```sh block says how"), (0, "g++ x.cpp", "no command that makes a program"), (1, "", "does not compile"),
                               (2, "two", "not what is printed"), (3, "", "do not end main")):
            self.refused(page % (*good[:at], wrong, *good[at + 1:]), why)
        for hidden in ("<!-- hidden cpp\nstruct a {};\n-->\n", "<!-- in main -->\n", "<!-- compiled, not run -->\n"):
            self.refused(hidden + page % good, "readers see the whole program")

    def test_the_link_line_is_run_literally(self):
        page = "```sh\ng++ -std=c++20 x.cpp -o x%s\n```\n```cpp\n#include <zlib.h>\nint main() { return zlibVersion()[0] == '1' ? 0 : 1; }\n```\n"
        self.assertEqual(blocks.check_page(*self.page(page % " -lz"))[1], 0)
        self.refused(page % "", "does not compile")

    def test_what_is_printed_is_compared(self):
        shell = "<!-- run -->\n```sh\necho one; echo 2.00 two\n```\n<!-- printed%s -->\n```text\n%s\n```\n"
        for said, text in (("", "one\n2.00 two"), ("", "...\n2.00 two"), (", within 2 %", "one\n2.02 two"), (", times vary", "one\n7 two")):
            page, how = self.page(shell % (said, text))
            self.assertEqual(blocks.check_page(page, how)[1], 1)
        self.refused(shell % ("", "one"), "not what is printed")
        self.refused(shell % ("", "one\n2.02 two"), "not what is printed")
        self.refused(shell % (", within 2 %", "one\n2.10 two"), "not what is printed")
        self.refused(shell % (", times vary", "one\n7 three"), "not what is printed")
        self.refused("```text\nnobody prints this\n```\n", "nothing is compared with")
        self.refused("<!-- run -->\n```sh\nfalse\n```\n", "ends with 1")

    def test_a_block_must_compile(self):
        self.refused("```sh\ng++ x.cpp -o x\n```\n```cpp\nint x = nothing;\nint main() {}\n```\n", "does not compile")

    def test_command_lines(self):
        known = known_options(PLAN, ROOT)
        self.assertEqual(check_commands("plan --network vgg16 \\\n  --nodes 4 # words --about it\n./bootstrap.sh demo", known), "")
        self.assertIn("no option --netwrok", check_commands("plan --netwrok vgg16", known))
        self.assertIn("no verb tests", check_commands("./bootstrap.sh tests", known))
        self.refused("```sh\nplan --no-such\n```\n", "no option --no-such")

    def test_every_command_line_of_the_pages(self):
        known = known_options(PLAN, ROOT)
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for part in parts_of(page.read_text()):
                if part.kind == "block" and part.info == "sh":
                    self.assertEqual(check_commands(part.body, known), "", f"{page}:{part.line}")


class Reference(unittest.TestCase):
    def test_declarations(self):
        found = declarations(HEADER, 0, len(HEADER))
        self.assertEqual([(d.kind, d.name) for d in found], [("namespace", "tessera")])
        inner = declarations(HEADER, *found[0].inside)
        self.assertEqual([(d.kind, d.name) for d in inner], [("namespace", "detail"), ("other", "text"), ("type", "holder"), ("function", "sum"), ("type", "point"),
                                                             ("type", "side")])

    def test_a_section(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "x.hpp").write_text(HEADER)
            text, documented = section_of(Path(folder) / "x.hpp", "net/x.hpp")
        self.assertEqual(documented, 5)
        for words in ("What the header is about.", "### ts::holder", "int count() const;", "// How many.", "int x = 0; // to the right", "enum class side {", "{ #x-hpp }"):
            self.assertIn(words, text)
        for words in ("Not for readers", "secret", "return a + b", "count_{n}"):
            self.assertNotIn(words, text)


class Site(unittest.TestCase):
    def test_links_and_other_hosts(self):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder).resolve()
            (site / "a.html").write_text('<h1 id="top">A</h1><a href="b.html#there">b</a><a href="https://example.org/">may be clicked</a>')
            (site / "b.html").write_text('<h2 id="there">B</h2><a href="a.html#top">a</a>')
            self.assertEqual(check_site.check(site)[0], [])
            for wrong, why in (('<a href="c.html">c</a>', "leads nowhere"), ('<a href="a.html#nowhere">a</a>', "no such heading"),
                               ('<script src="https://example.org/x.js"></script>', "asks another host"), ('<img src="//example.org/x.png">', "asks another host"),
                               ("<style>@import 'https://example.org/x.css';</style>", "asks another host")):
                (site / "c_wrong.html").write_text(wrong)
                failed = check_site.check(site)[0]
                self.assertEqual(len(failed), 1, failed)
                self.assertIn(why, failed[0])

    def test_a_command_that_nobody_runs_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in (("README.md", "```sh\n./run  it # now\n```\nand `./run --more` too"), ("CONTRIBUTING.md", ""), (".ci/run", "./run it | tee log\n# ./run --more\n"),
                               (".ci/long", ""), ("docs/getting_started.md", "<!-- run -->\n```sh\nplan --list\n```"), ("docs/tutorials/none.md", "")):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            listed = root / commands.LIST
            listed.parent.mkdir(parents=True)

            def wrong(text):
                listed.write_text(text)
                return " ".join(commands.check(root, None))

            self.assertEqual(wrong(".ci/run | ./run it\nnobody - as a reason | ./run --more\n"), "")
            self.assertIn("README.md:0: tests/site/commands.txt says of nobody who runs `./run --more`", wrong(".ci/run | ./run it\n"))
            self.assertIn("`./run --more`: .ci/run has it not", wrong(".ci/run | ./run it\n.ci/run | ./run --more\n"))  # a comment
            self.assertIn("there is no step 'nobody'", wrong(".ci/run | ./run it\nnobody | ./run --more\n"))
            self.assertIn("no page has `./walk`", wrong(".ci/run | ./run it\nnobody - as a reason | ./run --more\n.ci/run | ./walk\n"))

    def test_links_between_pages_of_the_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            s = Staging(ROOT, Path(folder))
            line = s.linked("[a](../README.md#start) [b](../include/tessera/net/graph.hpp) [c](../tests) [d](training.md) [e](https://example.org)", "docs/plans.md",
                            "plans.md")
            self.assertEqual(line, "[a](index.md#start) [b](reference/net.md#graph-hpp) [c](files/tests/index.md) [d](training.md) [e](https://example.org)")
            with self.assertRaisesRegex(ValueError, "leads nowhere"):
                s.linked("[a](no_such.md)", "docs/plans.md", "plans.md")

    def test_plots_are_of_tables_that_are_there(self):
        for name in plots.PLOTS:
            self.assertIn("<svg", plots.PLOTS[name](ROOT / "benchmarks/results"))
        with self.assertRaisesRegex(ValueError, "has no table"):
            plots.table(ROOT / "benchmarks/results/host-2026-11-21.md", "## Search", "| no such header |")
        self.assertIn(">2.67<", plots.peers(ROOT / "benchmarks/results"))


if __name__ == "__main__":
    unittest.main()
