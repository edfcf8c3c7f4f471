# SPDX-License-Identifier: Apache-2.0
"""What the handlers of PyTorch's operators (ATen, as torch.export writes them) share."""

from __future__ import annotations

import dataclasses

import torch

from .network import CannotSay
from .views import View


@dataclasses.dataclass
class Tensor:
    """A value of the exported program: a view of a node of the network, a parameter or buffer of the module, or a
    constant."""

    view: View | None = None
    state: str | None = None
    shape: tuple[int, ...] = ()
    keep: float | None = None  # a mask that keeps whole samples with this probability, and scales them
    constant: torch.Tensor | None = None  # the same for every batch
    rows: torch.Tensor | None = None  # of a parameter: which of its rows, one for each position
    causal: bool = False  # scores of which those of later positions do not count

    def is_parameter_like(self) -> bool:
        return self.state is not None and not self.state.endswith("num_batches_tracked")


HANDLERS: dict = {}


def handles(*targets):
    def enter(handler):
        for t in targets:
            HANDLERS[f"aten.{t}"] = handler
        return handler

    return enter


def argument(args, kwargs, place, name, usual):
    return args[place] if len(args) > place else kwargs.get(name, usual)


def tensors_in(value):
    """All tensors of arguments, those of lists among them."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def data(value, what="an input") -> View:
    if not isinstance(value, Tensor) or value.view is None:
        raise CannotSay(f"{what} is a parameter or a number where a network has a tensor")
    if value.causal:
        raise CannotSay("a causal mask is added to what no softmax follows")
    return value.view


def two(value) -> list[int]:
    value = list(value) if isinstance(value, (list, tuple)) else [value, value]
    return [int(v) for v in (value * 2 if len(value) == 1 else value)]


def shape_of(node) -> tuple[int, ...]:
    return tuple(int(s) for s in node.meta["val"].shape)


def padded(values, count) -> list:
    """The values, and zeros up to so many."""
    return list(values) + [0] * (count - len(values))


def per_cents(c, share, what) -> int:
    """A share of what is dropped in whole per cents, which is what a network says; where that rounds, it is noted."""
    exact = float(share) * 100
    if abs(round(exact) - exact) > 1e-9:
        c.note(f"{what} of {exact:g} % is {round(exact)} % in the network")
    return round(exact)


def transposed(state):
    return lambda states: states[state].t()


def layer(c, node, kind, read, shape, attributes, states, slots=("weight", "bias"), made=None):
    """An operator with parameters of the module, one for each slot; a parameter that came before is shared. `made`: how
    the first one is made of the module's state, where it is not that itself."""
    name = c.layer_name(states[0] if states else None, node)
    source, as_is = c.layers.get(states[0], (None, True))
    if source is not None:
        if as_is != (made is None):
            raise CannotSay(f"its parameter {states[0]} is that of {source}, transposed")
        for state, slot in zip(states[1:], slots[1:]):
            theirs = c.writer.parameters.get(f"{source}/{slot}")
            if state is not None and theirs not in (None, state):
                raise CannotSay(f"it shares one parameter with {source} and not the others")
    out = c.writer.add(name, kind, [read], shape, attributes=attributes, parameters_of=source)
    for i, (state, slot) in enumerate(zip(states, slots)):
        if state is None or f"{source}/{slot}" in c.writer.parameters:
            continue
        path = f"{out.name}/{slot}"
        c.writer.parameters[path] = state
        c.layers.setdefault(state, (out.name, made is None or i > 0))
        if i == 0 and made is not None:
            c.writer.made[path] = made
    return out


def elementwise(kind, attributes=lambda args, kwargs: None):
    def handler(c, node, args, kwargs):
        read, order, as_before = c.writer.canonical(data(args[0]), node.name)
        return Tensor(
            as_before(c.writer.add(node.name, kind, [read], read.base, attributes=attributes(args, kwargs)))
        )

    return handler


def numbers(*values):
    return {"number": [float(v) for v in values] + [0.0] * (2 - len(values))}
