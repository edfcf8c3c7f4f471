# SPDX-License-Identifier: Apache-2.0
"""Trains exported programs on gloo or NCCL ranks of this machine and compares their losses with Tessera's.

Usage: train.py FOLDER [--steps 20] [--only TEXT] [--damage N] [--backend nccl] [--every N] [--verbose]

FOLDER is what tests/torch/cases.cpp writes. Losses must be within 1e-6 of Tessera's, relative, over three steps, and within
1e-4 over 20: most are within 2e-7, but where Adam or a batch norm of few numbers lets rounding grow, two builds of Tessera
are as far apart. --damage N: of every N-th case each exchange that moves anything between ranks, and each bucket of gradients, is
left out once, on all ranks; what is then trained must differ, or fail (but where operators are replicated, which are left
alone: what only a copy needs whose result nobody reads changes nothing). Messages of pipelines must be asked for in the
order in which they are sent, which NCCL needs and gloo does not. --backend nccl: ranks have the GPUs in turn, and NCCL
takes each for a node of its own, so that it connects ranks on one GPU too. Without torch it says so and is skipped;
TESSERA_TORCH_PYTHON names a python that has it.
"""

import argparse
import datetime
import gc
import importlib.util
import multiprocessing
import os
import pathlib
import queue
import socket
import sys
import time
import traceback

wanted = os.environ.get("TESSERA_TORCH_PYTHON")
if wanted and "TESSERA_TORCH_CHOSEN" not in os.environ:
    os.execve(wanted, [wanted, *sys.argv], {**os.environ, "TESSERA_TORCH_CHOSEN": "1"})
try:
    import torch
    import torch.distributed as dist
except ImportError as e:
    print(f"skipped: {e}; TESSERA_TORCH_PYTHON may name a python that has torch")
    sys.exit(77)

WITHIN = {"gloo": (1e-6, 1e-4), "nccl": (1e-5, 1e-4)}  # of Tessera's losses, relative: over 3 steps, and over all
ROUNDED = (2e-3, 1e-2, 1e-1)  # the same of programs in bf16, where a rounding may fall the other way, and of gradients
OF_GRADIENT = 1e-4  # of the norm of its parameter's, or of a thousandth of the largest
SHUFFLE = 3  # what cases.cpp draws the order of samples by


