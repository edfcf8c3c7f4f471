# SPDX-License-Identifier: Apache-2.0
"""Products of two tensors, softmax, and attention."""

from __future__ import annotations

import dataclasses
import math

from .masks import masked_by
from .network import CannotSay
from .operators import product
from .tensors import Tensor, argument, data, handles, numbers, per_cents, shape_of


@handles("matmul.default", "bmm.default", "mm.default")
def matmul(c, node, args, kwargs):
    left, right = args[0], args[1]
    if isinstance(right, Tensor) and right.state is not None:
        return product(c, node, left, right, None, out_first=False)
    x, y = c.writer.whole(data(left), node.name), c.writer.whole(data(right), node.name)
    if len(x.base) != len(y.base) or len(x.base) not in (3, 4) or x.base[:-2] != y.base[:-2]:
        raise CannotSay("matrices that are not [N,M,K] and [N,K,P], or [N,H,M,K] and [N,H,K,P]")
    return Tensor(c.writer.add(node.name, "matmul", [x, y], shape_of(node)))


@handles("softmax.int", "_softmax.default")
def softmax(c, node, args, kwargs):
    x, rank = args[0], len(shape_of(node))
    if argument(args, kwargs, 1, "dim", -1) % rank != rank - 1:
        raise CannotSay("a softmax over another dimension than the last")
    causal = x.causal
    read = c.writer.whole(data(dataclasses.replace(x, causal=False)), node.name)
    if not 2 <= len(read.base) <= 4:
        raise CannotSay(f"a softmax of {len(read.base)} dimensions")
    return Tensor(
        c.writer.add(node.name, "softmax", [read], read.base, attributes={"causal": True} if causal else None)
    )


@handles("scaled_dot_product_attention.default")
def attention(c, node, args, kwargs):
    if kwargs.get("enable_gqa"):
        raise CannotSay("heads that share keys")
    q, k, v = (c.writer.whole(data(a), node.name) for a in args[:3])
    if len(q.base) != 4 or q.base[:2] != k.base[:2]:
        raise CannotSay("attention of tensors that are not [N,heads,T,C]")
    rows = q.base[:3] + (k.base[2],)
    usual = 1 / math.sqrt(q.base[3])
    scale = kwargs.get("scale")
    as_usual = scale is None or abs(scale - usual) <= 1e-7 * usual
    products = {"transposed": [False, True], "scaled": as_usual}
    scores = Tensor(c.writer.add(f"{node.name}.scores", "matmul", [q, k], rows, attributes=products))
    if not as_usual:
        scores = Tensor(
            c.writer.add(f"{node.name}.scaled", "scale", [scores.view], rows, attributes=numbers(scale))
        )
    scores = dataclasses.replace(scores, causal=bool(argument(args, kwargs, 5, "is_causal", False)))
    mask = argument(args, kwargs, 3, "attn_mask", None)
    if mask is not None:
        masked = masked_by(scores, mask.constant) if mask.constant is not None and not scores.causal else None
        if masked is None:
            raise CannotSay("a mask that is neither causal nor without effect")
        scores = masked
    causal = {"causal": True} if scores.causal else None
    shares = c.writer.add(f"{node.name}.softmax", "softmax", [scores.view], rows, attributes=causal)
    share = per_cents(c, argument(args, kwargs, 4, "dropout_p", 0.0), "a dropout")
    if share:
        shares = c.writer.add(f"{node.name}.dropout", "dropout", [shares], rows, attributes={"percent": share})
    return Tensor(c.writer.add(f"{node.name}.values", "matmul", [shares, v], q.base[:3] + (v.base[3],)))
