# SPDX-License-Identifier: Apache-2.0
"""Tensors as PyTorch sees them: a node of the network and a view of it, whose dimensions are split, merged and moved.

PyTorch moves the samples behind other dimensions and back, splits channels into heads and merges them again. A view
keeps count of that, so that only what an operator reads becomes operators of the network, with the samples first.
"""

from __future__ import annotations

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Atom:
    """A part of one dimension of a node: `size` steps of `stride` indices each."""

    axis: int
    stride: int
    size: int


@dataclasses.dataclass(frozen=True)
class View:
    """Of the node `name` with the extents `base`: logical dimensions, each a list of atoms, the outermost first."""

    name: str
    base: tuple[int, ...]
    dims: tuple[tuple[Atom, ...], ...]

    @staticmethod
    def of(name: str, shape) -> "View":
        shape = tuple(int(s) for s in shape)
        return View(name, shape, tuple((Atom(i, 1, s),) for i, s in enumerate(shape)))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(math.prod(a.size for a in dim) for dim in self.dims)

    def is_whole(self) -> bool:
        return merged(self.dims) == View.of(self.name, self.base).dims

    def permuted(self, order) -> "View":
        return dataclasses.replace(self, dims=tuple(self.dims[i] for i in order))

    def reshaped(self, shape) -> "View | None":
        """None where a new dimension ends inside of a factor that does not divide."""
        shape = list(shape)
        if -1 in shape:
            known = math.prod(s for s in shape if s != -1)
            shape[shape.index(-1)] = math.prod(self.shape) // max(known, 1)
        atoms = [a for dim in self.dims for a in dim if a.size > 1]
        dims = []
        for extent in shape:
            dim = []
            while extent > 1:
                if not atoms:
                    return None
                a = atoms.pop(0)
                if extent % a.size == 0:
                    dim.append(a)
                    extent //= a.size
                elif a.size % extent == 0:
                    inner = a.size // extent
                    dim.append(Atom(a.axis, a.stride * inner, extent))
                    atoms.insert(0, Atom(a.axis, a.stride, inner))
                    extent = 1
                else:
                    return None
            dims.append(tuple(dim))
        return None if atoms else dataclasses.replace(self, dims=merged(tuple(dims)))


def merged(dims):
    """Neighbouring atoms of one dimension that lie behind each other are one."""
    result = []
    for dim in dims:
        joined: list[Atom] = []
        for a in dim:
            last = joined[-1] if joined else None
            if last and last.axis == a.axis and last.stride == a.stride * a.size:
                joined[-1] = Atom(a.axis, a.stride, last.size * a.size)
            else:
                joined.append(a)
        result.append(tuple(joined))
    return tuple(result)


def samples_first(view: View) -> list[int] | None:
    """The order of the logical dimensions with that of the samples, which is all of axis 0, first."""
    for i, dim in enumerate(view.dims):
        if len(dim) == 1 and dim[0].axis == 0 and dim[0].size == view.base[0]:
            return [i] + [k for k in range(len(view.dims)) if k != i]
    return None


def steps_to(view: View):
    """How the node becomes a tensor that is the view: (extents to reshape to, order to permute, extents to reshape
    to), each None where it is not
    needed. None where no such steps exist: the samples are not first, or parts of a dimension are missing."""
    if view.is_whole() and len(view.dims) == len(view.base):
        return (None, None, None)
    if not view.dims or len(view.dims[0]) != 1 or view.dims[0][0] != Atom(0, 1, view.base[0]):
        return None
    wanted = [a for dim in view.dims for a in dim]
    split = []
    for axis, extent in enumerate(view.base):
        parts = sorted((a for a in wanted if a.axis == axis), key=lambda a: -a.stride)
        stride = extent
        for a in parts:
            if a.stride * a.size != stride:
                return None
            stride = a.stride
        if stride != 1 and extent != 1:
            return None
        split += parts
    order = [split.index(a) for a in wanted]
    first = None if [a.size for a in split] == list(view.base) else [a.size for a in split]
    permuted = [a.size for a in wanted]
    return (
        first,
        None if order == sorted(order) else order,
        None if permuted == list(view.shape) else list(view.shape),
    )
