# SPDX-License-Identifier: Apache-2.0
"""A module of PyTorch as a network file: torch.export's graph, operator by operator.

    network = tessera.network_of(torchvision.models.resnet50(), (torch.randn(2, 3, 224, 224),))
    network.write("resnet50.json")

What is not understood is listed at once, with the lines of Python that made it.
"""

from __future__ import annotations

import operator
import re

import torch

from . import arithmetic, attention, masks, moves, operators  # noqa: F401  (which enter their handlers)
from .constants import folded, reads_shapes_alone
from .network import CannotSay, NetworkWriter
from .opaque import kept_opaque
from .tensors import HANDLERS, Tensor
from .weights import load_weights, read_safetensors, weights_of, write_safetensors


class UnsupportedModule(Exception):
    """A module that has no network; its text names every operator that is not understood, and where it comes from."""


def origin_of(node) -> str:
    """File and line of the Python code behind a node: the last that is no part of torch itself."""
    places = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    own = [p for p in places if "/torch/nn/" not in p[0] and "/torch/_" not in p[0]] or places
    return f"{own[-1][0]}:{own[-1][1]}" if own else "an unknown line"


class Network:
    """A network from a module: its text, and the module's names of its parameters."""

    def __init__(self, writer: NetworkWriter, notes: list[str]):
        self.name = writer.name
        self.text = writer.text()
        self.nodes = writer.nodes
        self.parameters = dict(writer.parameters)
        """From paths of the network, such as features.0/weight, to names of the module's state."""
        self.tables = dict(writer.tables)
        """Of operators whose parameter has fewer dimensions than the module's: the shape that it has here."""
        self.made = dict(writer.made)
        """Of parameters that are not the module's as they are: functions that make them of its state."""
        self.constants = dict(writer.constants)
        """Of parameters that are not trained, and that the module computes: what they are."""
        self.opaque = {n["name"]: writer.origins[n["name"]] for n in writer.nodes if n.get("kind") == "opaque"}
        """Operators that are kept opaque, and what each is of and where in Python it comes from."""
        self.notes = notes
        """What the network says otherwise than the module does."""

    def write(self, path) -> None:
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.text)

    def write_weights(self, module, path) -> None:
        """The module's parameters as they are now, by the network's paths, as a safetensors file."""
        write_safetensors(path, weights_of(self, module))

    def load_weights(self, module, path) -> None:
        """The other way: into the module what a training of the network has written, running statistics included."""
        load_weights(self, module, read_safetensors(path))


