# SPDX-License-Identifier: Apache-2.0
"""What --check of a program says: nothing of the program as it was written, and what differs of one that was damaged.

Usage: check.py FOLDER [part of names]. FOLDER is what tests/torch/cases.cpp writes. Of some programs the first steps are
repeated as they are, with any bucket of gradients left out, summed twice, or without one of its slices, with any exchange
left out, with another learning rate, and with other weights. Without torch it says so and is skipped.
"""

import collections
import copy
import datetime
import gc
import os
import pathlib
import shutil
import sys
import tempfile
import traceback

import train  # which looks for a python that has torch

import torch
import torch.distributed as dist


def damaged(program, rt, damage):
    """A copy of a program, the kind of rank that runs it."""
    program, kind = copy.copy(program), rt.Rank
    if damage is None:
        return program, kind
    what, which = damage
    if what == "without bucket":
        program.buckets = program.buckets[:which] + program.buckets[which + 1 :]
    elif what == "silent bucket":  # the table has it, and nobody sums
        kind = train.without_bucket(rt, which)
    elif what == "bucket twice":
        program.buckets = [*program.buckets, program.buckets[which]]
    elif what in ("exchange", "exchange back"):
        kind = train.without_exchange(rt, which, what == "exchange back")
    elif what == "rate":
        program.optimizer = {**program.optimizer, "lr": program.optimizer["lr"] * 1.5}
    elif what == "weights":
        program.folder = which
    return program, kind


def repeat(rank, ranks, port, folder, _, damage, backend, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group(backend, rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=120))
    try:
        program, rt = train.load(folder)
        program, rt.Rank = damaged(program, rt, damage)
        said = rt.check(program, "cpu")
        if rank == 0:
            results.put(("losses", said))
    except ValueError as e:  # refused before the first step
        results.put(("losses", [f"refused: {e}"]))
    except Exception as e:  # noqa: BLE001  (told to the parent, whatever it is)
        results.put(("error", f"rank {rank}: {traceback.format_exc(limit=-1)}: {e}"))
    finally:
        dist.destroy_process_group()
        gc.collect()


def worker(rank, ranks, tasks, results):
    for task in iter(tasks.get, None):
        repeat(rank, ranks, *task, results)
        results.put(("done", rank))


class Checks(train.Ranks):
    work = staticmethod(worker)


def damages_of(program, folder, rt):
    found = [("rate", 0)]
    for number, bucket in enumerate(program.buckets):
        if any(train.shared(program.parameters[p].homes) for p, _, _ in bucket.parts()):
            found += [("without bucket", number), ("bucket twice", number)]
    gradients = rt.read_safetensors(folder / "gradients.safetensors")
    for what, which, back in train.damages(program, gradients):
        silent = what == "bucket" and not program.gathers  # with ZeRO 3 a rank without the sum has no gradient at all
        if what == "exchange" or silent:
            found.append(("silent bucket" if silent else "exchange back" if back else "exchange", which))
    return found


def other_weights(folder, rt):
    place = pathlib.Path(tempfile.mkdtemp())
    weights = rt.read_safetensors(folder / "weights.safetensors")
    first = next(iter(weights))
    weights[first] = weights[first] + 1e-3
    rt.write_safetensors(place / "weights.safetensors", weights)
    return place


def main():
    wanted = sys.argv[2:] or ["lenet5-data-2", "lenet5-p3-2", "lenet5-zero3-2", "lenet5-zero-bubble-2", "experts-expert-2",
                              "transformer-1f1b-4", "residual-height-2", "bf16-images-data-2"]  # fmt: skip
    folders = [p.parent for p in sorted(pathlib.Path(sys.argv[1]).glob("*/program.py")) if p.parent.name in wanted]
    of_each_kind = None
    if not folders:  # where only every so many programs are written
        every = [p.parent for p in sorted(pathlib.Path(sys.argv[1]).glob("*/program.py"))]
        folders, of_each_kind = every[:: max(1, len(every) // 2)], 4
    ranks, wrong, tried = {}, [], 0
    for folder in folders:
        program, rt = train.load(folder)
        if program.ranks not in ranks:
            ranks[program.ranks] = Checks(program.ranks)
        checks = ranks[program.ranks]
        said, errors = checks.run(folder, 0)
        if errors or said:
            wrong.append(f"{folder.name}: {errors or said}")
            continue
        place = other_weights(folder, rt)
        seen = collections.Counter()
        for damage in [("weights", str(place)), *damages_of(program, folder, rt)]:
            seen[damage[0]] += 1
            if of_each_kind and seen[damage[0]] > of_each_kind:
                continue
            tried += 1
            said, errors = checks.run(folder, 0, damage)
            if not said and not errors:
                wrong.append(f"{folder.name}: --check says nothing of {damage}")
            elif errors and "exchange" not in damage[0]:  # where one is left out, a rank may wait in vain
                wrong.append(f"{folder.name}: {damage}: {errors}")
            elif damage[0] in ("without bucket", "bucket twice") and "refused" not in str(said):
                wrong.append(f"{folder.name}: {damage} is not refused at the start: {errors or said}")
        shutil.rmtree(place)
    for r in ranks.values():
        r.end()
    print("\n".join(wrong) if wrong else f"{len(folders)} programs repeat their first steps, and {tried} damaged ones do not")
    if wrong or not folders:
        sys.exit(1)


if __name__ == "__main__":
    main()
