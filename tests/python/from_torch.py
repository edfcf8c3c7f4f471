# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch as networks: what they become, that they train to the same losses, and what is said of
those that have none.

Usage: from_torch.py PACKAGE TRAIN_FILE PLAN: the folder that has the package, and two programs.
Without torch it says so and is skipped.
"""

import copy
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(0)

package, train_file, planner = sys.argv[1:4]
only = sys.argv[4] if len(sys.argv) > 4 else ""  # whose program is trained; all: empty
sys.path[:0] = [package, str(pathlib.Path(__file__).parent)]

import tessera  # noqa: E402  (found beside this file's project, not where packages are)
from beside import losses_of, trained  # noqa: E402
from tessera.weights import write_safetensors  # noqa: E402


class Residual(nn.Module):
    """Convolutions in groups, batch norms, a skip, squeeze and excitation, pools, a concatenation."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False)
        self.squeeze = nn.Conv2d(8, 8, 1)
        self.last = nn.Linear(16 * 2 * 2, 5)

    def forward(self, x):
        x = torch.relu_(self.norm(self.first(x)))
        y = self.grouped(x)
        y = y * torch.sigmoid(self.squeeze(nn.functional.adaptive_avg_pool2d(y, 1)))
        x = nn.functional.hardtanh(x + y, 0, 6)
        x = torch.cat([nn.functional.max_pool2d(x, 2), nn.functional.avg_pool2d(x, 3, 2, 1)], 1)
        return self.last(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 2), 1))


class Attention(nn.Module):
    """PyTorch's encoder layer in the order in which it has the samples second, positions, a GELU."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 8)
        self.places = nn.Parameter(torch.randn(1, 5, 8))
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        x = self.embed(x) + self.places
        x = self.norm(x + self.attend(x, x, x, need_weights=False)[0])
        x = x.transpose(1, 2).transpose(2, 1)
        return self.out(nn.functional.gelu(x))


class Tied(nn.Module):
    """One layer twice."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(7, 7)
        self.out = nn.Linear(7, 4)

    def forward(self, x):
        return self.out(torch.tanh(self.layer(torch.tanh(self.layer(x)))) * 2 - 0.5)


def check_losses():
    torch.manual_seed(3)
    for module, x, y in (
        (Residual(), torch.randn(6, 3, 16, 16), torch.randint(0, 5, (6,))),
        (Attention(), torch.randn(4, 5, 6), torch.randint(0, 3, (4, 5))),
        (Tied(), torch.randn(6, 7), torch.randint(0, 4, (6,))),
        (Positions(), torch.randn(4, 5, 6), torch.randint(0, 4, (4, 3))),
    ):
        theirs, ours, _ = losses_of(module, x, y)
        worst = max(abs(a - b) / abs(a) for a, b in zip(theirs, ours))
        print(f"{type(module).__name__}: losses {theirs}, worst difference {worst:.1e}")
        assert worst < 1e-5 and theirs[0] != theirs[-1], (theirs, ours)