def load(folder):
    """The program of a folder, with the runtime file that lies beside it."""
    sys.path.insert(0, str(folder))
    try:
        for name in ("tessera_runtime",):
            sys.modules.pop(name, None)
        spec = importlib.util.spec_from_file_location("program", folder / "program.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.PROGRAM, module.rt
    finally:
        sys.path.pop(0)


def without_exchange(rt, name, back):
    """A rank that leaves out what an exchange moves between ranks, in one direction: each keeps its own boxes."""

    class Damaged(rt.Rank):
        def move(self, which, tensors, like, back=False):
            if which != name or back != direction:
                return super().move(which, tensors, like, back)
            transport = self.transports[which, back]
            silent = {s: torch.zeros_like(b) for s, b in transport.buffers(like)}
            return transport.assemble([t.detach() for t in tensors], silent, like, self.program.exchanges[which].largest and not back)

        def _post(self, which, tensors, back):
            if which != name or back != direction:
                return super()._post(which, tensors, back)
            self.mail[which, self.micro_batch, back] = [t.detach() for t in tensors]

        def _collect(self, which, back):
            if which != name or back != direction:
                return super()._collect(which, back)
            transport = self.transports[which, back]
            here = self.mail.pop((which, self.micro_batch, back), [])
            like = here[0][:0] if here else torch.empty(0)
            silent = {s: torch.zeros_like(b) for s, b in transport.buffers(like)}
            return transport.assemble(here, silent, like, False)

    direction = back
    return Damaged


def without_bucket(rt, number):
    """A rank that does not sum the gradients of a bucket."""

    class Damaged(rt.Rank):
        def _sum_gradients(self):
            whole = self.program.buckets
            self.program.buckets = whole[:number] + whole[number + 1 :]
            try:
                super()._sum_gradients()
            finally:
                self.program.buckets = whole

        def _send_from_servers(self):
            whole = self.program.buckets
            self.program.buckets = whole[:number] + whole[number + 1 :]
            try:
                super()._send_from_servers()
            finally:
                self.program.buckets = whole

    return Damaged


def listening(rt, kind):
    """A rank that remembers which messages it has sent and asked for, and the first step's gradients."""

    class Listening(kind):
        def __init__(self, *given):
            super().__init__(*given)
            self.sent, self.asked, self.first = {}, {}, {}

        def _clip(self):
            if self.steps == 0:
                served = {p: b.server for b in self.program.buckets if b.how == "server" for p, _, _ in b.parts()}
                apart = {p for b in self.program.buckets if b.how == "server" for p, _, n in b.parts() if n > 1}
                for name, pieces in self.pieces.items():
                    ranks = sorted({r for r, _ in self.program.parameters[name].homes})
                    if name in apart:
                        continue  # slices have servers of their own
                    if name in served and ranks[served[name] % len(ranks)] != self.rank:
                        continue  # only the server has the sum
                    self.first[name] = [
                        (self.program.parameters[name].homes[i][1], self.sliced[id(t)].begin if id(t) in self.sliced else 0,
                         self._gradient(self._stored(t)).cpu().clone().reshape(-1))
                        for i, t in pieces if t.requires_grad
                    ]  # fmt: skip
            super()._clip()

        def gradient_difference(self, path):
            """The largest of a parameter's gradient from Tessera's."""
            whole = rt.read_safetensors(path)
            largest = max(g.norm().item() for g in whole.values())
            worst = 0.0
            for name, pieces in self.first.items():
                for region, begin, g in pieces:
                    expected = whole[name][rt.within(region, [(0, e) for e in whole[name].shape])].reshape(-1)
                    expected = expected[begin : begin + g.numel()]
                    off = (g - expected).norm().item() / max(whole[name].norm().item(), 1e-3 * largest)
                    worst = max(worst, off if off == off else float("inf"))
            return worst

        def _post(self, which, tensors, back):
            for to in self.transports[which, back].sends:
                self.sent.setdefault((self.rank, to, back), []).append((which, self.micro_batch))
            super()._post(which, tensors, back)

        def _collect(self, which, back):
            for source in self.transports[which, back].receives:
                self.asked.setdefault((source, self.rank, back), []).append((which, self.micro_batch))
            return super()._collect(which, back)

        def require_order(self):
            heard = [None] * self.program.ranks
            dist.all_gather_object(heard, (self.sent, self.asked))
            sent = {way: messages for s, _ in heard for way, messages in s.items()}
            asked = {way: messages for _, a in heard for way, messages in a.items()}
            if sent != asked:
                raise RuntimeError("messages are asked for in another order than that in which they are sent")

    return Listening


def damages(program, gradients):
    """Everything that moves between ranks, one by one. Not buckets of gradients that are nothing but rounding, as that of
    the bias of keys, which a softmax does not feel."""
    found = []
    least = 1e-6 * max(g.norm().item() for g in gradients.values())
    for name, x in program.exchanges.items():
        between = any(x.sources[a][0] != x.targets[b][0] for a, b, _ in x.moves) if x.sources else False
        if between:
            found.append(("exchange", name, False))
            if x.differentiable:
                found.append(("exchange", name, True))
    for number, bucket in enumerate(program.buckets):
        if any(shared(program.parameters[p].homes) and gradients[p].norm().item() > least for p, _, _ in bucket.parts()):
            found.append(("bucket", number, False))
    return found


def shared(homes):
    """True where two ranks hold some of the same elements."""
    return any(
        a != b and all(x[0] < y[1] and y[0] < x[1] for x, y in zip(mine, other)) for a, mine in homes for b, other in homes
    )


def train(rank, ranks, port, folder, steps, damage, backend, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    device = "cpu"
    if backend == "nccl":
        os.environ.update(NCCL_HOSTID=f"{os.getpid()}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
        device = f"cuda:{rank % torch.cuda.device_count()}"
        torch.cuda.set_device(device)
    dist.init_process_group(backend, rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=170))
    trainer = feed = None
    try:
        program, rt = load(folder)
        kind = rt.Rank
        if damage is not None:
            kind = without_exchange(rt, *damage[1:]) if damage[0] == "exchange" else without_bucket(rt, damage[1])
        trainer = listening(rt, kind)(program, None, device)
        feed = rt.batches(program, rt.read_data(program, folder / "samples.safetensors"), SHUFFLE)
        losses = [trainer.step(next(feed)) for _ in range(steps)]
        if damage is None and backend == "gloo":
            trainer.require_order()
        results.put(("gradient", trainer.gradient_difference(folder / "gradients.safetensors")))
        if rank == 0:
            results.put(("losses", losses))
    except Exception as e:  # noqa: BLE001  (told to the parent, whatever it is)
        where = traceback.extract_tb(e.__traceback__)[-1]
        results.put(("error", f"rank {rank}: {where.name}, line {where.lineno}: {type(e).__name__}: {e}"))
    finally:
        dist.destroy_process_group()
        trainer = feed = None  # whose groups have threads
        gc.collect()


def worker(rank, ranks, tasks, results):
    for task in iter(tasks.get, None):
        train(rank, ranks, *task, results)
        results.put(("done", rank))


class Ranks:
    """Processes that train one program after the other."""

    patience = 180
    gives_up = False  # at the first error, whatever the other ranks do
    work = staticmethod(worker)

    def __init__(self, count, backend="gloo"):
        self.count, self.served = count, 0
        # A fork has torch already, which takes seconds to import; it may have neither threads nor a GPU at that time.
        self.context = multiprocessing.get_context("fork" if backend == "gloo" else "spawn")
        torch.set_num_threads(1)
        if backend == "gloo":
            importlib.import_module("torch._dynamo")  # which the first optimizer imports, for seconds
        self.start()

    def start(self):
        context = self.context
        self.results = context.Queue()
        self.tasks = [context.Queue() for _ in range(self.count)]
        self.processes = [
            context.Process(target=self.work, args=(r, self.count, self.tasks[r], self.results), daemon=True)
            for r in range(self.count)
        ]
        for p in self.processes:
            p.start()

    @staticmethod
    def free_port():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def run(self, folder, steps, damage=None, backend="gloo"):
        return self.ask((self.free_port(), folder, steps, damage, backend))

    def ask(self, task):
        """The losses of rank 0, or none, and what went wrong. Processes serve a few programs only: torch keeps threads of groups that are gone."""
        self.served += 1
        if self.served % 40 == 0:
            self.end()
            self.start()
        for tasks in self.tasks:
            tasks.put(task)
        losses, errors, done = None, [], 0
        self.gradient = 0.0  # the largest difference of all ranks
        while done < self.count:
            try:
                what, value = self.results.get(timeout=self.patience)
            except queue.Empty:
                return None, [*errors, f"{self.count - done} of {self.count} ranks did not end in {self.patience} s"]
            done += what == "done"
            losses = value if what == "losses" else losses
            self.gradient = max(self.gradient, value) if what == "gradient" else self.gradient
            errors += [value] if what == "error" else []
            if errors and self.gives_up:
                return None, errors
        return losses, errors

    def end(self):
        for tasks in self.tasks:
            tasks.put(None)
        for p in self.processes:
            p.join(0 if self.gives_up else 10)
            p.kill()


def difference(losses, own):
    return max((abs(a - b) / max(abs(b), 1e-9) for a, b in zip(losses, own)), default=0.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--damage", type=int, default=0)
    parser.add_argument("--backend", default="gloo", choices=["gloo", "nccl"])
    parser.add_argument("--every", type=int, default=1, help="only every so many programs")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    folders = sorted(p.parent for p in given.folder.glob("*/program.py") if given.only in p.parent.name)[:: given.every]
    ranks = {}
    wrong, right, removed, unnoticed = [], 0, 0, []
    worst = [0.0, 0.0, 0.0]
    began = time.time()
    for number, folder in enumerate(folders):
        program, rt = load(folder)
        own = [float(x) for x in (folder / "losses.txt").read_text().split()][: given.steps]
        count = program.ranks
        if count not in ranks:
            ranks[count] = Ranks(count, given.backend)
        losses, errors = ranks[count].run(folder, len(own), None, given.backend)
        first, all_ = (difference(losses[:3], own[:3]), difference(losses, own)) if losses else (float("inf"),) * 2
        if errors and "did not end" in errors[-1]:
            ranks.pop(count).end()
        off = ranks[count].gradient if count in ranks else 0.0
        within = close = WITHIN[given.backend]
        of_gradient, whole = OF_GRADIENT, losses
        if "rt.bf16(" in (folder / "program.py").read_text():
            within, of_gradient = ROUNDED[:2], ROUNDED[2]
        said = f"{first:.1e} over 3 steps, {all_:.1e} over {len(own)}, gradients {off:.1e}"
        if errors or losses is None or first > within[0] or all_ > within[1] or off > of_gradient:
            wrong.append(folder.name)
            print(f"{folder.name}: {errors or ''} differs by {said}", flush=True)
            continue
        if of_gradient == OF_GRADIENT:
            worst = [max(worst[0], first), max(worst[1], all_), max(worst[2], off)]
        right += 1
        if given.verbose:
            print(f"{folder.name}: {said}", flush=True)
        copies = "replicated" in folder.name or "random" in folder.name  # of copies that nobody reads nothing is missed
        if given.damage and number % given.damage == 0 and not copies:
            for damage in damages(program, rt.read_safetensors(folder / "gradients.safetensors")):
                removed += 1
                losses, errors = ranks[count].run(folder, min(len(own), 6), damage, given.backend)
                # In bf16 what is left out may be less than a rounding is; the program itself rounds the same each time.
                expected, apart = (own, 0.0) if of_gradient == OF_GRADIENT else (whole, off)
                near = losses and difference(losses[:3], expected[:3]) <= close[0] and difference(losses, expected) <= close[1]
                if not errors and near and abs(ranks[count].gradient - apart) <= OF_GRADIENT:
                    unnoticed.append(f"{folder.name} without {damage}")
                    print(f"{folder.name}: nobody notices that {damage} is left out", flush=True)
    for r in ranks.values():
        r.end()
    print(
        f"{right} of {len(folders)} programs train to Tessera's losses: within {worst[0]:.1e} over 3 steps and "
        f"{worst[1]:.1e} over {given.steps}, gradients within {worst[2]:.1e}; {removed} times something was left out, {len(unnoticed)} times unnoticed; "
        f"{given.backend}, torch {torch.__version__}, {time.time() - began:.0f} s"
    )
    if not folders or wrong or unnoticed:
        sys.exit(1)


if __name__ == "__main__":
    main()
