#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of the comparison: full training steps on the CPU, at the best settings that this version has.

    /usr/bin/python3 torch_peer.py --network small --batch 64 --devices 1 --weights W.bin --data D.bin [--ddp]

The protocol and the file formats are described at the top of run.py. One device is one thread pinned to one core; two
devices are one process with two threads, or with --ddp two processes of one thread, each with half of the batch, whose
gradients DistributedDataParallel averages over gloo. This process is then rank 0; rank 1 is a child that blocks on its
standard input between commands.

"Best settings" are raced at set-up, one after the other, each keeping what was faster: channels-last or contiguous,
one-tensor, foreach or (where torch has it) fused SGD, eager or traced module (one process only), gradient buckets of
25 or 400 MB (DDP only), threads free or pinned (two devices only); traced only where a step takes less than 0.3 s.
Always on: oneDNN, OpenBLAS or MKL, gradients set to None, freed memory kept by malloc.
Times with Debian's reference BLAS (matrix products some 25 times slower) would mean nothing: refused. PyPI's torch has
MKL inside.
"""
import argparse
import ctypes
import gc
import inspect
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

LEARNING_RATE = 0.01
SLOW_STEP_MS = 300
PER_CALL_SETTINGS = ("traced",)  # save microseconds a call: not worth racing where a step is slow


def parse_arguments():
    parser = argparse.ArgumentParser(description="PyTorch's side of the comparison; see run.py for the protocol")
    parser.add_argument("--network", required=True, choices=["small", "lenet5", "alexnet", "mlp", "resnet50"])
    parser.add_argument("--batch", required=True, type=int)
    parser.add_argument("--devices", required=True, type=int, choices=[1, 2])
    parser.add_argument("--weights", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ddp", action="store_true", help="two processes over gloo instead of two threads")
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--rendezvous", help=argparse.SUPPRESS)
    return parser.parse_args()


def answer(message):
    print(json.dumps(message), flush=True)


def fail(text):
    answer({"error": text})
    print(text, file=sys.stderr)
    sys.exit(1)


def restart_with_environment(threads):
    """malloc and OpenMP read their settings when a process starts, so this one starts again where they are missing."""
    wanted = {
        "MALLOC_MMAP_THRESHOLD_": "4294967296",  # large tensors from the heap ...
        "MALLOC_TRIM_THRESHOLD_": "17179869184",  # ... that never shrinks: no page faults in a step
        "OMP_NUM_THREADS": str(threads),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def import_torch():
    try:
        import torch
    except ImportError as error:
        fail(f"torch_peer: cannot import torch ({error}); install it: apt-get install python3-torch libopenblas0-openmp")
    return torch


def require_blas(torch):
    """Refuses other BLAS libraries than OpenBLAS and the MKL that PyPI's torch is linked with. Several may be mapped
    (LAPACK brings its own): the one that has sgemm_ for torch counts."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        mappings = [line.split() for line in maps]
    if "Math Kernel Library" in torch.__config__.show() and torch.backends.mkl.is_available():
        return "MKL"
    torch_library = next((fields[-1] for fields in mappings if "/libtorch_cpu.so" in fields[-1]), None)
    try:
        library = ctypes.CDLL(torch_library)  # loaded already; its symbols are searched in its own link order
        address = ctypes.cast(library.sgemm_, ctypes.c_void_p).value
    except AttributeError:
        fail("torch_peer: torch brings no sgemm_; this comparison knows Debian's python3-torch only")
    owner = "unknown"
    for fields in mappings:
        begin, end = (int(bound, 16) for bound in fields[0].split("-"))
        if begin <= address < end:
            owner = fields[-1]
    if "openblas" not in owner or "openmp" not in owner:
        fail(
            f"torch_peer: torch's BLAS is {owner}, not OpenBLAS with OpenMP, so its times would mean nothing; "
            "apt-get install libopenblas0-openmp, then look at "
            "'update-alternatives --query libblas.so.3-x86_64-linux-gnu'"
        )
    return owner


