# SPDX-License-Identifier: Apache-2.0
"""A room's test sources, built once with all mutants behind switches, or with one mutant alone, and run."""
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mutants

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = {"schedule", "execute"}  # folders whose tests run sessions on the host backend
REFUSED = re.compile(r"static assertion failed|constant expression|constexpr")
SWITCH = Path(__file__).with_name("switch.hpp")


class Out(Exception):
    """Time is over, or nothing can be judged."""


def quiet(words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


def run_limited(program, cpu, environment):
    """The exit code (negative: a signal) and seconds of processor time of a test that may take `cpu` of them."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 3))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen([str(program), "--abort-after=1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **environment}, preexec_fn=limit)
    end = time.monotonic() + 20 * cpu  # one that waits for ever takes no processor time
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime
        if time.monotonic() > end:
            process.kill()
            end += 1e9
        time.sleep(0.02)


class Source:
    """A test source with the commands that build it."""

    def __init__(self, room, path, words):
        self.room, self.path, self.words = room, path, words
        self.name = str(path.relative_to(ROOT))
        listed = quiet([*words, "-M", path], check=True).stdout.replace("\\\n", " ").split()[1:]
        self.includes = {p for p in (Path(name).resolve() for name in listed) if p.is_relative_to(ROOT)}
        own = sorted(p for p in self.includes if p.is_relative_to(ROOT / "tests"))
        self.text = mutants.digest(*(p.read_text() for p in own))
        self.program = room.folder / re.sub(r"\W", "_", self.name)
        self.reached = set()
        self.seconds = 0
        text = path.read_text()
        self.libraries = ["-ldnnl", "-lgomp"] if "tessera/host.hpp" in text or path.parent.name in SESSIONS else []

    def compile(self, overlay, *more):
        return [self.words[0], "-I", overlay, *self.words[1:], *more, "-include", self.room.prefix(self.words, more), "-include", SWITCH, self.path]

    def link(self, output, program):
        return [self.words[0], "-pthread", output, self.room.main, *self.room.zoo, *self.libraries, "-lz", "-o", program]

    def prepare(self, levels):
        """Builds it with the switches and notes which it reaches; returns lines of headers that do not compile with theirs."""
        laid = sorted(p for p in self.includes if p in self.room.headers)
        copies = [self.room.laid(p).read_text() for p in laid if self.room.laid(p).exists()]
        key = mutants.digest(self.text, *copies, *(p.read_text() for p in laid), SWITCH.read_text())
        note = self.program.with_suffix(".json")
        known = json.loads(note.read_text()) if note.exists() else {}
        if known.get("key") != key:
            for level in [levels[self.name]] if self.name in levels else ["-O0", "-O1"]:
                program = Path(str(self.program) + level)
                built = quiet([*self.compile(self.room.overlay, level), "-c", "-o", f"{program}.o"])
                if built.returncode != 0:
                    return re.findall(rf"{re.escape(str(self.room.overlay))}/(\S+?):(\d+):", built.stderr) or sys.exit(built.stderr)
                linked = quiet(self.link(f"{program}.o", program))
                if linked.returncode != 0:
                    sys.exit(f"mutate.py: {self.name} does not link: {linked.stderr[-1000:]}")
                Path(f"{program}.o").unlink()
                with tempfile.NamedTemporaryFile() as file:
                    code, used = run_limited(program, 600, {"TESSERA_REACHED": file.name})
                    reached = [int(n) for n in Path(file.name).read_text().split()]
                if known.get("key") != key or used < known["seconds"]:
                    known = {"key": key, "seconds": used, "code": code, "reached": reached, "program": str(program)}
                    levels[self.name] = level
                if used < 3:
                    break
            note.write_text(json.dumps(known))
            print(f"mutate.py: {self.name}: {known['seconds']:.1f} s at {known['program'][-2:]}, reaches {len(known['reached'])}, code {known['code']}",
                  file=sys.stderr, flush=True)
        self.built, self.reached, self.seconds, self.code = Path(known["program"]), set(known["reached"]), known["seconds"], known["code"]
        return []

    def verdict(self, program, environment):
        limit = min(max(10 * self.seconds, 10), self.seconds + 300)
        code, used = run_limited(program, limit, environment)
        return "survived" if code == 0 else "caught, too slow" if code in (-signal.SIGXCPU, -signal.SIGKILL) else "caught"

    def run(self, k):
        return self.verdict(self.built, {"TESSERA_MUTANT": str(k)})

    def run_alone(self, mutant):
        with tempfile.TemporaryDirectory() as folder:
            self.room.lay(Path(folder), mutant.header, mutants.with_one(mutant))
            program = Path(folder) / "test"
            built = quiet([*self.compile(folder, self.room.levels[self.name]), "-c", "-o", f"{program}.o"])
            if built.returncode != 0:
                first = next((line for line in built.stderr.splitlines() if "error:" in line), "")
                return "caught" if REFUSED.search(first) else "does not compile"
            linked = quiet(self.link(f"{program}.o", program))
            return self.verdict(program, {}) if linked.returncode == 0 else "does not link: " + linked.stderr[-300:]

    def constants_reach(self, numbers):
        """Which of the switches constant evaluation asks for, as far as it matters: the others it does not."""
        found = set()
        while True:
            left = [k for k in numbers if k not in found]
            if not left:
                return found
            asked = "-DTESSERA_MUTANTS_ASKED=" + ",".join(map(str, left))
            read = quiet([*self.compile(self.room.overlay, asked), "-fsyntax-only"])
            if read.returncode == 0:
                return found
            new = {int(n) for n in re.findall(r"tessera_mutants::on\((\d+)\)", read.stderr)} & set(left)
            found |= new or set(left)


class Room:
    def __init__(self, name, build, folder, folders, headers, levels):
        self.name, self.build, self.folder, self.headers, self.levels = name, build, folder, set(headers), levels
        self.overlay = folder / "include"
        self.overlay.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cmake", "--build", build, "--target", "tessera_test_main", "tessera_zoo"], check=True, stdout=subprocess.DEVNULL)
        self.lock = threading.Lock()
        self.prefixes = {}
        self.sources = []
        for entry in json.loads((build / "compile_commands.json").read_text()):
            path = Path(entry["file"])
            paths = [path] if path.parent.parent == ROOT / "tests" and path.parent.name in folders else []
            if path == ROOT / "tests/op_test/runner.cpp":  # as it is compiled
                paths += [ROOT / "tests" / name for name in folders if name.endswith(".cpp")]
            for path in paths:
                source = Source(self, path, self.without_output(shlex.split(entry["command"])))
                self.sources += [source] if source.includes & self.headers else []
        if not self.sources:
            sys.exit(f"mutate.py: {build} has no unit tests of {folders}; configure it with TESSERA_TESTS_TOGETHER=0")
        self.words = self.sources[0].words
        main = next(build.glob("tests/CMakeFiles/tessera_test_main.dir/main.cpp.o"))
        self.main = folder / "main.o"
        switches = folder / "switches.o"
        subprocess.run([self.words[0], *self.words[1:], "-x", "c++", "-DTESSERA_MUTANTS_MAIN", "-c", SWITCH, "-o", switches], check=True)
        subprocess.run(["ld", "-r", main, switches, "-o", self.main], check=True)
        self.zoo = list(build.glob("examples/zoo/libtessera_zoo.a"))

    @staticmethod
    def without_output(words):
        while not re.search(r"(\+\+|cc|clang)[-\d.]*$", words[0]):
            words.pop(0)  # a launcher
        kept = []
        skip = False
        for word, after in zip(words, words[1:] + [""]):
            if skip:
                skip = False
            elif word in ("-o", "-c") or (word == "-include" and "cmake_pch" in after):
                skip = True
            elif not word.startswith(("-O", "-g", "-W")) and word != "-DTESSERA_COMPILED":  # which would hide mutants
                kept.append(word)
        return kept + ["-w"]

    def prefix(self, words, more):
        """What no mutant changes, the standard library and doctest, precompiled for a set of options."""
        options = [*words, *(o for o in more if not o.startswith("-DTESSERA_MUTANTS"))]
        key = mutants.digest(*options)
        with self.lock:
            if key in self.prefixes:
                return self.prefixes[key]
            header = self.build / "mutation" / key / "precompiled.hpp"
            if not Path(f"{header}.gch").exists():
                header.parent.mkdir(parents=True, exist_ok=True)
                header.write_text((ROOT / "tests/precompiled.hpp").read_text())
                listed = quiet([*options, "-M", header], check=True).stdout.split()
                if any(str(ROOT / "include") in name for name in listed):
                    sys.exit("mutate.py: tests/precompiled.hpp includes headers of the library, which would hide mutants")
                subprocess.run([*options, "-x", "c++-header", header, "-o", f"{header}.new"], check=True)
                os.replace(f"{header}.new", f"{header}.gch")
            self.prefixes[key] = header
            return header

    def laid(self, header):
        return self.overlay / header.relative_to(ROOT / "include")

    def lay(self, folder, header, text):
        path = folder / header.relative_to(ROOT / "include")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    def likeliest(self, header):
        def order(source):
            return source.path.stem != header.stem, not re.search(rf"\b{header.stem}\b", source.path.read_text()), source.seconds

        return sorted((s for s in self.sources if header in s.includes), key=order)

    def header_compiles(self, mutant):
        with tempfile.TemporaryDirectory() as folder:
            self.lay(Path(folder), mutant.header, mutants.with_one(mutant))
            name = str(mutant.header.relative_to(ROOT / "include"))
            read = quiet([self.words[0], "-I", folder, *self.words[1:], "-fsyntax-only", "-x", "c++", "-"], input=f'#include "{name}"\n')
            return read.returncode == 0

    def prepare(self, numbered, pool, deadline):
        """Builds all sources with those mutants behind switches; returns the numbers of those that could be."""
        numbered = dict(numbered)
        everything = "".join(f'#include "{h.relative_to(ROOT / "include")}"\n' for h in sorted(self.headers))

        def drop(lines):
            bad = {(file, int(line) - 1) for file, line in lines}
            place = {k: (str(m.header.relative_to(ROOT / "include")), m.number) for k, m in numbered.items()}
            found = [k for k in place if place[k] in bad]
            if not found:  # what a removed statement declares is missed elsewhere
                found = [k for k, m in numbered.items() if m.name == "statement removed" and place[k][0] in {file for file, _ in bad}]
            for k in found:
                del numbered[k]
            return found

        while True:
            if time.monotonic() > deadline:
                raise Out("not judged in time")
            for header in self.headers:
                self.lay(self.overlay, header, mutants.with_switches(header, [x for x in numbered.items() if x[1].header == header]))
            command = [self.words[0], "-I", self.overlay, *self.words[1:], "-include", SWITCH, "-fsyntax-only", "-x", "c++", "-"]
            read = quiet(command, input=everything)
            if read.returncode != 0:
                lines = re.findall(rf"{re.escape(str(self.overlay))}/(\S+?):(\d+):", read.stderr)
                if not drop(lines):
                    sys.exit("mutate.py: the copies do not compile:\n" + read.stderr[:3000])
                continue
            wrong = [line for lines in pool.map(lambda s: s.prepare(self.levels), self.sources) for line in lines]
            if not wrong:
                break
            if not drop(wrong):
                sys.exit(f"mutate.py: the copies do not compile: {wrong}")
        for source in self.sources:
            if source.code != 0:
                print(f"mutate.py: left out, as it fails without a mutant: {source.name}", file=sys.stderr)
        self.sources = [s for s in self.sources if s.code == 0]
        return set(numbered)
