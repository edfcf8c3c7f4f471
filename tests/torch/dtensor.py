# SPDX-License-Identifier: Apache-2.0
"""The same plans through DTensor's public API: which train to Tessera's losses, which are refused, which are silently wrong.

Usage: dtensor.py FOLDER [--only TEXT] [--steps 3]

FOLDER is what tests/torch/cases.cpp writes. Of every case the network's lines on one rank run on DTensors: parameters and
inputs are distributed, and what an operator reads is redistributed, as the case's layouts say. A layout that a
placement on one mesh cannot say (uneven shards, several dimensions, operators on some of the ranks, stages) cannot be said at
all; a halo is DTensor's own business, which is handed the parts without it. Needs torch 2.6 or later.
"""

import argparse
import collections
import datetime
import inspect
import pathlib
import re
import textwrap

import train

import torch
import torch.distributed as dist


def placement(layout):
    from torch.distributed.tensor import Replicate, Shard

    if layout == "R":
        return Replicate()
    found = re.fullmatch(r"(?:S|halo)(\d)", layout)
    return Shard(int(found[1])) if found else None


def read_layouts(folder):
    """Operator: (of its output, {tensor or parameter: layout}); None where one cannot be said."""
    all_ = {}
    for line in (folder / "layouts.txt").read_text().splitlines():
        name, out, *rest = line.split(" ")
        all_[name] = (out, dict(x.split("=") for x in rest))
    return all_


def sayable(folder, program):
    if program.micro_batches > 1 or len(program.stages) > 1:
        return "micro-batches or stages"
    for name, (out, rest) in read_layouts(folder).items():
        for what, layout in [(name, out), *rest.items()]:
            if placement(layout) is None:
                return f"the layout of {what}"
    return None


class OnMesh:
    """What a program's lines call, on DTensors."""

    def __init__(self, program, rt, mesh, layouts, folder):
        from torch.distributed.tensor import distribute_tensor

        self.program, self.mesh, self.layouts = program, mesh, layouts
        self.steps, self.rt = 0, rt
        whole = rt.read_safetensors(folder / "weights.safetensors")
        how = {k: v for _, (_, rest) in layouts.items() for k, v in rest.items()}
        self.parameters = {
            name: distribute_tensor(whole[name], mesh, [placement(how.get(name, "R"))]).requires_grad_(p.trained)
            for name, p in program.parameters.items()
        }
        self.losses = []

    def parameter(self, name, number=0):
        return self.parameters[name]

    def take(self, name):
        return (self.batch[self.program.exchanges[name].input],)

    def loss(self, rows, factor):
        self.losses.append(rows.sum() * factor)

    def batch_norm(self, x, sums, count, gamma, beta, epsilon, running=None, momentum=0.0):
        return torch.nn.functional.batch_norm(x, None, None, gamma, beta, training=True, eps=epsilon)

    def dropout(self, name, x, number=0):
        from torch.distributed.tensor import DTensor, distribute_tensor

        d = self.program.dropouts[name]
        whole = self.rt.dropout_factors(d, [(0, e) for e in d.shape], self.program.seed, self.steps)
        mask = distribute_tensor(whole, self.mesh, x.placements) if isinstance(x, DTensor) else whole
        return x * mask


def lines_of(program):
    source = textwrap.dedent(inspect.getsource(program.stages[0][0])).splitlines()[1:]
    return [line.strip() for line in source]


