# SPDX-License-Identifier: Apache-2.0
"""What a module computes of constants alone, such as positions and masks: computed once, while it is converted."""

from __future__ import annotations

import torch

from .tensors import Tensor, tensors_in

def reads_shapes_alone(node) -> bool:
    return getattr(getattr(node.target, "overloadpacket", None), "__name__", "") in LIKE


LIKE = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")


def numbers_in(value):
    if isinstance(value, Tensor):
        return value.constant
    if isinstance(value, (list, tuple)):
        return [numbers_in(v) for v in value]
    return value


def folded(node, args, kwargs) -> Tensor | None:
    """The constant that a node is; None where it depends on the batch, on parameters or on chance.

    Nodes are called in the program's order on the constants themselves, so that what one writes in place the others
    see.
    """
    target, value = node.target, node.meta.get("val")
    if not isinstance(target, torch._ops.OpOverload) or not isinstance(value, torch.Tensor):
        return None
    name = target.overloadpacket.__name__
    if torch.Tag.nondeterministic_seeded in target.tags or name in ("empty", "empty_like", "new_empty"):
        return None
    if name in LIKE and (args[0] is None or args[0].constant is None):
        args = [Tensor(constant=torch.empty(tuple(node.args[0].meta["val"].shape)).to(node.args[0].meta["val"].dtype))]
        args += [numbers_in(a) for a in node.args[1:]]
    if any(x.constant is None for x in tensors_in([args, kwargs])):
        return None
    if "device" in kwargs:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    with torch.no_grad():
        result = target(*numbers_in(list(args)), **{k: numbers_in(v) for k, v in kwargs.items()})
    return Tensor(constant=result, shape=tuple(result.shape))
