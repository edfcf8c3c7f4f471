# SPDX-License-Identifier: Apache-2.0
"""Operators of two tensors, of a tensor and a constant, and of a tensor and a parameter of the module."""

from __future__ import annotations

import math

import torch

from .masks import masked_by
from .network import CannotSay
from .tensors import HANDLERS, Tensor, data, elementwise, handles, numbers, per_cents, shape_of
from .views import View, samples_first


def same_order(c, node, views):
    """Operands as tensors with the samples first and their dimensions in one order, and that order."""
    order = samples_first(views[0])
    if order is None:
        raise CannotSay("its samples are mixed with another dimension")
    if any(len(v.dims) != len(order) for v in views):
        raise CannotSay("its inputs have different numbers of dimensions")
    return [c.writer.whole(v.permuted(order), node.name) for v in views], [order.index(i) for i in range(len(order))]


def scaled_by(c, node, x, number):
    return elementwise("scale", lambda a, k: numbers(number))(c, node, [x], {})


def shifted_by(c, node, x, number):
    return elementwise("add_constant", lambda a, k: numbers(number))(c, node, [x], {})


def negated(c, node, x):
    return elementwise("negate")(c, node, [x], {})


def number_of(value):
    """A number, or a constant of one number; None for anything else."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    constant = value.constant if isinstance(value, Tensor) else None
    return float(constant) if constant is not None and constant.numel() == 1 else None


def with_number(c, node, kind, x, number, number_first):
    if kind == "add":
        return shifted_by(c, node, x, number) if number else x
    if kind == "multiply":
        return scaled_by(c, node, x, number)
    if kind == "subtract":
        return shifted_by(c, node, negated(c, node, x), number) if number_first else shifted_by(c, node, x, -number)
    if number_first:
        inverse = elementwise("power", lambda a, k: numbers(-1))(c, node, [x], {})
        return scaled_by(c, node, inverse, number)
    return scaled_by(c, node, x, 1 / number)


def binary(kind):
    def handler(c, node, args, kwargs):
        if kwargs.get("alpha", 1) != 1:
            raise CannotSay("alpha")
        if kwargs.get("rounding_mode") is not None:
            raise CannotSay("rounding_mode")
        for i, (x, y) in enumerate(((args[0], args[1]), (args[1], args[0]))):
            if not isinstance(x, Tensor):
                continue
            if isinstance(y, Tensor) and y.keep is not None:
                return stochastic_depth(c, node, x, y.keep)
            if x.view is None:
                continue
            if (number := number_of(y)) is not None:
                return with_number(c, node, kind, x, number, i == 1)
            if kind == "add" and isinstance(y, Tensor) and y.constant is not None:
                return with_constant(c, node, x, y.constant)
            if kind == "add" and isinstance(y, Tensor) and y.state is not None:
                return with_parameter(c, node, x, y)
        views = [data(args[0]), data(args[1])]
        reads, order = same_order(c, node, views)
        extents = [max(a, b) for a, b in zip(reads[0].base, reads[1].base)]
        return Tensor(c.writer.add(node.name, kind, reads, extents).permuted(order))

    return handler


for suffix in ("", "_"):
    HANDLERS[f"aten.add{suffix}.Tensor"] = binary("add")
    HANDLERS[f"aten.sub{suffix}.Tensor"] = binary("subtract")
    HANDLERS[f"aten.mul{suffix}.Tensor"] = binary("multiply")
for name in ("maximum", "minimum"):
    HANDLERS[f"aten.{name}.default"] = binary(name)
divided = binary("divide")


@handles("rsub.Scalar", "rsub.Tensor")
def reversed_subtract(c, node, args, kwargs):
    return HANDLERS["aten.sub.Tensor"](c, node, [args[1], args[0]], kwargs)


def with_constant(c, node, x, constant):
    """A mask, or a table that is the same for every sample, which becomes a parameter that is not trained."""
    if x.causal:
        raise CannotSay("a second mask is added")
    shape = x.view.shape
    if (masked := masked_by(x, constant)) is not None:
        return masked
    full = constant.to(torch.float32).expand(shape)
    if not torch.equal(full, full[:1].expand(shape)):
        raise CannotSay("a constant is added that differs from sample to sample")
    if len(shape) < 2:
        raise CannotSay("a constant is added that has no features")
    table = full[0].reshape(-1, shape[-1]).clone()
    rows = x.view.reshaped((shape[0], *table.shape))
    if rows is None:
        raise CannotSay("a constant is added to a view that mixes dimensions")
    read = c.writer.whole(rows, node.name)
    out = c.writer.add(f"{node.name}.table", "position_embedding", [read], read.base, frozen=True)
    c.writer.constants[f"{out.name}/weight"] = table
    return Tensor(out.reshaped(shape))


def with_parameter(c, node, x, y):
    """x[N,T,C] and a table of positions, or one row of a table for all positions."""
    read, _, as_before = c.writer.canonical(data(x), node.name)
    if len(read.base) != 3:
        raise CannotSay("a parameter is added to what is no [samples, positions, features]")
    positions, features = read.base[1:]
    if y.rows is None:
        shape = y.shape[1:] if len(y.shape) == 3 and y.shape[0] == 1 else y.shape
        if shape != read.base[1:]:
            raise CannotSay("a parameter is added that is no table of positions")
        return Tensor(as_before(table_of(c, node, read, y.state, shape, None, None)))
    rows = y.rows.reshape(-1, y.rows.shape[-1]) if y.rows.dim() else y.rows.reshape(1, 1)
    if not torch.equal(rows, rows[:1].expand(rows.shape)) or y.shape[-1] != features:
        raise CannotSay("rows of a parameter are added that differ from sample to sample")
    which = rows[0].expand(positions) if rows.shape[1] == 1 else rows[0]
    if which.numel() != positions:
        raise CannotSay(f"{which.numel()} rows of a parameter are added to {positions} positions")
    if positions > 1 and torch.equal(which, which[:1].expand(positions)):
        row = vector(c, node, read, y.state, int(which[0]))
        return Tensor(as_before(c.writer.add(node.name, "add", [read, row], read.base)))
    if which.unique().numel() != positions:
        raise CannotSay("a row of a parameter is added to some positions and not to others")
    whole = torch.equal(which, torch.arange(positions))
    picked = None if whole else (lambda states, name=y.state: states[name][which])
    count = c.shape_of_state(y.state)[0]
    attributes = {"rows": count} if whole and count > positions else None
    shape = (count if whole else positions, features)
    return Tensor(as_before(table_of(c, node, read, y.state, shape, attributes, picked)))


def table_of(c, node, read, state, shape, attributes, made):
    if state in c.layers:
        raise CannotSay(f"the parameter {state} is used twice")
    out = c.writer.add(c.table_name(state), "position_embedding", [read], read.base, attributes=attributes)
    path = f"{out.name}/weight"
    c.layers[state] = (out.name, False)
    c.writer.parameters[path] = state
    if made is not None:
        c.writer.made[path] = made
    else:
        c.writer.tables[out.name] = tuple(shape)
    return out


def vector(c, node, like: View, state: str, row: int | None) -> View:
    """A parameter [C], or one row of a table, as [N,1,C] beside x[N,T,C]: a position of zeros to which it is added."""
    samples, positions, features = like.base
    shape = (samples, 1, features)
    first = like
    if positions > 1:
        cut = {"begin": 0, "out": 1, "axis": 1}
        first = c.writer.add(f"{node.name}.place", "slice", [like], shape, attributes=cut)
    zeros = c.writer.add(f"{node.name}.zeros", "scale", [first], shape, attributes=numbers(0))
    made = None if row is None else (lambda states: states[state][row : row + 1])
    if row is not None and c.shape_of_state(state)[0] > 1:
        c.note(f"of {state} row {row} alone is used, and the network has no other")
    return table_of(c, node, zeros, state, (1, features), None, made)


@handles("empty.memory_format")
def empty(c, node, args, kwargs):
    return Tensor(keep=1.0)


@handles("bernoulli_.float")
def bernoulli(c, node, args, kwargs):
    if not isinstance(args[0], Tensor) or args[0].keep is None:
        raise CannotSay("random numbers that are no mask of whole samples")
    if any(s != 1 for s in shape_of(node)[1:]):
        raise CannotSay("a random mask that is not one number for each sample")
    return Tensor(keep=float(args[1]))


@handles("div_.Tensor", "div.Tensor")
def divide(c, node, args, kwargs):
    if isinstance(args[0], Tensor) and args[0].keep is not None:
        if args[1] != args[0].keep:
            raise CannotSay("a mask that is not divided by what it keeps")
        return args[0]
    return divided(c, node, args, kwargs)


def stochastic_depth(c, node, x, keep):
    share = per_cents(c, 1 - keep, "stochastic depth")
    if not share:
        return x
    return elementwise("stochastic_depth", lambda a, k: {"percent": share})(c, node, [x], {})


@handles("cat.default")
def cat(c, node, args, kwargs):
    parts, axis = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    rank = len(shape_of(node))
    axis %= rank
    if len(parts) == 2 and isinstance(parts[0], Tensor) and parts[0].state and axis == 1 and rank == 3:
        return class_token(c, node, parts[0], data(parts[1]))
    views = [data(p) for p in parts]
    reads, order = same_order(c, node, views)
    if axis == order.index(0) or order != list(range(rank)):
        raise CannotSay("samples are joined")
    return Tensor(joined(c, node, reads, axis))


def joined(c, node, reads, axis):
    """More than 8 tensors, the most that an operator reads, are joined in rounds."""
    while len(reads) > 1:
        rounds = []
        for i in range(0, len(reads), 8):
            some = reads[i : i + 8]
            extents = list(some[0].base)
            extents[axis] = sum(r.base[axis] for r in some)
            rounds.append(
                some[0]
                if len(some) == 1
                else c.writer.add(node.name, "concat", some, extents, attributes={"axis": axis})
            )
        reads = rounds
    return reads[0]


def class_token(c, node, token, view):
    """A learned vector before the positions of x[N,T,C]."""
    read = c.writer.whole(view, node.name)
    if math.prod(token.shape[1:]) != read.base[2]:
        raise CannotSay("a parameter is joined to positions that is not one of them")
    first = vector(c, node, read, token.state, None)
    longer = (read.base[0], read.base[1] + 1, read.base[2])
    return Tensor(c.writer.add(node.name, "concat", [first, read], longer, attributes={"axis": 1}))
