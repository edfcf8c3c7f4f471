# SPDX-License-Identifier: Apache-2.0
"""The mutants of a header: changes of one line, each as a new line or, written into one copy with others, turned on by number at run time."""
import hashlib
import re

TURNED = [(" + ", " - ", "plus"), (" - ", " + ", "minus"), (" * ", " + ", "times"), (" / ", " * ", "over"), (" % ", " / ", "modulo"),
          (" < ", " <= ", "less"), (" <= ", " < ", "less_or_equal"), (" > ", " >= ", "greater"), (" >= ", " > ", "greater_or_equal"),
          (" == ", " != ", "equal"), (" != ", " == ", "unequal"), (" && ", " || ", None), (" || ", " && ", None),
          (" += ", " -= ", "add"), (" -= ", " += ", "subtract"), ("std::max(", "std::min(", "max"), ("std::min(", "std::max(", "min"),
          ("true", "false", "value"), ("false", "true", "value"), ("++", "--", "up")]
KEEP = re.compile(r"^\s*(#|//|\*|static_assert|template|using|typedef|namespace|struct|class|enum|public:|private:|case |default)")
STATEMENT = re.compile(r"^\s+(?!return\b|const\b|constexpr\b|auto\b|static\b|throw\b|else\b|if\b|for\b|while\b|do\b|using\b|typename\b|friend\b|"
                       r"explicit\b|virtual\b|inline\b|\}|\{)[\w:>.\[\]()*&+-]+.*;\s*(//.*)?$")
UNSET = re.compile(r"///<|^\s+[\w:]+(<[^;=]*>)?[ &*]+\w+_(\{.*\}| =.*);|\.reserve\(")  # fields before they are set; room
CONSTRUCTED = re.compile(r"^\s+[\w:]+(<.*>)? +\w+\(.*\);")  # a declaration too; a block around it would hide its name
DECLARATION = re.compile(r"^\s+[\w:]+(<[^;=]*>)?[ &*]+\w+(\{.*\}| =.*|\[.*\])?;")


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


class Mutant:
    """One change of one line. `edits` insert a switch, each (begin, end, text with %d for its number); none: it must be compiled alone."""

    def __init__(self, header, number, name, old, new, edits):
        self.header, self.number, self.name, self.old, self.new, self.edits = header, number, name, old, new, edits
        self.unset = False  # a field's value before it is set
        self.key = digest(self.shown(header.parents[1]), new, header.read_text())

    def shown(self, root):
        return f"{self.header.relative_to(root)}:{self.number + 1} {self.name}: {self.old.strip()}"


def switch(kind, old, new, code, begin):
    """The edits that make a change of `old` at `begin` one to be turned on."""
    end = begin + len(old)
    on = "::tessera_mutants::"
    if kind == "value":
        return [(begin, end, f"({on}on(%d) ? {new} : {old})")]
    if kind in ("max", "min"):
        return [(begin, end, f"{on}{kind}<%d>(")]
    if kind == "up":
        return [(begin, end, f"{on}up<%d>{{}}->*")] if re.match(r"[\w(]", code[end:end + 1]) else None
    return kind and [(end, end, f"{on}{kind}<%d>{{}}{old}")]


def mutations(line):
    """All changes of one line as (name, new line, edits)."""
    if KEEP.match(line) or UNSET.search(line) or not line.strip():
        return
    code = line.partition("//")[0]
    in_text = [m.span() for m in re.finditer(r'"(\\.|[^"\\])*"', code)]

    def outside(at):
        return not any(a <= at < b for a, b in in_text)

    for old, new, kind in TURNED:
        for m in re.finditer(re.escape(old) if not old.isalpha() else rf"\b{old}\b", code):
            if outside(m.start()):
                edits = switch(kind, old, new, code, m.start())
                yield f"{old.strip()} to {new.strip()} at {m.start()}", code[:m.start()] + new + code[m.end():], edits
    for m in re.finditer(r"(?<![\w.{<'])([0-9]+)(?![\w.'>])", code):
        if outside(m.start()):
            more = str(int(m[1]) + 1)
            yield f"{m[1]} to {more} at {m.start()}", code[:m.start()] + more + code[m.end():], switch("value", m[1], more, code, m.start())
    m = re.match(r"^(\s*(?:\} else )?if \()(?!constexpr)(.*)(\) \{\s*)$", code)
    if m:
        edits = [(m.end(1), m.end(1), "::tessera_mutants::on(%d) != static_cast<bool>("), (m.start(3), m.start(3), ")")]
        yield "condition negated", f"{m[1]}!({m[2]}){m[3]}", edits
    if STATEMENT.match(code) and not DECLARATION.match(code):
        indent = len(code) - len(code.lstrip())
        end = len(code.rstrip())
        edits = [(indent, indent, "if (!::tessera_mutants::on(%d)) { "), (end, end, " }")]
        yield "statement removed", code[:indent] + ";", None if CONSTRUCTED.match(code) else edits


def is_field(lines, number):
    """True for a declaration that stands in a struct or class itself."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    around = next((x for x in reversed(lines[:number]) if x.strip() and len(x) - len(x.lstrip()) < indent and x.rstrip().endswith("{")), "")
    return bool(DECLARATION.match(lines[number]) and re.match(r"\s*(struct|class)\b", around))


def mutants_of(header):
    """All mutants of a header."""
    found = []
    in_comment = False
    lines = header.read_text().splitlines()
    for number, line in enumerate(lines):
        in_comment = (in_comment or "/*" in line) and "*/" not in line
        if not in_comment:
            found += [Mutant(header, number, name, line, new.rstrip(), edits) for name, new, edits in mutations(line) if new.strip() != line.strip()]
    for m in found:
        m.unset = is_field(lines, m.number)
    return found


def drawn(headers, seed):
    """All mutants of headers in an order drawn by seed. Each has a place by its own line alone, so that a header that changes keeps the others."""
    times = {}
    places = []
    for m in (m for h in headers for m in mutants_of(h)):
        what = (seed, m.header.name, m.old.strip(), m.name)
        times[what] = times.get(what, 0) + 1
        places.append((digest(*what, str(times[what])), len(places), m))
    return [m for _, _, m in sorted(places)]


def with_one(mutant):
    """The header with a mutant."""
    lines = mutant.header.read_text().splitlines()
    lines[mutant.number] = mutant.new
    return "\n".join(lines) + "\n"


def with_switches(header, numbered):
    """The header with all of those mutants, (number, mutant), to be turned on."""
    lines = header.read_text().splitlines()
    for line in {m.number for _, m in numbered}:
        edits = sorted((begin, end, text.replace("%d", str(k))) for k, m in numbered if m.number == line for begin, end, text in m.edits)
        code = lines[line]
        for begin, end, text in reversed(edits):
            code = code[:begin] + text + code[end:]
        lines[line] = code
    return "\n".join(lines) + "\n"
