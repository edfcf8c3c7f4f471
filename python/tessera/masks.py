# SPDX-License-Identifier: Apache-2.0
"""Masks that are the same for every batch: those that hide nothing, and those that hide later positions."""

from __future__ import annotations

import dataclasses

import torch

from .network import CannotSay
from .tensors import Tensor, data, handles

HIDDEN = -1e4  # of scores; exp() of it is 0 in fp32


def keeps(mask: torch.Tensor) -> torch.Tensor | None:
    """Where a mask that is added, or one of truths, keeps what it masks; None where it does something else."""
    if mask.dtype == torch.bool:
        return mask
    if not mask.is_floating_point():
        return None
    kept = mask == 0
    return kept if bool((kept | (mask <= HIDDEN)).all()) else None


def masked_by(x: Tensor, mask: torch.Tensor) -> Tensor | None:
    """x, which may be scores [..,T,S], masked. None where the mask is no such one."""
    kept = keeps(mask)
    if kept is None:
        return None
    if bool(kept.all()):
        return x
    shape = x.view.shape
    if kept.dim() < 2 or len(shape) < 3 or kept.shape[-2:] != shape[-2:] or shape[-1] != shape[-2]:
        return None
    lower = torch.ones(shape[-2:], dtype=torch.bool).tril()
    return dataclasses.replace(x, causal=True) if bool((kept == lower).all()) else None


@handles("where.self", "where.ScalarOther")
def where(c, node, args, kwargs):
    condition, x, other = args
    from .arithmetic import number_of  # which needs what is here

    number = number_of(other)
    if isinstance(condition, Tensor) and condition.constant is not None and number is not None and number <= HIDDEN:
        data(x)
        masked = masked_by(x, condition.constant)
        if masked is not None:
            return masked
    raise CannotSay("a choice that is no causal mask")


@handles("masked_fill.Scalar", "masked_fill.Tensor", "masked_fill_.Scalar")
def masked_fill(c, node, args, kwargs):
    hidden = args[1]
    if isinstance(hidden, Tensor) and hidden.constant is not None:
        return where(c, node, [Tensor(constant=~hidden.constant), args[0], args[2]], kwargs)
    raise CannotSay("a mask that is not the same for every batch")
