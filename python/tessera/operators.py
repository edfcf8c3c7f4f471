# SPDX-License-Identifier: Apache-2.0
"""Layers, functions of one tensor and pools."""

from __future__ import annotations

import math

from .network import CannotSay
from .tensors import (
    HANDLERS,
    Tensor,
    argument,
    data,
    elementwise,
    handles,
    layer,
    numbers,
    per_cents,
    shape_of,
    transposed,
    two,
)

@handles("conv2d.default")
def conv2d(c, node, args, kwargs):
    weight, bias = args[1], argument(args, kwargs, 2, "bias", None)
    stride, padding = argument(args, kwargs, 3, "stride", 1), argument(args, kwargs, 4, "padding", 0)
    if isinstance(padding, str):
        raise CannotSay(f"padding {padding!r}; say it in numbers")
    attributes = {
        "window": list(weight.shape[2:]),
        "stride": two(stride),
        "padding": two(padding),
        "dilation": two(argument(args, kwargs, 5, "dilation", 1)),
        "out": weight.shape[0],
        "groups": argument(args, kwargs, 6, "groups", 1),
        "bias": bias is not None,
    }
    read = c.writer.whole(data(args[0]), node.name)
    states = [weight.state, bias.state if bias else None]
    return Tensor(layer(c, node, "conv2d", read, shape_of(node), attributes, states))


def product(c, node, x, weight, bias, out_first=True):
    """x times a matrix of parameters, [out, in] or [in, out]."""
    if weight.state is None or (bias is not None and bias.state is None) or len(weight.shape) != 2:
        raise CannotSay("its weight or bias is no parameter of the module")
    read, order, as_before = c.writer.canonical(data(x), node.name)
    if order[-1] != len(order) - 1:
        raise CannotSay("its features are the samples")
    out = weight.shape[0 if out_first else 1]
    attributes = {"out": out, "bias": bias is not None}
    states = [weight.state, bias.state if bias is not None else None]
    made = None if out_first else transposed(weight.state)
    return Tensor(as_before(layer(c, node, "linear", read, read.base[:-1] + (out,), attributes, states, made=made)))


@handles("linear.default")
def linear(c, node, args, kwargs):
    return product(c, node, args[0], args[1], argument(args, kwargs, 2, "bias", None))


@handles("addmm.default")
def addmm(c, node, args, kwargs):
    if kwargs.get("alpha", 1) != 1 or kwargs.get("beta", 1) != 1:
        raise CannotSay("alpha or beta")
    return product(c, node, args[1], args[2], args[0], out_first=False)


@handles("embedding.default")
def embedding(c, node, args, kwargs):
    table, which = args[0], args[1]
    if table.state is None:
        raise CannotSay("its table is no parameter of the module")
    if which.constant is not None:
        return Tensor(state=table.state, shape=shape_of(node), rows=which.constant)
    read = c.writer.whole(data(which), node.name)
    skipped = argument(args, kwargs, 2, "padding_idx", -1)
    if skipped >= 0:
        c.note(f"row {skipped} of {table.state} is trained like the others, where the module leaves it (padding_idx)")
    attributes = {"vocabulary": table.shape[0], "out": table.shape[1]}
    return Tensor(layer(c, node, "embedding", read, shape_of(node), attributes, [table.state]))


@handles("batch_norm.default")
def batch_norm(c, node, args, kwargs):
    read = c.writer.whole(data(args[0]), node.name)
    weight, bias, mean = args[1], args[2], args[3]
    if weight is None or bias is None or mean is None:
        raise CannotSay("a batch norm without gamma, beta or running statistics")
    kind, attributes = "batch_norm", {"epsilon": args[7], "momentum": args[6]}
    if not args[5]:  # in eval(): by its running statistics, which stay
        kind, attributes = "fixed_batch_norm", {"epsilon": args[7]}
    states = [weight.state, bias.state, mean.state]
    return Tensor(layer(c, node, kind, read, shape_of(node), attributes, states, ("weight", "bias", "statistics")))


@handles("layer_norm.default")
def layer_norm(c, node, args, kwargs):
    weight, bias = argument(args, kwargs, 2, "weight", None), argument(args, kwargs, 3, "bias", None)
    if len(args[1]) != 1 or weight is None or bias is None:
        raise CannotSay("a layer norm over several dimensions, or without gamma or beta")
    read, order, as_before = c.writer.canonical(data(args[0]), node.name)
    if order[-1] != len(order) - 1:
        raise CannotSay("its features are the samples")
    attributes = {"epsilon": argument(args, kwargs, 4, "eps", 1e-5)}
    out = layer(c, node, "layer_norm", read, read.base, attributes, [weight.state, bias.state])
    return Tensor(as_before(out))


for name in ("relu", "sigmoid", "tanh", "silu"):
    HANDLERS[f"aten.{name}.default"] = HANDLERS[f"aten.{name}_.default"] = elementwise(name)
