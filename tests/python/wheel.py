# SPDX-License-Identifier: Apache-2.0
"""The package as users get it: a wheel is built without isolation, installed in an environment of its own, and plans
there, a network file and, where torch is found, a module.

Usage: wheel.py ROOT WORK. Without scikit-build-core, pybind11 or venv it says so and is skipped.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import zipfile

root, work = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
for needed in ("scikit_build_core", "ensurepip", "pip"):
    if importlib.util.find_spec(needed) is None:
        print(f"skipped: there is no {needed} for {sys.executable}")
        sys.exit(0)

MODULE = """
import pathlib, sys
import tessera
assert pathlib.Path(tessera.__file__).is_relative_to(sys.prefix), tessera.__file__
try:
    import torch
except ImportError as e:
    print(f"no module is planned: {e}")
    sys.exit(0)
layers = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.ReLU(), torch.nn.Linear(40, 5))
plan = tessera.plan(layers, (torch.randn(8, 30),), machine="p100", nodes=4)
assert plan.devices == 16 and len(plan.strategy["layers"]) == 4, plan.strategy
print(repr(plan))
"""


def run(*command, **more):
    print("+", *command, flush=True)
    subprocess.run([str(c) for c in command], check=True, **more)


def main():
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps")
    run(sys.executable, "-m", "pip", "wheel", *quiet, "--no-build-isolation", "-w", work, root)
    (wheel,) = work.glob("tessera-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    modules = {p.name for p in (root / "python/tessera").glob("*.py")}
    inside = {n.removeprefix("tessera/") for n in names if n.startswith("tessera/")}
    assert modules <= inside and len(inside - modules) == 1, names  # and the extension module
    assert all(n.startswith(("tessera/", "tessera-")) for n in names), names
    run(sys.executable, "-m", "venv", work / "venv")
    python = work / "venv/bin/python"
    run(python, "-m", "pip", "install", *quiet, "--no-index", wheel)
    elsewhere = {"cwd": work, "env": {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}}
    run(python, root / "tests/python/planner.py", "-", **elsewhere)
    with_torch = {**elsewhere["env"], "PYTHONPATH": sysconfig.get_paths()["purelib"]}
    run(python, "-c", "import sys; sys.path.append(sys.path.pop(1))\n" + MODULE, cwd=work, env=with_torch)


main()
