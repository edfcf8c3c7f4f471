# SPDX-License-Identifier: Apache-2.0
"""Operators that are not understood, as opaque ones: what they read, make and cost is known, and they are never split."""

from __future__ import annotations

import math

import torch
from torch.utils.flop_counter import flop_registry

from .network import CannotSay
from .tensors import Tensor, padded, tensors_in
from .views import View


def meta(value):
    """Arguments of a node as the tensors without numbers that torch.export made of them."""
    if isinstance(value, torch.fx.Node):
        return value.meta["val"]
    if isinstance(value, (list, tuple)):
        return type(value)(meta(v) for v in value)
    return value


def operations(node, results) -> int:
    """Floating-point operations of one call: as torch counts them, or one for every number that is read or made."""
    count = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if count is not None:
        arguments = {k: meta(v) for k, v in node.kwargs.items()}
        try:
            return int(count(*meta(node.args), **arguments, out_val=node.meta["val"]))
        except Exception:  # of a call that its counter does not know
            pass
    read = sum(n.meta["val"].numel() for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor))
    return max(read, sum(r.numel() for r in results))


def kept_opaque(c, node, args, kwargs):
    """The node's results as those of opaque operators, one for each tensor. Raises CannotSay where they cannot be."""
    value = node.meta["val"]
    results = list(value) if isinstance(value, (list, tuple)) else [value]
    if not results or any(not isinstance(r, torch.Tensor) for r in results):
        raise CannotSay("it makes no tensors, and cannot be kept")
    reads: list[View] = []
    states: list[str] = []
    for x in tensors_in([args, kwargs]):
        if x.state is not None and x.state not in states and x.state in c.trained:
            states.append(x.state)
        if x.view is not None:
            view = c.writer.whole(x.view, node.name)
            if view.name not in [r.name for r in reads]:
                reads.append(view)
    if not 1 <= len(reads) <= 8:
        raise CannotSay(f"it reads {len(reads)} tensors of the network, and an operator reads 1 to 8; it cannot be kept")
    if any(s in c.layers for s in states):
        raise CannotSay("it has parameters that another operator has, and cannot be kept")
    batch = c.writer.batch
    for r in results:
        if r.dim() < 1 or r.dim() > 5 or r.shape[0] != batch:
            raise CannotSay(f"its result {list(r.shape)} has no samples first, or more than 5 dimensions; it cannot be kept")
    flops = -(-operations(node, results) // batch)
    outs = []
    for i, r in enumerate(results):
        own = states if i == 0 else []
        integers = sum(1 << k for k, x in enumerate(reads) if x.name in c.integers)
        attributes = {
            "extent": padded(r.shape[1:], 4),
            "rank": r.dim() - 1,
            "flops": flops if i == 0 else 0,
            "parameters": sum(math.prod(c.shape_of_state(s)) for s in own),
            "integers": integers,
        }
        out = c.writer.add(node.name, "opaque", reads, tuple(r.shape), attributes=attributes)
        for s in own:
            c.layers[s] = (out.name, False)
        if own:
            path = f"{out.name}/weight"
            c.writer.parameters[path] = own[0]
            c.writer.made[path] = lambda values, own=own: torch.cat([values[s].flatten() for s in own])
        outs.append(Tensor(out))
    return outs if isinstance(value, (list, tuple)) else outs[0]