def build_network(nn, name):
    """The modules and the shape of one sample."""
    if name == "small":
        layers = [nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU()]
        layers += [nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10)]
        return nn.Sequential(*layers), (1, 28, 28)
    if name == "lenet5":
        layers = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
        return nn.Sequential(*layers), (1, 28, 28)
    if name == "alexnet":
        layers = [nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2)]
        layers += [nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2)]
        layers += [nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten()]
        layers += [nn.Linear(9216, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
        return nn.Sequential(*layers), (3, 224, 224)
    if name == "resnet50":
        return resnet50(nn), (3, 224, 224)
    layers = [nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10)]
    return nn.Sequential(*layers), (784,)


def resnet50(nn):
    """torchvision's, but that a block's shortcut comes after its convolutions in the order of the parameters."""

    def normalized(inputs, outputs, window, stride=1):
        return [nn.Conv2d(inputs, outputs, window, stride=stride, padding=window // 2, bias=False), nn.BatchNorm2d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            layers = normalized(inputs, width, 1) + [nn.ReLU()] + normalized(width, width, 3, stride) + [nn.ReLU()]
            self.narrow = nn.Sequential(*layers, *normalized(width, 4 * width, 1))
            same = stride == 1 and inputs == 4 * width
            self.shortcut = nn.Identity() if same else nn.Sequential(*normalized(inputs, 4 * width, 1, stride))
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(self.narrow(x) + self.shortcut(x))

    layers, inputs = normalized(3, 64, 7, 2) + [nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Block(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Trainer:
    """The variants of one network that have been built, and the one in use."""

    def __init__(self, torch, options, world):
        import numpy

        self.torch, self.options, self.world = torch, options, world
        self.cores = sorted(os.sched_getaffinity(0))
        self.variants = {}
        model, sample = build_network(torch.nn, options.network)
        flat = numpy.fromfile(options.weights, dtype="<f4")
        counts = [parameter.numel() for parameter in model.parameters()]
        if flat.size != sum(counts):
            fail(f"torch_peer: {options.weights} holds {flat.size} values, {options.network} has {sum(counts)} weights")
        pieces = torch.from_numpy(flat).split(counts)
        self.weights = [piece.view(parameter.shape) for piece, parameter in zip(pieces, model.parameters())]
        values = options.batch
        for extent in sample:
            values *= extent
        wanted = 4 * (values + options.batch)
        raw = numpy.fromfile(options.data, dtype="<u1")
        if raw.size != wanted:
            fail(f"torch_peer: {options.data} has {raw.size} bytes, batch {options.batch} of {sample} with labels has {wanted}")
        inputs = torch.from_numpy(raw[: 4 * values].view("<f4").reshape(options.batch, *sample).copy())
        labels = torch.from_numpy(raw[4 * values :].view("<i4").astype("int64"))
        share = options.batch // world
        mine = slice(options.rank * share, (options.rank + 1) * share)
        self.inputs, self.labels = inputs[mine].clone(), labels[mine].clone()

    def use(self, settings):
        """Builds what is not there yet and switches to it."""
        key = json.dumps({name: value for name, value in settings.items() if name != "affinity"}, sort_keys=True)
        if key not in self.variants:
            self.variants[key] = self.build(settings)
        self.model, self.forward, self.optimizer, self.x = self.variants[key]
        if "affinity" in settings:
            self.set_affinity(settings["affinity"])

    def build(self, settings):
        torch = self.torch
        model, _ = build_network(torch.nn, self.options.network)
        x = self.inputs
        if settings.get("memory_format") == "channels_last":
            model = model.to(memory_format=torch.channels_last)
            x = x.to(memory_format=torch.channels_last)
        forward = model
        if settings.get("traced"):
            forward = torch.jit.trace(model, x, check_trace=False)
        if self.world > 1:
            parallel = torch.nn.parallel.DistributedDataParallel
            # Without broadcast_buffers: running statistics are each process's own.
            forward = parallel(model, bucket_cap_mb=settings["bucket_mb"], gradient_as_bucket_view=True, broadcast_buffers=False)
        how = {"foreach": settings["sgd"] == "foreach"} if settings["sgd"] != "fused" else {"fused": True}
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, **how)
        return model, forward, optimizer, x

    def set_affinity(self, affinity):
        """Pinned: the thread that computes has one core, OpenMP's second worker another; gloo's threads stay free."""
        free = affinity == "free"
        for thread in map(int, os.listdir("/proc/self/task")):
            if free or (self.world > 1 and thread != os.getpid()):
                cores = self.cores
            elif self.world > 1:
                cores = [self.cores[self.options.rank]]
            else:
                cores = [self.cores[0 if thread == os.getpid() else 1]]
            try:
                os.sched_setaffinity(thread, cores)
            except ProcessLookupError:
                pass  # the thread ended meanwhile

    def keep_only_current(self):
        self.variants = {key: variant for key, variant in self.variants.items() if variant[0] is self.model}
        gc.collect()

    def reset(self):
        with self.torch.no_grad():
            for parameter, weight in zip(self.model.parameters(), self.weights):
                parameter.copy_(weight)

    def steps(self, count):
        loss_of = self.torch.nn.functional.cross_entropy
        forward, optimizer, x, y, clock = self.forward, self.optimizer, self.x, self.labels, time.perf_counter
        times, losses = [], []
        for _ in range(count):
            begin = clock()
            loss = loss_of(forward(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            times.append((clock() - begin) * 1e3)
            losses.append(loss.detach())
        return {"ms": [round(value, 5) for value in times], "loss": [float(loss) for loss in losses]}


class Rank1:
    """The second process of --ddp, as rank 0 sees it: the same commands, the same answers."""

    def __init__(self, rendezvous):
        command = [sys.executable, *sys.argv, "--rank", "1", "--rendezvous", rendezvous]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        reply = json.loads(line) if line else {"error": "torch_peer: rank 1 ended"}
        if "error" in reply:
            fail(reply["error"])
        return reply


class Session:
    """Executes commands on this process and, with --ddp, on rank 1 at the same time."""

    def __init__(self, trainer, other):
        self.trainer, self.other = trainer, other

    def execute(self, line):
        if self.other:
            self.other.send(line)
        name, _, argument = line.partition(" ")
        reply = {}
        if name == "steps" and argument.isdigit() and int(argument) > 0:
            reply = self.trainer.steps(int(argument))
        elif name == "reset" and not argument:
            self.trainer.reset()
            reply = {"reset": True}
        elif name == "use":
            self.trainer.use(json.loads(argument))
        elif name == "keep":
            self.trainer.keep_only_current()
        else:
            fail(f"torch_peer: unknown command '{line}'; known: steps K, reset, quit")
        if self.other:
            theirs = self.other.receive()
            if name == "steps":  # equal halves: the loss of the batch is the mean of the two
                reply["loss"] = [(a + b) / 2 for a, b in zip(reply["loss"], theirs["loss"])]
        return reply

    def race(self, dimensions):
        """Best settings by measuring: one dimension after the other, its values in turns, the fastest turn counts."""
        best = {name: values[0] for name, values in dimensions.items()}
        self.execute("use " + json.dumps(best))
        slow = self.execute("steps 2")["ms"][-1] > SLOW_STEP_MS
        for name, values in dimensions.items():
            if slow and name in PER_CALL_SETTINGS:
                continue
            fastest = {}
            for turn in range(3 if slow else 5):
                for value in values:
                    self.execute("use " + json.dumps({**best, name: value}))
                    times = self.execute("steps 2")["ms"]
                    if turn > 0:  # the first turn warms up: traces, buckets and caches
                        if not slow:
                            times = self.execute(f"steps {max(3, min(40, int(150 / times[-1])))}")["ms"]
                        fastest[value] = min(fastest.get(value, math.inf), statistics.median_low(times))
            best[name] = min(fastest, key=fastest.get)
        self.execute("use " + json.dumps(best))
        self.execute("keep")
        self.execute("reset")
        return best


def settings_to_race(options, has_fused_sgd):
    dimensions = {}
    if options.network != "mlp":
        dimensions["memory_format"] = ["channels_last", "contiguous"]
    dimensions["sgd"] = ["one tensor", "foreach"] + (["fused"] if has_fused_sgd else [])
    if options.ddp:
        dimensions["bucket_mb"] = [25, 400]
    else:
        dimensions["traced"] = [False, True]
    if options.devices == 2:
        dimensions["affinity"] = ["free", "pinned"]
    return dimensions


def main():
    options = parse_arguments()
    if options.ddp and (options.devices != 2 or options.batch % 2):
        fail("torch_peer: --ddp takes --devices 2 and an even batch")
    threads = 1 if options.ddp else options.devices
    restart_with_environment(threads)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < options.devices:
        fail(f"torch_peer: {options.devices} devices need as many cores, this process may use {len(cores)}")
    if options.devices == 1:
        os.sched_setaffinity(0, cores[:1])  # before torch starts any thread
    other = None
    with tempfile.TemporaryDirectory(prefix="torch_peer_") as folder:
        rendezvous = options.rendezvous or os.path.join(folder, "rendezvous")
        if options.ddp and options.rank == 0:
            other = Rank1(rendezvous)
        torch = import_torch()
        blas = require_blas(torch)
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        world = 2 if options.ddp else 1
        if options.ddp:
            torch.distributed.init_process_group("gloo", f"file://{rendezvous}", rank=options.rank, world_size=world)
        session = Session(Trainer(torch, options, world), other)
        ready = {"ready": True, "side": "torch", "version": torch.__version__, "blas": blas}
        if options.rank == 0:
            if other:
                other.receive()
            ready["settings"] = session.race(settings_to_race(options, "fused" in inspect.signature(torch.optim.SGD).parameters))
        gc.collect()
        gc.freeze()
        answer(ready)
        for line in sys.stdin:
            if line.strip() == "quit":
                break
            answer(session.execute(line.strip()))
        if other:
            other.process.stdin.close()
            other.process.wait()


if __name__ == "__main__":
    main()
