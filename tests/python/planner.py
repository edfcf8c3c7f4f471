# SPDX-License-Identifier: Apache-2.0
"""The planner in Python: network files without torch, its numbers beside those of the program, refusals, Ctrl-C, and that
other threads go on while it searches.

Usage: planner.py PACKAGE [PLAN]: the folder that has the package ("-": it is installed), and the planner's program.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

if sys.argv[1] != "-":
    sys.path.insert(0, sys.argv[1])

import tessera  # noqa: E402

NETWORK = {
    "tessera_network": 1,
    "name": "small",
    "batch": 64,
    "nodes": [
        {"input": "input", "sample": [1, 28, 28], "type": "f32"},
        {"name": "conv1", "kind": "conv2d", "reads": ["input"], "attributes": {"window": [5, 5], "out": 16, "bias": True}},
        {"name": "relu", "kind": "relu", "reads": ["conv1"]},
        {"name": "flatten", "kind": "flatten", "reads": ["relu"]},
        {"name": "fc", "kind": "linear", "reads": ["flatten"], "attributes": {"out": 2048, "bias": True}},
        {"name": "last", "kind": "linear", "reads": ["fc"], "attributes": {"out": 10, "bias": True}},
        {"input": "labels", "sample": [], "type": "i32"},
        {"name": "loss", "kind": "cross_entropy", "reads": ["last", "labels"]},
    ],
}


def said(call, kind):
    try:
        call()
    except kind as e:
        return str(e)
    raise AssertionError(f"nothing was refused where {kind.__name__} was due")


def check_plans(path, folder):
    found = tessera.plan_network(path, machine="p100", nodes=2, batch=256)
    assert found.devices == 8 and found.strategy["devices"] == 8
    assert [n["layer"] for n in found.strategy["layers"]] == [n["name"] for n in NETWORK["nodes"] if "name" in n]
    data = tessera.plan_network(path, machine="p100", nodes=2, batch=256, search="data")
    assert 0 < found.step_seconds < data.step_seconds, (found, data)
    assert "<html" in found.report and found.report in html_of(found)
    found.write(folder / "kept")
    again = tessera.plan_network(
        folder / "kept/network.json", nodes=2, batch=256, strategy=folder / "kept/strategy.json"
    )
    assert again.step_seconds == found.step_seconds and again.strategy == found.strategy
    assert tessera.plan_network(path, batch=256, memory="1GB").peak_bytes <= 10**9
    assert "fc (linear" in tessera.plan_network(path, explain="fc").text
    return found


def html_of(plan):
    import html

    return html.unescape(plan._repr_html_())


def check_program(path, found, folder):
    """The program says the same, to the byte."""
    files = [str(folder / "s.json"), str(folder / "r.html")]
    command = [sys.argv[2], "--network", str(path), "--nodes", "2", "--batch", "256", "--search", "optcnn", "--table"]
    command += ["--strategy", files[0], "--report", files[1]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == found.text.splitlines()[1:], (done.stdout, found.text)
    assert json.loads(pathlib.Path(files[0]).read_text()) == found.strategy
    shown = float(re.search(r"([0-9.]+) ms a step", done.stdout).group(1))
    assert abs(shown - found.step_seconds * 1e3) < 1e-3
    subprocess.run([*command, "--export", "torch", str(folder / "theirs"), "--learning-rate", "0.5"], check=True)
    found.export_torch(folder / "ours", learning_rate=0.5)
    for name in ("program.py", "tessera_runtime.py", "weights.safetensors"):
        assert (folder / "theirs" / name).read_bytes() == (folder / "ours" / name).read_bytes(), name
    assert "lr=0.5" in (folder / "ours/program.py").read_text()
    found.export_torch(folder / "ours")
    assert "lr=0.5" not in (folder / "ours/program.py").read_text()


def check_refusals(path):
    error = tessera.Error
    assert "there is no machine 'p1000'" in said(lambda: tessera.plan_network(path, machine="p1000"), error)
    assert "did you mean" in said(lambda: tessera.plan_network(path, search="optcn"), error)
    assert "faithful is an option of" in said(lambda: tessera.plan_network(path, search="mcmc", faithful=1), error)
    assert "colour is no option" in said(lambda: tessera.plan_network(path, colour=1), error)
    assert "does not fit" in said(lambda: tessera.plan_network(path, search="data", memory="1MB"), error)
    assert "nodes is 0" in said(lambda: tessera.plan_network(path, nodes=-1 + 1), error)
    assert "proposals: " in said(lambda: tessera.plan_network(path, search="mcmc", proposals=0), error)
    assert "there is no optimizer 'adm'" in said(lambda: tessera.plan_network(path, optimizer="adm"), error)
    assert "leave nodes out" in said(lambda: tessera.plan_network(path, "heterogeneous", 2), ValueError)
    assert "16GB" in said(lambda: tessera.plan_network(path, memory="much"), ValueError)
    bad = path.with_name("bad.json")
    bad.write_text(json.dumps({**NETWORK, "nodes": NETWORK["nodes"][:-1]}))
    assert "loss" in said(lambda: tessera.plan_network(bad), error)
    compressed = tessera.plan_network(path, search="data", sync="one-bit-gradients")
    refusal = said(lambda: compressed.export_torch(path.with_name("compressed")), error)
    assert "the strategy compresses gradients" in refusal
    assert not path.with_name("compressed").exists()
    assert issubclass(error, RuntimeError)
    assert {"optcnn", "mcmc", "data"} <= set(tessera.searches()) and "p100" in tessera.machines()


def check_others_go_on(path):
    """The search holds no lock of Python's: another thread counts meanwhile; and Ctrl-C ends it with the best so far."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    stop = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    stop.start()
    start = time.perf_counter()
    found = tessera.plan_network(path, nodes=4, batch=256, search="mcmc", proposals=100_000_000)
    seconds = time.perf_counter() - start
    done.set()
    counter.join()
    assert found.interrupted and found.step_seconds > 0
    assert 0.9 < seconds < 60, seconds
    assert counted[0] > 100, counted


with tempfile.TemporaryDirectory() as name:
    here = pathlib.Path(name)
    network = here / "network.json"
    network.write_text(json.dumps(NETWORK))
    plan = check_plans(network, here)
    if len(sys.argv) > 2:
        check_program(network, plan, here)
    check_refusals(network)
    check_others_go_on(network)
    print(f"{plan!r}: {plan.bound}")
