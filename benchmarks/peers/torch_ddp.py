# SPDX-License-Identifier: Apache-2.0
"""A plan of Tessera's, run by PyTorch, beside PyTorch's own DistributedDataParallel: step times, paired, on two gloo ranks.

Usage: torch_ddp.py PLANNED SINGLE [--rounds 15] [--seed 1]

PLANNED and SINGLE are folders that `plan --export torch` wrote of one network and batch: on two devices, and on one. DDP trains SINGLE's
lines on half of the batch in each rank. Both are in the same processes and take turns, step by step; the first two rounds are left out.
Printed are the median step times and the ratio of pairs, with the quartiles; and both losses, which must agree, but that a batch norm of DDP's
sees the samples of its rank alone, and one of the plan's all of them.
"""

import argparse
import multiprocessing
import os
import pathlib
import queue
import socket
import statistics
import sys
import time

import torch
import torch.distributed as dist

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/torch"))
from train import load  # noqa: E402


class Whole(torch.nn.Module):
    """A network's lines on one rank, as a module whose result is the loss of the samples that it is given."""

    def __init__(self, program, rt, rank, ranks):
        super().__init__()
        whole = rt.read_safetensors(pathlib.Path(program.folder) / "weights.safetensors")
        self.kept = torch.nn.ParameterList(
            [torch.nn.Parameter(whole[name], requires_grad=p.trained) for name, p in program.parameters.items()]
        )
        self.place = {name: i for i, name in enumerate(program.parameters)}
        self.program, self.rt, self.rank, self.ranks, self.steps = program, rt, rank, ranks, 0

    def parameter(self, name, number=0):
        return self.kept[self.place[name]]

    def take(self, name):
        return (self.batch[self.program.exchanges[name].input],)

    def loss(self, rows, factor):
        self.losses.append(rows.sum() * factor * self.ranks)  # DDP takes the mean over ranks

    def dropout(self, name, x, number=0):
        d = self.program.dropouts[name]
        half = d.shape[0] // self.ranks
        own = [(self.rank * half, (self.rank + 1) * half), *[(0, e) for e in d.shape[1:]]]
        return x * self.rt.dropout_factors(d, own, self.program.seed, self.steps)

    def batch_norm(self, x, sums, count, gamma, beta, epsilon, running=None, momentum=0.0):
        return torch.nn.functional.batch_norm(x, None, None, gamma, beta, training=True, eps=epsilon)

    def forward(self, batch):
        self.batch, self.losses = batch, []
        self.program.stages[0][0](self)
        return sum(self.losses)


def run(rank, ranks, port, given, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    planned_program, rt = load(given.planned)
    single, single_rt = load(given.single)
    single_rt.moments = lambda x, dims: None  # batch_norm takes its own
    planned = rt.Rank(planned_program)
    module = Whole(single, single_rt, rank, ranks)
    ddp = torch.nn.parallel.DistributedDataParallel(module)
    how = single.optimizer
    optimizer = torch.optim.SGD(ddp.parameters(), lr=how["lr"], momentum=how.get("momentum", 0))
    torch.manual_seed(given.seed)
    batch = {
        name: torch.randint(0, given.classes, shape) if kind == "i32" else torch.randn(shape)
        for name, (shape, kind) in single.inputs.items()
    }
    part = slice(rank * single.batch // ranks, (rank + 1) * single.batch // ranks)
    half = {name: x[part] for name, x in batch.items()}
    times, losses = ([], []), ([], [])

    def of_ddp():
        loss = ddp(half)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        module.steps += 1
        total = loss.detach() / ranks
        dist.all_reduce(total)
        return total.item()

    for turn in range(given.rounds + 2):
        for which, step in enumerate((lambda: planned.step(batch), of_ddp)):
            dist.barrier()
            began = time.perf_counter()
            losses[which].append(step())
            dist.barrier()
            if turn > 1:
                times[which].append(time.perf_counter() - began)
    if rank == 0:
        results.put((times, losses))
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("planned", type=pathlib.Path)
    parser.add_argument("single", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    ranks = [context.Process(target=run, args=(r, 2, port, given, results)) for r in range(2)]
    for p in ranks:
        p.start()
    while True:
        try:
            times, losses = results.get(timeout=1)
            break
        except queue.Empty:
            if any(p.exitcode for p in ranks):
                for p in ranks:
                    p.terminate()
                sys.exit(1)  # with the words of the rank that failed above
    for p in ranks:
        p.join()
    ratio = sorted(a / b for a, b in zip(*times))
    quarter = len(ratio) // 4
    print(
        f"{given.planned.name}: plan {statistics.median(times[0]) * 1e3:.1f} ms, DDP {statistics.median(times[1]) * 1e3:.1f} ms, "
        f"ratio {statistics.median(ratio):.3f} [{ratio[quarter]:.3f}, {ratio[-1 - quarter]:.3f}]; "
        f"losses after {given.rounds + 2} steps {losses[0][-1]:.6g} and {losses[1][-1]:.6g}; torch {torch.__version__}"
    )


if __name__ == "__main__":
    main()
