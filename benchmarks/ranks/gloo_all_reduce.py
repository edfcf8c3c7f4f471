#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of 16 MiB of floats by gloo of PyTorch between two processes of a core each: the median of 50, in milliseconds. To be set beside rank_exchange."""
import os
import statistics
import time

import torch
import torch.distributed as distributed
import torch.multiprocessing as processes

ELEMENTS = 1 << 22


def reduce(rank):
    os.sched_setaffinity(0, {rank})
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29555"))
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    numbers, times = torch.zeros(ELEMENTS), []
    for _ in range(60):
        distributed.barrier()
        begin = time.perf_counter()
        distributed.all_reduce(numbers)
        times.append(1e3 * (time.perf_counter() - begin))
    if rank == 0:
        print(f"PyTorch {torch.__version__} gloo all_reduce of {ELEMENTS} floats, two processes: {statistics.median(times[10:]):.3f} ms")
    distributed.destroy_process_group()


if __name__ == "__main__":
    processes.spawn(reduce, nprocs=2)
