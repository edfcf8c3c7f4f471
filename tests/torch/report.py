# SPDX-License-Identifier: Apache-2.0
"""The network of the report that the project began with, exactly, on two ranks: who holds what, and what its appendix does instead.

Usage: report.py FOLDER

FOLDER/report-2 is a case of tests/torch/cases.cpp: convolutions and pools on both ranks, fully connected layers and labels on
rank 0. Its program trains to Tessera's losses. The report's appendix keeps a copy of the fully connected layers in each process
instead, runs each on its own samples, halves their gradients and does not reduce them: the copies then drift apart. Without
torch it says so and is skipped.
"""

import datetime
import os
import pathlib
import sys

import train

import torch
import torch.distributed as dist
import torch.nn.functional as F


def table(program):
    """Rank, parameter, device: who holds which part of what."""
    rows = []
    for name, p in program.parameters.items():
        for rank, region in p.homes:
            whole = all(part == (0, extent) for part, extent in zip(region, p.shape))
            rows.append((rank, name, "x".join(map(str, p.shape)) if whole else str(region)))
    return sorted(rows)


def appendix(rank, ranks, port, folder, steps, _damage, _backend, results):
    """Every process has all layers and half of the samples; gradients of convolutions are averaged, those of others halved."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=120))
    try:
        program, rt = train.load(folder)
        p = {k: v.requires_grad_() for k, v in rt.read_safetensors(folder / "weights.safetensors").items()}
        feed = rt.batches(program, rt.read_data(program, folder / "samples.safetensors"), train.SHUFFLE)
        half = slice(rank * program.batch // 2, (rank + 1) * program.batch // 2)
        drops = {name: d.unit for name, d in program.dropouts.items()}
        channel = next(n for n, unit in drops.items() if unit == "channel")
        element = next(n for n, unit in drops.items() if unit == "element")
        losses = []
        for step in range(steps):
            batch = next(feed)
            x, labels = (batch[name][half] for name in program.inputs)

            def mask(name, step=step):
                d = program.dropouts[name]
                return rt.dropout_factors(d, [(0, e) for e in d.shape], program.seed, step)[half]

            x = F.relu(F.max_pool2d(F.conv2d(x, p["conv1/weight"], p["conv1/bias"]), 2))
            x = F.conv2d(x, p["conv2/weight"], p["conv2/bias"]) * mask(channel)
            x = F.relu(F.max_pool2d(x, 2)).flatten(1)
            x = F.relu(F.linear(x, p["fc1/weight"], p["fc1/bias"])) * mask(element)
            loss = F.cross_entropy(F.linear(x, p["fc2/weight"], p["fc2/bias"]), labels)
            total = loss.detach() / ranks
            loss.backward()
            dist.all_reduce(total)
            losses.append(total.item())
            with torch.no_grad():
                for name, w in p.items():
                    if name.startswith("conv"):
                        dist.all_reduce(w.grad)
                    w -= program.optimizer["lr"] * w.grad / ranks
                    w.grad = None
        other = torch.cat([p["fc1/weight"].detach().flatten(), p["fc2/weight"].detach().flatten()])
        mine = other.clone()
        dist.broadcast(other, 0)
        apart = torch.tensor(float((mine - other).abs().max()))
        dist.all_reduce(apart, op=dist.ReduceOp.MAX)
        if rank == 0:
            results.put(("losses", [*losses, apart.item()]))
    except Exception as e:  # noqa: BLE001
        results.put(("error", f"rank {rank}: {type(e).__name__}: {e}"))
    finally:
        dist.destroy_process_group()


def worker(rank, ranks, tasks, results):
    for task in iter(tasks.get, None):
        appendix(rank, ranks, *task, results)
        results.put(("done", rank))


class Appendix(train.Ranks):
    work = staticmethod(worker)


def main():
    folder = pathlib.Path(sys.argv[1]) / "report-2"
    program, _ = train.load(folder)
    print("rank  parameter       region\n" + "\n".join(f"{r:4}  {name:14}  {region}" for r, name, region in table(program)))
    on_both = {name for r, name, _ in table(program) if r == 1}
    on_first = {name for r, name, _ in table(program) if r == 0}
    own = [float(x) for x in (folder / "losses.txt").read_text().split()]
    ranks = train.Ranks(2)
    losses, errors = ranks.run(folder, len(own))
    ranks.end()
    if errors or losses is None:
        sys.exit(f"the program fails: {errors}")
    of_program = train.difference(losses, own)
    ranks = Appendix(2)
    theirs, errors = ranks.run(folder, len(own))
    ranks.end()
    if errors or theirs is None:
        sys.exit(f"the appendix's way fails: {errors}")
    apart = theirs.pop()
    first, later = train.difference(theirs[:1], own[:1]), train.difference(theirs, own)
    print(f"the program's losses are Tessera's to {of_program:.1e} over {len(own)} steps")
    print(f"the appendix's: {first:.1e} in the first step, {later:.1e} at most; its copies of fc1 and fc2 are {apart:.1e} apart")
    wrong = [
        text
        for text, holds in {
            "rank 1 holds the convolutions alone": on_both == {"conv1/weight", "conv1/bias", "conv2/weight", "conv2/bias"},
            "rank 0 holds everything": on_first == set(program.parameters),
            "the program trains to Tessera's losses": of_program <= 1e-4,
            "the appendix begins with the same loss": first <= 1e-5,
            "the appendix's losses become others": later > 1e-3,
            "the appendix's copies drift apart": apart > 1e-4,
        }.items()
        if not holds
    ]
    if wrong:
        sys.exit("not so: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