for theirs, ours in (
    ("hardswish", "hard_swish"),
    ("hardsigmoid", "hard_sigmoid"),
    ("exp", "exp"),
    ("log", "log"),
    ("sqrt", "sqrt"),
    ("neg", "negate"),
    ("abs", "abs"),
):
    HANDLERS[f"aten.{theirs}.default"] = HANDLERS[f"aten.{theirs}_.default"] = elementwise(ours)
HANDLERS["aten.hardtanh.default"] = HANDLERS["aten.hardtanh_.default"] = elementwise(
    "clamp",
    lambda args, kwargs: numbers(argument(args, kwargs, 1, "min_val", -1), argument(args, kwargs, 2, "max_val", 1)),
)
HANDLERS["aten.relu6.default"] = HANDLERS["aten.relu6_.default"] = elementwise(
    "clamp", lambda args, kwargs: numbers(0, 6)
)
HANDLERS["aten.leaky_relu.default"] = HANDLERS["aten.leaky_relu_.default"] = elementwise(
    "leaky_relu", lambda args, kwargs: numbers(argument(args, kwargs, 1, "negative_slope", 0.01))
)


@handles("gelu.default")
def gelu(c, node, args, kwargs):
    if kwargs.get("approximate", "none") == "none":
        return elementwise("gelu")(c, node, args, kwargs)
    x, order, as_before = c.writer.canonical(data(args[0]), node.name)

    def step(kind, *reads, attributes=None):
        return c.writer.add(f"{node.name}.{kind}", kind, list(reads), x.base, attributes=attributes)

    cube = step("scale", step("power", x, attributes=numbers(3)), attributes=numbers(0.044715))
    inner = step("scale", step("add", x, cube), attributes=numbers(math.sqrt(2 / math.pi)))
    outer = step("add_constant", step("tanh", inner), attributes=numbers(1))
    return Tensor(as_before(step("multiply", step("scale", x, attributes=numbers(0.5)), outer)))


@handles("pow.Tensor_Scalar")
def power(c, node, args, kwargs):
    return elementwise("power", lambda a, k: numbers(args[1]))(c, node, args, kwargs)


@handles("dropout.default", "dropout_.default")
def dropout(c, node, args, kwargs):
    share = per_cents(c, args[1], "a dropout") if args[2] else 0
    if not share:
        return args[0]
    return elementwise("dropout", lambda a, k: {"percent": share})(c, node, args, kwargs)


@handles("max_pool2d.default")
def max_pool2d(c, node, args, kwargs):
    if argument(args, kwargs, 5, "ceil_mode", False):
        raise CannotSay("ceil_mode")
    stride = argument(args, kwargs, 2, "stride", None) or args[1]
    attributes = {
        "window": two(args[1]),
        "stride": two(stride),
        "padding": two(argument(args, kwargs, 3, "padding", 0)),
        "dilation": two(argument(args, kwargs, 4, "dilation", 1)),
    }
    read = c.writer.whole(data(args[0]), node.name)
    return Tensor(c.writer.add(node.name, "max_pool", [read], shape_of(node), attributes=attributes))


@handles("avg_pool2d.default")
def avg_pool2d(c, node, args, kwargs):
    if argument(args, kwargs, 4, "ceil_mode", False) or argument(args, kwargs, 6, "divisor_override", None):
        raise CannotSay("ceil_mode or divisor_override")
    stride = argument(args, kwargs, 2, "stride", None) or args[1]
    padding = two(argument(args, kwargs, 3, "padding", 0))
    attributes = {"window": two(args[1]), "stride": two(stride), "padding": padding}
    if any(padding):
        attributes["count_padding"] = bool(argument(args, kwargs, 5, "count_include_pad", True))
    read = c.writer.whole(data(args[0]), node.name)
    return Tensor(c.writer.add(node.name, "average_pool", [read], shape_of(node), attributes=attributes))


@handles("adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(c, node, args, kwargs):
    view, shape = data(args[0]), shape_of(node)
    have, want = view.shape[2:], shape[2:]
    if have == want:
        return args[0]
    if any(h % w for h, w in zip(have, want)):
        raise CannotSay(f"from {have[0]} x {have[1]} to {want[0]} x {want[1]}, which does not divide")
    read = c.writer.whole(view, node.name)
    if want == (1, 1):
        return Tensor(c.writer.add(node.name, "mean_over_kept_2_3", [read], shape))
    window = [h // w for h, w in zip(have, want)]
    return Tensor(
        c.writer.add(node.name, "average_pool", [read], shape, attributes={"window": window, "stride": window})
    )


@handles("mean.dim")
def mean(c, node, args, kwargs):
    read = c.writer.whole(data(args[0]), node.name)
    rank = len(read.base)
    over = sorted(d % rank for d in args[1])
    if over not in ([1], [2], [3], [1, 2], [2, 3], [1, 2, 3]):
        raise CannotSay(f"a mean over the dimensions {over}")
    kept = "_kept" if argument(args, kwargs, 2, "keepdim", False) else ""
    return Tensor(c.writer.add(node.name, f"mean_over{kept}_" + "_".join(map(str, over)), [read], shape_of(node)))