class Converter:
    """Walks through an exported program, and holds what its nodes are in the network."""

    def __init__(self, program, writer: NetworkWriter, opaque: bool):
        self.writer = writer
        self.opaque = opaque
        self.values: dict = {}
        self.notes: list[str] = []
        self.problems: list[str] = []
        signature = program.graph_signature
        self.trained = set(signature.inputs_to_parameters.values())
        self.parameters = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        self.program = program
        self.layers: dict[str, tuple[str, bool]] = {}
        """Of every parameter of the module, the operator that it came with, and whether it is there as it is."""
        self.users: dict[str, list] = {}
        self.integers: set[str] = set()
        """Inputs that are integers."""

    def read(self, node):
        """A node's value; lists and numbers as they are."""
        if isinstance(node, (list, tuple)):
            return [self.read(n) for n in node]
        return self.values.get(node) if isinstance(node, torch.fx.Node) else node

    def layer_name(self, weight: str | None, node) -> str:
        """An operator is called like the module whose parameters it has, or like its node."""
        name = weight.rpartition(".")[0] if weight else node.name
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        if weight and stack and len(self.users_of(weight)) > 1:
            name = stack[-1][0]  # a parameter of several modules is called like one of them
        return name or node.name

    def users_of(self, state: str) -> list:
        if not self.users:
            for node in self.program.graph.nodes:
                if node.op == "placeholder" and node.name in self.parameters:
                    self.users[self.parameters[node.name]] = list(node.users)
        return self.users.get(state, [])

    def table_name(self, state: str) -> str:
        """A parameter that is added: its module where it is the module's weight, else its own name."""
        return state.removesuffix(".weight")

    def shape_of_state(self, state: str) -> tuple[int, ...]:
        return tuple(self.program.state_dict[state].shape)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def run(self) -> None:
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self.place(node)
            elif node.op == "call_function":
                self.call(node)
            elif node.op != "output":
                self.problems.append(f"{origin_of(node)}: {node.op} {node.target}")

    def place(self, node) -> None:
        signature = self.program.graph_signature
        value = node.meta["val"]
        if node.name in self.parameters:
            state = self.parameters[node.name]
            constant = None
            if node.name in signature.inputs_to_buffers and not self.is_running(state):
                stored = self.program.state_dict.get(state, self.program.constants.get(state))
                constant = stored.detach().clone()
            self.values[node] = Tensor(state=state, shape=tuple(value.shape), constant=constant)
        elif node.name in signature.inputs_to_lifted_tensor_constants:
            constant = self.program.constants[signature.inputs_to_lifted_tensor_constants[node.name]]
            self.values[node] = Tensor(shape=tuple(value.shape), constant=constant.detach().clone())
        elif node.name in signature.user_inputs:
            self.place_input(node, value)

    def is_running(self, state: str) -> bool:
        """Statistics that a norm keeps."""
        return state.endswith(("running_mean", "running_var", "num_batches_tracked"))

    def place_input(self, node, value) -> None:
        if value is None:
            return
        if not isinstance(value, torch.Tensor) or any(not isinstance(s, int) for s in value.shape) or not value.dim():
            self.problems.append(f"the input {node.name} has no fixed shape; export it with the sizes of one batch")
            return
        if value.shape[0] != self.writer.batch:
            self.problems.append(
                f"the input {node.name} has {value.shape[0]} samples, and the first one {self.writer.batch}"
            )
            return
        integers = not value.dtype.is_floating_point
        view = self.writer.input(node.name, value.shape, "i32" if integers else "f32")
        if integers:
            self.integers.add(view.name)
        self.values[node] = Tensor(view=view)

    def call(self, node) -> None:
        if node.target is operator.getitem:
            several = self.values.get(node.args[0])
            self.values[node] = several[node.args[1]] if several is not None else None
            return
        target = str(node.target)
        args = [self.read(a) for a in node.args]
        kwargs = {k: self.read(v) for k, v in node.kwargs.items()}
        of_state = [a for a in args if isinstance(a, Tensor) and a.state and not a.is_parameter_like()]
        if of_state and target in ("aten.add_.Tensor", "aten.add.Tensor"):
            self.values[node] = args[0]  # batches that a norm has seen
            return
        if any(self.values.get(n) is None for n in node.all_input_nodes) and not reads_shapes_alone(node):
            self.values[node] = None  # it comes from what is listed already, and may be one that is listed too
            if target not in HANDLERS:
                self.problems.append(f"{origin_of(node)}: {target}")
            return
        self.values[node] = self.value_of(node, target, args, kwargs)
        if target.split(".")[1].endswith("_") and isinstance(node.args[0], torch.fx.Node):
            self.values[node.args[0]] = self.values[node]  # in place: whoever reads it later reads this

    def value_of(self, node, target, args, kwargs):
        """What a node is in the network; None where it is not understood, which is listed."""
        constant = folded(node, args, kwargs)
        if constant is not None:
            return constant
        handler, before = HANDLERS.get(target), self.writer.state()
        layers = dict(self.layers)
        why = ""
        if handler is not None:
            try:
                return handler(self, node, args, kwargs)
            except CannotSay as e:
                why = f": {e}"
        if self.opaque:
            self.writer.back_to(before)
            self.layers = layers
            try:
                kept = kept_opaque(self, node, args, kwargs)
                self.writer.origins.update(
                    {n["name"]: f"{target}, {origin_of(node)}" for n in self.writer.nodes[len(before[0]) :]}
                )
                return kept
            except CannotSay as e:
                why = f": {e}"
        self.problems.append(f"{origin_of(node)}: {target}{why}")
        return None


