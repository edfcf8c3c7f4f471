# SPDX-License-Identifier: Apache-2.0
"""What a header declares, with the comments above it: enough of C++'s grammar for the headers of this library, in which comments stand above declarations.

A statement is read up to its `;` or the `{` of its body. Bodies of functions are left out, those of namespaces and classes are read as statements.
"""
import re
from typing import List, NamedTuple, Optional


class Declaration(NamedTuple):
    kind: str  # "namespace", "type", "function", "other", "access"
    name: str
    comment: str  # the lines above it, without slashes
    documented: bool  # by a /// comment
    text: str  # without its body
    inside: Optional[tuple]  # of a namespace or type: where its body begins and ends
    after: str  # a ///< comment behind it


def skip_literal(s, i):
    """The end of the literal or comment that begins at i; i where none does."""
    if s.startswith("//", i):
        end = s.find("\n", i)
        return len(s) if end < 0 else end
    if s.startswith("/*", i):
        return s.index("*/", i) + 2
    raw = re.compile(r'R"([^(\s]*)\(').match(s, i)
    if raw and not (i and (s[i - 1].isalnum() or s[i - 1] == "_")):
        return s.index(")" + raw[1] + '"', i) + len(raw[1]) + 2
    if s[i] == '"' or (s[i] == "'" and not (i and s[i - 1].isalnum())):
        j = i + 1
        while s[j] != s[i]:
            j += 2 if s[j] == "\\" else 1
        return j + 1
    return i


TELLING = re.compile(r"""[;(){}\[\]"'/R]""")


def next_telling(s, i, end):
    """The next place from i on where something may begin or end."""
    found = TELLING.search(s, i, end)
    return found.start() if found else end


def matching(s, i):
    """The place of the bracket that closes the one at i."""
    depth = 0
    while i < len(s):
        i = next_telling(s, i, len(s))
        j = skip_literal(s, i)
        if j > i:
            i = j
            continue
        depth += (s[i] in "({[") - (s[i] in ")}]")
        if depth == 0:
            return i
        i += 1
    raise ValueError("a bracket that nothing closes")


def without_template(head):
    """A declaration without template<...>, its requirements and attributes, in one line."""
    head = re.sub(r"//[^\n]*", "", head)
    while True:
        head = head.strip()
        if head.startswith("template"):
            i, depth = head.index("<"), 0
            while i < len(head):
                i = matching(head, i) if head[i] == "(" else i
                depth += (head[i] == "<") - (head[i] == ">" and head[i - 1] != "-")
                i += 1
                if depth == 0:
                    break
            head = head[i:]
        elif head.startswith("[["):
            head = head[head.index("]]") + 2:]
        elif head.startswith("requires"):
            rest = re.search(r"\b(struct|class|enum|inline|constexpr|consteval|auto|void|bool|int|std|using|concept|explicit|static|operator)\b", head)
            return " ".join(head[rest.start():].split()) if rest else ""
        else:
            return " ".join(head.split())


def classify(head):
    """Kind and name of a declaration by what stands before its body or end."""
    line = without_template(head)
    found = re.match(r"(?:inline )?namespace ([\w:]*)", line)
    if found:
        return "namespace", found[1]
    found = re.match(r"(?:struct|class|union|enum(?: class| struct)?)\s+(?:alignas\([^)]*\)\s*)?([\w:]+)\s*(<[^{;]*>)?\s*(final)?\s*(?::[^{;]*)?$", line)
    if found:
        return "type", found[1]
    found = re.match(r"(?:using|concept)\s+(\w+)\s*=", line)
    if found:
        return "other", found[1]
    before = line.split("(")[0] if "(" in line else ""
    found = re.search(r"(operator\s*(?:\(\)|[^\s\w(]+|\w+)?|~?\w+)\s*$", before)
    if "operator" in line and "(" in line:
        found = re.search(r"operator\s*(\(\)|\[\]|[^\s\w(]+|[\w: ]+)", line) or found
    equal = re.search(r"[^=!<>]=[^=]", line)
    if found and not (equal and equal.start() < len(before)):
        return "function", found[0].strip()
    found = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|\{|$)", line)
    return "other", found[1] if found else ""


def shortened(head, rest=""):
    """A declaration as it is shown: without the initializers of a constructor, ending in a semicolon."""
    head = head.rstrip()
    cut = re.search(r"\)\s*(?:noexcept)?\s*:\s(?!:)", head)
    if cut and "?" not in head[:cut.start()]:
        head = re.sub(r"\s*:\s*$", "", head[:cut.end()])
    return head + rest + ";"


def declarations(s, i, end) -> List[Declaration]:
    found, comments, last = [], [], i
    while True:
        blank = re.compile(r"\s*").match(s, i, end)
        if s.count("\n", i, blank.end()) > 1:
            comments = []
        i = blank.end()
        if i >= end:
            return found
        if s.startswith("//", i):
            stop = skip_literal(s, i)
            comments.append(s[i:stop])
            i = stop
            continue
        if s[i] == "#":
            while True:
                stop = s.find("\n", i)
                stop = end if stop < 0 else stop
                i = stop + 1
                if s[stop - 1] != "\\":
                    break
            comments = []
            continue
        access = re.compile(r"(public|private|protected)\s*:(?!:)").match(s, i)
        if access:
            found.append(Declaration("access", access[1], "", False, "", None, ""))
            i, comments = access.end(), []
            continue
        start, inside, kind, name, text = i, None, "", "", ""
        while True:
            i = next_telling(s, i, end)
            if i >= end:
                return found
            stop = skip_literal(s, i)
            if stop > i:
                i = stop
            elif s[i] in "([":
                i = matching(s, i) + 1
            elif s[i] == ";":
                kind, name = (kind, name) if kind else classify(s[start:i])
                text = text or shortened(s[start:i])
                i += 1
                break
            elif s[i] == "{":
                close = matching(s, i)
                head = s[start:i]
                if re.search(r"\brequires\s*(\([^()]*\))?\s*$", head):
                    i = close + 1
                    continue
                kind, name = classify(head)
                if kind in ("namespace", "type"):
                    inside, text = (i + 1, close), head.rstrip()
                else:
                    body = s[i:close + 1]
                    text = shortened(head, "" if kind == "function" else body if len(body) < 200 and "\n" not in body else "{...}")
                i = close + 1
                behind = re.compile(r"\s*").match(s, i).end()
                if kind != "namespace" and behind < len(s) and s[behind] in ";,{":
                    if s[behind] == ";":
                        i = behind + 1
                        break
                    continue
                break
            else:
                i += 1
        after = re.compile(r"[ \t]*///<([^\n]*(?:\n[ \t]*///<[^\n]*)*)").match(s, i)
        said = re.sub(r"\n[ \t]*///<", "", after[1]).strip() if after else ""
        i = after.end() if after else i
        documented = any(c.startswith("///") for c in comments)
        lines = [re.sub(r"^///? ?", "", c) for c in comments if c.startswith("///") or not documented]
        found.append(Declaration(kind, name, "\n".join(lines), documented, text, inside, said))
        comments = []
        if i <= last:
            raise ValueError(f"no way forward at {s[i:i + 60]!r}")
        last = i
