# SPDX-License-Identifier: Apache-2.0
"""Views, and parts of a tensor."""

from __future__ import annotations

import dataclasses

from .network import CannotSay
from .tensors import HANDLERS, Tensor, argument, data, handles, shape_of
from .views import View


@handles("expand.default")
def expand(c, node, args, kwargs):
    if args[0].state is not None or (args[0].view is not None and args[0].view.shape == shape_of(node)):
        return args[0]
    raise CannotSay("a tensor of the network is expanded")


@handles("view.default", "reshape.default", "unflatten.int", "unsqueeze.default", "squeeze.dim", "flatten.using_ints")
def viewed(c, node, args, kwargs):
    view = data(args[0]).reshaped(shape_of(node))
    if view is None:
        raise CannotSay("it mixes dimensions that do not divide each other")
    return Tensor(view)


@handles("permute.default")
def permute(c, node, args, kwargs):
    rank = len(args[1])
    return Tensor(data(args[0]).permuted([d % rank for d in args[1]]))


@handles("transpose.int")
def transpose(c, node, args, kwargs):
    view = data(args[0])
    order = list(range(len(view.dims)))
    a, b = args[1] % len(order), args[2] % len(order)
    order[a], order[b] = order[b], order[a]
    return Tensor(view.permuted(order))


@handles("contiguous.default", "clone.default", "alias.default")
def same(c, node, args, kwargs):
    return args[0]


@handles("to.dtype", "to.dtype_layout", "_to_copy.default")
def converted(c, node, args, kwargs):
    """Numbers stay numbers: a network has one precision."""
    before, after = node.args[0].meta["val"].dtype, node.meta["val"].dtype
    if before.is_floating_point != after.is_floating_point:
        raise CannotSay(f"{before} becomes {after}")
    return args[0]


@handles("_assert_tensor_metadata.default")
def nothing(c, node, args, kwargs):
    return Tensor()


def part(c, node, view: View, dim: int, begin: int, count: int, what: str) -> View:
    """`count` indices of a logical dimension, from `begin` on."""
    dim %= len(view.dims)
    atoms = view.dims[dim]
    if count == view.shape[dim]:
        return view
    if len(atoms) != 1 or atoms[0].axis == 0 or atoms[0].stride * atoms[0].size != view.base[atoms[0].axis]:
        raise CannotSay("it takes indices of what is no leading part of a dimension")
    atom = atoms[0]
    base = list(view.base)
    base[atom.axis] = atom.stride * count
    cut = {"begin": begin * atom.stride, "out": base[atom.axis], "axis": atom.axis}
    name = c.writer.add(f"{node.name}.{what}", "slice", [View.of(view.name, view.base)], base, attributes=cut).name
    kept = dataclasses.replace(atom, size=count)
    dims = tuple((kept,) if i == dim else d for i, d in enumerate(view.dims))
    return View(name, tuple(base), dims)


def letter(i: int) -> str:
    return "abcdefgh"[i] if i < 8 else str(i)


@handles("select.int")
def select(c, node, args, kwargs):
    view, dim = data(args[0]), args[1]
    dim %= len(view.dims)
    index = args[2] % view.shape[dim]
    cut = part(c, node, view, dim, index, 1, letter(index))
    return Tensor(dataclasses.replace(cut, dims=tuple(d for i, d in enumerate(cut.dims) if i != dim)))


@handles("slice.Tensor")
def sliced(c, node, args, kwargs):
    view, dim = data(args[0]), argument(args, kwargs, 1, "dim", 0)
    if argument(args, kwargs, 4, "step", 1) != 1:
        raise CannotSay("a slice with steps")
    extent = view.shape[dim]
    begin = argument(args, kwargs, 2, "start", 0) or 0
    begin = max(begin + extent, 0) if begin < 0 else min(begin, extent)
    return Tensor(part(c, node, view, dim, begin, shape_of(node)[dim], "part"))


def split(c, node, args, kwargs):
    view = data(args[0])
    dim = argument(args, kwargs, 2, "dim", 0) % len(view.dims)
    parts, begin = [], 0
    for i, one in enumerate(node.meta["val"]):
        count = int(one.shape[dim])
        parts.append(Tensor(part(c, node, view, dim, begin, count, letter(i))))
        begin += count
    return parts


for name in ("split.Tensor", "split_with_sizes.default", "chunk.default", "split.sizes"):
    HANDLERS[f"aten.{name}"] = split
