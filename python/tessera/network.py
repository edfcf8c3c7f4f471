# SPDX-License-Identifier: Apache-2.0
"""A network file (docs/network_file.md) that is being written, node by node."""

from __future__ import annotations

import dataclasses
import json
import re

from .views import View, samples_first, steps_to

MOST_DIMENSIONS = 5


class CannotSay(Exception):
    """What a network file has no words for."""


class NetworkWriter:
    def __init__(self, name: str, batch: int):
        self.name = name
        self.batch = batch
        self.nodes: list[dict] = []
        self.taken: set[str] = set()
        self.parameters: dict[str, str] = {}
        """Of every parameter, by its path: what the module calls it."""
        self.tables: dict[str, tuple[int, ...]] = {}
        """Shapes of parameters that have more dimensions in the module, by their operators."""
        self.made: dict = {}
        """Of parameters that are not the module's as they are, by their paths: functions of its state that make them."""
        self.constants: dict = {}
        """Parameters that are no part of the module's state, and not trained, by their paths."""
        self.origins: dict[str, str] = {}
        """Of opaque operators, what they are of."""

    def state(self):
        """For back_to."""
        return (list(self.nodes), set(self.taken), *(dict(d) for d in self.by_name()))

    def back_to(self, state) -> None:
        """Forgets what came after state() was asked for."""
        self.nodes, self.taken = list(state[0]), set(state[1])
        for own, before in zip(self.by_name(), state[2:]):
            own.clear()
            own.update(before)

    def by_name(self):
        return (self.parameters, self.tables, self.made, self.constants)

    def unused(self, wanted: str) -> str:
        name, more = wanted, 1
        while name in self.taken:
            name, more = f"{wanted}_{more}", more + 1
        self.taken.add(name)
        return name

    def input(self, name: str, shape, type_: str) -> View:
        name = self.unused(name)
        self.nodes.append({"input": name, "sample": [int(s) for s in shape[1:]], "type": type_})
        return View.of(name, shape)

    def add(self, wanted: str, kind: str, reads: list[View], shape, **more) -> View:
        """An operator whose result has this shape, the samples first. `more`: members besides, left out where they
        have no value."""
        name = self.unused(re.sub(r"^(\w*[a-z0-9])_((_\d+)?(\..+)?)$", r"\1\2", wanted))  # relu_ works in place
        node = {"name": name, "kind": kind, "reads": [r.name for r in reads]}
        node.update({k: v for k, v in more.items() if v not in (None, {}, False)})
        self.nodes.append(node)
        return View.of(name, shape)

    def whole(self, view: View, wanted: str) -> View:
        """The view as a tensor of the network."""
        steps = steps_to(view)
        if steps is None:
            raise CannotSay("its samples are mixed with another dimension, or parts of a dimension are left out")
        split, order, shape = steps
        for extents in (split, shape):
            if extents is not None and len(extents) > MOST_DIMENSIONS:
                raise CannotSay(
                    f"it goes through a tensor of {len(extents)} dimensions, and there are at most {MOST_DIMENSIONS}"
                )
        if split is not None:
            view_of = self.reshape(View.of(view.name, view.base), split, wanted)
        else:
            view_of = View.of(view.name, view.base)
        if order is not None:
            now = [view_of.base[i] for i in order]
            padded = list(order) + [0] * (MOST_DIMENSIONS - len(order))
            view_of = self.add(
                f"{wanted}.permute", "permute", [view_of], now, attributes={"order": padded, "rank": len(order)}
            )
        return self.reshape(view_of, shape, wanted) if shape is not None else view_of

    def reshape(self, view: View, shape, wanted: str) -> View:
        extents = list(shape[1:])
        if len(extents) == 1 and len(view.base) == 4:
            return self.add(f"{wanted}.flatten", "flatten", [view], shape)
        padded = extents + [0] * (MOST_DIMENSIONS - 1 - len(extents))
        return self.add(
            f"{wanted}.reshape", "reshape", [view], shape, attributes={"extent": padded, "rank": len(extents)}
        )

    def canonical(self, view: View, wanted: str):
        """The tensor with its samples first, and what makes a view as this one of a result of its shape (of other
        features, if need be)."""
        apart = dataclasses.replace(view, dims=tuple((a,) for dim in view.dims[:-1] for a in dim) + view.dims[-1:])
        order = samples_first(apart)
        if order is None:
            raise CannotSay("its samples are mixed with another dimension")
        back = [order.index(i) for i in range(len(order))]

        def as_before(result: View) -> View:
            parts = list(result.permuted(back).dims)
            dims = [tuple(a for _ in dim for a in parts.pop(0)) for dim in view.dims[:-1]]
            return dataclasses.replace(result, dims=(*dims, parts.pop(0)))

        return self.whole(apart.permuted(order), wanted), back, as_before

    def text(self) -> str:
        nodes = ",\n".join("    " + json.dumps(n) for n in self.nodes)
        return (
            f'{{\n  "tessera_network": 1,\n  "name": {json.dumps(self.name)},\n  "batch": {self.batch},\n'
            f'  "nodes": [\n{nodes}\n  ]\n}}\n'
        )