def network_of(
    module, example_inputs, *, loss: str = "cross_entropy", name: str | None = None, output: int = 0, opaque: bool = False
) -> Network:
    """The network file of a module in training mode, with a loss behind one of its results. Parts in eval() of a module
    that is in train() stay so: batch norms by their running statistics (fixed_batch_norm), no dropout.

    `example_inputs`: a tuple of tensors, or a dictionary of them by the names of forward's arguments: one batch of at
    least 2 samples, the first dimension of each.
    `loss`: cross_entropy (labels are integers) or mse_loss.
    `output`: which of the tensors that the module returns has the loss, from 0.
    `opaque`: operators that are not understood are kept, as operators with shapes and costs that are planned and
    simulated, each on one device, but that nothing trains.
    Raises UnsupportedModule, which lists all that is not understood, and ValueError for inputs that do not suit.
    """
    if loss not in ("cross_entropy", "mse_loss"):
        raise ValueError(f"loss is {loss!r}, but must be 'cross_entropy' or 'mse_loss'")
    by_name = dict(example_inputs) if isinstance(example_inputs, dict) else {}
    in_order = () if by_name else (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    given = [*in_order, *by_name.values()]
    if not given or any(not isinstance(x, torch.Tensor) for x in given):
        raise ValueError("example_inputs must be a tuple of tensors, or a dictionary of them")
    batch = given[0].shape[0] if given[0].dim() else 0
    if batch < 2:
        raise ValueError(
            f"example_inputs have {batch} samples; take at least 2, so that they can be told from other dimensions"
        )
    program = exported(module, in_order, by_name)
    writer = NetworkWriter(name or re.sub(r"\W+", "_", type(module).__name__).lower(), batch)
    converter = Converter(program, writer, opaque)
    converter.run()
    outputs = next(n for n in program.graph.nodes if n.op == "output").args[0]
    wanted = program.graph_signature.user_outputs
    results = [r for r in outputs if isinstance(r, torch.fx.Node) and r.name in wanted]
    if converter.problems:
        listed = "\n".join(f"  {p}" for p in dict.fromkeys(converter.problems))
        kept = "" if opaque else "\nopaque=True keeps them as operators that are planned but not trained"
        raise UnsupportedModule(
            f"{type(module).__name__} has what a Tessera network has no operator for:\n{listed}{kept}"
        )
    if not results:
        raise UnsupportedModule("the module returns no tensor")
    if not 0 <= output < len(results):
        raise ValueError(f"output is {output}, but the module returns {len(results)} tensors")
    if len(results) > 1:
        which = ["first", "second", "third"][output] if output < 3 else f"number {output}"
        converter.note(
            f"of {len(results)} results the {which} has the loss; what only the others need is left out"
        )
    result = converter.values[results[output]]
    if not isinstance(result, Tensor) or result.view is None:
        raise UnsupportedModule(f"result {output} is a constant or a parameter of the module")
    add_loss(writer, writer.whole(result.view, "result"), loss)
    keep_what_is_read(writer)
    return Network(writer, converter.notes)


def exported(module, in_order, by_name):
    modes = {m: m.training for m in module.modules()}
    try:
        if not module.training:  # a module that trains has in eval() what fine-tuning leaves as it is
            module.train()
        return torch.export.export(module, in_order, by_name or None)
    except Exception as e:  # what torch.export raises has many types
        raise UnsupportedModule(f"torch.export cannot read the module: {str(e).splitlines()[0]}") from e
    finally:
        for m, training in modes.items():
            m.training = training


def add_loss(writer: NetworkWriter, result, loss: str) -> None:
    shape = result.shape
    if loss == "cross_entropy":
        rows = shape[:2] if len(shape) == 3 else shape[:1] + shape[2:]
        labels = writer.input("labels", rows, "i32")
        writer.add("cross_entropy", "cross_entropy", [result, labels], rows)
    else:
        targets = writer.input("targets", shape, "f32")
        writer.add("mse_loss", "mse_loss", [result, targets], shape)


def keep_what_is_read(writer: NetworkWriter) -> None:
    """Takes out operators whose results nobody reads."""
    read = {writer.nodes[-1]["name"]}
    kept = []
    for node in reversed(writer.nodes):
        if "input" in node or node["name"] in read:
            kept.append(node)
            read.update(node.get("reads", []))
    writer.nodes = kept[::-1]
    names = {n.get("name") for n in kept}
    for of in (writer.parameters, writer.made, writer.constants):
        for path in [p for p in of if p.rpartition("/")[0] not in names]:
            del of[path]