class Positions(nn.Module):
    """What is computed of constants: a table of waves, a mask of neighbours, rows of a table in another order, a class
    token; and GELU by a hyperbolic tangent, differences from numbers, parts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("waves", torch.sin(torch.arange(30.0)).reshape(5, 6))
        self.token = nn.Parameter(torch.randn(1, 1, 6))
        self.places = nn.Embedding(9, 6)
        self.kinds = nn.Embedding(3, 6)
        self.mix = nn.Linear(6, 18)
        self.out = nn.Linear(3, 4)

    def forward(self, x):
        order = torch.arange(5).flip(0) + 2
        x = x + self.waves * 2 + self.places(order) + self.kinds(torch.full((5,), 2))
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        q, k, v = self.mix(x).chunk(3, -1)
        far = (torch.arange(6)[:, None] - torch.arange(6)[None]).abs() * -0.5
        far[0] = 0  # in place, seen through `far`
        x = x + torch.softmax(q @ k.transpose(1, 2) / 6**0.5 + far, -1) @ v
        x = nn.functional.gelu(1 - x, approximate="tanh")
        return self.out(x[:, 1:4, 3:])


def check_fine_tuning():
    """A batch norm in eval() of a module that trains normalizes by its running statistics, which stay."""
    torch.manual_seed(4)
    module = Residual()
    module.norm.running_mean.normal_()
    module.norm.running_var.uniform_(0.5, 2.0)
    module.norm.eval()
    before = module.norm.running_mean.clone()
    theirs, ours, network = losses_of(module, torch.randn(6, 3, 16, 16), torch.randint(0, 5, (6,)))
    worst = max(abs(a - b) / abs(a) for a, b in zip(theirs, ours))
    print(f"a fixed batch norm: losses {theirs}, worst difference {worst:.1e}")
    assert worst < 1e-5 and theirs[0] != theirs[-1], (theirs, ours)
    assert [n["kind"] for n in network.nodes if "batch_norm" in n.get("kind", "")] == ["fixed_batch_norm"]
    assert module.training and not module.norm.training and torch.equal(module.norm.running_mean, before)


class Strange(nn.Module):
    def forward(self, x):
        x = torch.cumsum(x, 1)
        return torch.fft.rfft(x).abs() + torch.cumsum(x, 1).sum()


class Branching(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def said(call, kind):
    try:
        call()
    except kind as e:
        return str(e)
    raise AssertionError(f"nothing was refused where {kind.__name__} was due")


def check_refusals():
    text = said(lambda: tessera.network_of(Strange(), (torch.randn(2, 4),)), tessera.UnsupportedModule)
    here = pathlib.Path(__file__).name
    assert text.count("cumsum") == 2 and "fft" in text, text  # all at once, and each line by itself
    assert f"{here}:" in text, text
    assert "torch.export cannot read" in said(
        lambda: tessera.network_of(Branching(), (torch.randn(2, 4),)), tessera.UnsupportedModule
    )
    assert "at least 2" in said(lambda: tessera.network_of(Tied(), (torch.randn(1, 7),)), ValueError)
    assert "must be" in said(lambda: tessera.network_of(Tied(), (torch.randn(2, 7),), loss="hinge"), ValueError)
    assert "there is no machine" in said(
        lambda: tessera.plan(Tied(), (torch.randn(4, 7),), machine="p1000"), tessera.Error
    )
    module = Tied().eval()
    tessera.network_of(module, (torch.randn(2, 7),))
    assert not module.training, "the module's mode has changed"


class Odd(nn.Module):
    """A sum along the features and a sort, which no operator of a network is, with a parameter and two results."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.slope = nn.Parameter(torch.rand(6))
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        x = nn.functional.prelu(torch.cumsum(self.first(x), 1), self.slope)
        values, places = torch.sort(x, 1)
        return self.out(values * places)