def variable(name):
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def run(single, rt, here, batch, layouts):
    """The lines of the network on one rank, each after its inputs have been redistributed."""
    import torch.nn.functional as F
    from torch.distributed.tensor import DTensor, distribute_tensor

    here.batch = batch
    here.losses = []
    values = {"r": here, "rt": rt, "torch": torch, "F": F}
    by_variable = {variable(name): (out, rest) for name, (out, rest) in layouts.items()}
    for line in lines_of(single):
        made = re.match(r"(\w+),? = ", line)
        owner = made[1] if made else ""
        if owner in by_variable:
            for what, layout in by_variable[owner][1].items():
                for known in (variable(what), f"{owner}_in", f"{owner}_in0", f"{owner}_in1"):
                    x = values.get(known)
                    if isinstance(x, DTensor) and (known == variable(what) or what == "input"):
                        values[known] = x.redistribute(here.mesh, [placement(layout)])
        exec(line, values)
        if made and re.search(r"r\.take\(", line):
            owner = re.sub(r"_in\d?$", "", owner)
            layout = by_variable[owner][1].get("input", "R")
            values[made[1]] = distribute_tensor(values[made[1]], here.mesh, [placement(layout)])
    return sum(here.losses)


def train_on_mesh(rank, ranks, port, folder, single_folder, steps, results):
    import os

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=120))
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.experimental import implicit_replication

        mesh = init_device_mesh("cpu", (ranks,))
        program, _ = train.load(folder)
        single, rt = train.load(single_folder)
        rt.moments = lambda x, dims: None  # batch_norm takes its own
        layouts = read_layouts(folder)
        here = OnMesh(single, rt, mesh, layouts, folder)
        how = {k: v for k, v in program.optimizer.items() if k not in ("kind", "clip_norm", "clip_value", "loss_scale")}
        kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[program.optimizer["kind"]]
        groups = [
            {"params": [here.parameters[name]], "lr": how["lr"] * p.rate, "weight_decay": p.decay}
            for name, p in program.parameters.items()
            if p.trained
        ]
        optimizer = kind(groups, **how)
        feed = rt.batches(program, rt.read_data(program, folder / "samples.safetensors"), train.SHUFFLE)
        losses = []
        for _ in range(steps):
            with implicit_replication():  # of masks and numbers of positions
                loss = run(single, rt, here, next(feed), layouts)
                losses.append(loss.full_tensor().item())
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            here.steps += 1
        if rank == 0:
            results.put(("losses", losses))
    except Exception as e:  # noqa: BLE001  (a refusal is what is looked for)
        results.put(("error", f"{type(e).__name__}: {e}"))
    finally:
        dist.destroy_process_group()


def worker(rank, ranks, tasks, results):
    for task in iter(tasks.get, None):
        train_on_mesh(rank, ranks, *task, results)
        results.put(("done", rank))


class Mesh(train.Ranks):
    work = staticmethod(worker)
    gives_up = True

    def run(self, folder, single, steps):
        return self.ask((self.free_port(), folder, single, steps))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    counts = collections.Counter()
    meshes = {}
    print("| plan | through DTensor | largest difference, or why |\n|---|---|---|")
    for folder in sorted(p.parent for p in given.folder.glob("*/program.py") if given.only in p.parent.name):
        program, _ = train.load(folder)
        if program.ranks == 1:
            continue
        single = given.folder / f"{folder.name.split('-')[0]}-single-1"
        own = [float(x) for x in (folder / "losses.txt").read_text().split()][: given.steps]
        why = sayable(folder, program)
        if why is not None:
            verdict, note = "cannot be said", why
        else:
            if program.ranks not in meshes:
                meshes[program.ranks] = Mesh(program.ranks)
            losses, errors = meshes[program.ranks].run(folder, single, given.steps)
            if losses is None or errors:
                verdict, note = "refused", (errors or ["no loss"])[0].splitlines()[0][:110]
                meshes.pop(program.ranks).end()  # ranks may have stopped at different places
            else:
                difference = train.difference(losses, own)
                verdict, note = ("equal" if difference <= 1e-4 else "silently wrong"), f"{difference:.1e}"
        counts[verdict] += 1
        print(f"| {folder.name} | {verdict} | {note.replace('|', '/')} |", flush=True)
    for mesh in meshes.values():
        mesh.end()
    print("\n" + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()) + f"; torch {torch.__version__}")


if __name__ == "__main__":
    main()