def check_opaque():
    module, x = Odd(), torch.randn(8, 4)
    text = said(lambda: tessera.network_of(module, (x,)), tessera.UnsupportedModule)
    assert "opaque=True" in text and text.count(".py:") == 3, text
    network = tessera.network_of(module, (x,), opaque=True)
    kept = {n["name"]: n for n in network.nodes if n.get("kind") == "opaque"}
    assert len(kept) == 4 and set(network.opaque) == set(kept), kept  # sort makes two
    assert all(pathlib.Path(__file__).name in where for where in network.opaque.values()), network.opaque
    attributes = kept["prelu"]["attributes"]
    assert attributes["parameters"] == 6 and attributes["extent"] == [6, 0, 0, 0] and attributes["flops"] > 0
    assert kept["cumsum"]["attributes"]["flops"] == 6  # a sample's
    weights = tessera.weights.weights_of(network, module)
    assert torch.equal(weights["prelu/weight"], module.slope.detach())
    assert "no samples first" in said(
        lambda: tessera.network_of(Strange(), (torch.randn(2, 4),), opaque=True), tessera.UnsupportedModule
    )
    found = tessera.plan(module, (x,), machine="p100", nodes=1, opaque=True)
    assert found.network.opaque == network.opaque
    for layer in found.strategy["layers"]:
        if layer["layer"] in kept:
            assert "splits" not in layer, layer
    with tempfile.TemporaryDirectory() as folder:
        network.write(f"{folder}/net.json")
        write_safetensors(f"{folder}/batch", {"x": x, "labels": torch.zeros(8)})
        command = [train_file, f"{folder}/net.json", f"{folder}/batch", "--devices", "2"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "cumsum cannot run: it is opaque" in done.stderr, done


def check_plan():
    found = tessera.plan(Residual(), (torch.randn(8, 3, 16, 16),), machine="p100", nodes=1, batch=64, memory="8GB")
    assert found.strategy["devices"] == 4 and "ms a step" in str(found), found
    assert len(found.strategy["layers"]) == sum("kind" in n for n in found.network.nodes)
    assert "&lt;svg" in found._repr_html_()
    with tempfile.TemporaryDirectory() as folder:
        found.write(folder)
        command = [
            planner,
            "--network",
            f"{folder}/network.json",
            "--batch",
            "64",
            "--from",
            f"{folder}/strategy.json",
        ]
        subprocess.run(command, check=True, capture_output=True)


def check_programs():
    """Plans of modules as programs that two ranks train: the losses, and the weights at the end, are those of the module."""
    torch.manual_seed(4)
    for module, x, y, search in (
        (Residual(), torch.randn(12, 3, 16, 16), torch.randint(0, 5, (12,)), "data"),
        (Attention(), torch.randn(8, 5, 6), torch.randint(0, 3, (8, 5)), "model"),
        (Tied(), torch.randn(12, 7), torch.randint(0, 4, (12,)), "optcnn"),
        (Positions(), torch.randn(8, 5, 6), torch.randint(0, 4, (8, 3)), "data"),
    ):
        name, half, steps = type(module).__name__, len(x) // 2, 4
        if only and name != only:
            continue
        before = copy.deepcopy(module)
        plan = tessera.plan(module, (x[:half],), machine="p100", devices=2, search=search, optimizer="sgd")
        with tempfile.TemporaryDirectory() as folder:
            program = plan.export_torch(f"{folder}/program", learning_rate=0.05)
            assert (program.ranks, program.batch) == (2, half), program
            given = {next(iter(program.inputs)): x, "labels": y}
            ours = program.train(given, steps, save=f"{folder}/trained")
            assert ours[0] != ours[-1]
            theirs = trained(module, [(x[:half], y[:half]), (x[half:], y[half:])] * (steps // 2), 0.05)
            worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
            plan.network.load_weights(before, f"{folder}/trained")
            apart = max((a - b).abs().max().item() for a, b in zip(before.parameters(), module.parameters()))
            print(f"{name} as a program, {search}: losses within {worst:.1e}, parameters within {apart:.1e} of PyTorch's")
            assert worst < 1e-5 and apart < 1e-5, (ours, theirs)
            running = zip(before.named_buffers(), module.named_buffers())
            assert all(torch.allclose(a, b, atol=1e-5) for (n, a), (_, b) in running if "running" in n)
            if search == "optcnn":
                short = {**given, "labels": y[:2]}
                assert "2 samples and a batch takes 6" in said(lambda: program.train(short, 1), RuntimeError)
                missing = {"labels": y}
                assert "has no" in said(lambda: program.train(missing, 1), RuntimeError)
                assert "1e6" in said(lambda: plan.export_torch(f"{folder}/no", learning_rate=-1), tessera.Error)
    assert "has no program.py" in said(lambda: tessera.Program("/nowhere"), FileNotFoundError)
    text = said(lambda: tessera.plan(Odd(), (torch.randn(8, 4),), opaque=True).export_torch("never"), tessera.Error)
    assert "cumsum" in text and "sort" in text and not pathlib.Path("never").exists(), text


check_losses()
check_fine_tuning()
check_programs()
check_refusals()
check_opaque()
check_plan()
