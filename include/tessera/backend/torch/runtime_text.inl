// SPDX-License-Identifier: Apache-2.0
// tessera_runtime.py as a string, written by cmake -P cmake/TesseraEmbed.cmake.
// clang-format off
R"embedded(# SPDX-License-Identifier: Apache-2.0
"""What programs that Tessera exports need at run time: boxes that move between ranks, pipelines, gradients, data order.

Every rank holds regions of tensors, and its own share of every gradient: the shares of all ranks add up to the gradient.
An exchange copies or adds boxes of what ranks have into what ranks need; its reverse moves the gradients of the same boxes
back and adds them up. So the reverse of an all-reduce is an all-reduce, that of an all-gather a reduce-scatter, that of a
halo exchange a halo exchange. An exchange is one node of autograd on every rank that takes part in it, also on one that
only sends; autograd runs nodes of one thread in the reverse order of their making, which is the same on all ranks.

It needs torch and nothing else: 1.13 or later, gloo (CPU) or NCCL.
"""

import argparse
import ctypes
import dataclasses
import json
import math
import os
import pathlib
import struct
import sys
import zlib

import torch
import torch.distributed as dist
import torch.nn.functional as F

# ---------------------------------------------------------------------------------------------------------------- tables


@dataclasses.dataclass
class Exchange:
    """One redistribution of a tensor.

    Regions are ((begin, end), ...) in the whole tensor, of the first micro-batch. `sources` and `targets` are
    (rank, region); `moves` are (source, target, region): that region of that source is added into that target.
    """

    kind: str
    targets: list
    sources: list = dataclasses.field(default_factory=list)
    moves: list = dataclasses.field(default_factory=list)
    input: str = ""
    largest: bool = False
    differentiable: bool = True


@dataclasses.dataclass
class Parameter:
    shape: tuple
    homes: list  # (rank, region)
    trained: bool = True
    rate: float = 1.0
    decay: float = 0.0


@dataclasses.dataclass
class Dropout:
    number: int
    percent: int
    unit: str
    shape: tuple
    shards: list  # (rank, region)


@dataclasses.dataclass
class Bucket:
    """Gradients that are summed together: of whole parameters by their names, of slices as (name, slice, of how many)."""

    how: str
    parameters: list
    server: int = 0

    def parts(self):
        return [(x, 0, 1) if isinstance(x, str) else x for x in self.parameters]


@dataclasses.dataclass
class Program:
    ranks: int
    batch: int
    inputs: dict  # name: (shape, "f32" or "i32")
    parameters: dict
    exchanges: dict
    stages: list  # of {rank: function}
    actions: list  # (what, stage, micro-batch)
    buckets: list
    optimizer: dict
    dropouts: dict = dataclasses.field(default_factory=dict)
    micro_batches: int = 1
    recomputes: tuple = ()
    gathers: list = dataclasses.field(default_factory=list)  # by stage the parameters that ranks keep slices of (ZeRO 3)
    check: list = dataclasses.field(default_factory=list)  # of the first steps: loss, {parameter: norm of its gradient}
    unchecked: str = ""  # why nothing was recorded
    within: float = 1e-4  # how far losses may be off, relative; norms of gradients ten times as far
    weights_crc: int = 0  # of weights.safetensors when that was recorded
    counts: dict = dataclasses.field(default_factory=dict)  # how many values the integers of an input have
    seed: int = 0
    folder: str = "."


def extents(region):
    return [end - begin for begin, end in region]


def within(region, whole):
    """The slices of `whole`, which holds it, that are `region`."""
    return tuple(slice(b - o, e - o) for (b, e), (o, _) in zip(region, whole))


# ------------------------------------------------------------------------------------------------- random numbers, order

_MASK = (1 << 64) - 1


def mix(z):
    """SplitMix64's mixing function (Steele, Lea and Flood, OOPSLA 2014), of a number."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _signed(z):
    return z - (1 << 64) if z >> 63 else z


def _shifted(x, by):
    """Without the sign's bits, which an arithmetic shift draws in."""
    return (x >> by) & ((1 << (64 - by)) - 1)


def mix_all(z):
    """The same of a tensor of int64, whose products wrap around."""
    z = z + _signed(0x9E3779B97F4A7C15)
    z = (z ^ _shifted(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shifted(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ _shifted(z, 31)


def dropout_factors(d, region, seed, step):
    """What the numbers in a region of a dropout's tensor are multiplied by: 0, or what keeps expectations. As Tessera has
    it, a function of seed, step, operator and the place in the whole tensor."""
    dims = {"element": len(d.shape), "channel": 2, "sample": 1}[d.unit]
    index = torch.zeros([1] * len(d.shape), dtype=torch.int64)
    for k in range(dims):
        places = torch.arange(*region[k]).reshape([-1 if i == k else 1 for i in range(len(d.shape))])
        index = index * d.shape[k] + places
    key = mix(mix(mix(seed) ^ step) ^ d.number)
    bits = _shifted(mix_all(index ^ _signed(key)), 32)
    return (bits * 100 >= (d.percent << 32)).to(torch.float32) * (100.0 / (100.0 - d.percent))


def epoch_order(size, seed, epoch):
    """Which sample stands at each position of an epoch: Tessera's order, a Feistel network walked along its cycles."""
    bits = max(6, (max(size, 1) - 1).bit_length())
    low_bits = bits // 2
    low, high = (1 << low_bits) - 1, (1 << (bits - low_bits)) - 1
    key = mix(mix(seed) ^ epoch)
    keys = [mix((key + r) & _MASK) for r in range(10)]

    def encrypt(x):
        left, right = x >> low_bits, x & low
        for r in range(0, 10, 2):
            left ^= mix(keys[r] ^ right) & high
            right ^= mix(keys[r + 1] ^ left) & low
        return left << low_bits | right

    order = []
    for position in range(size):
        x = encrypt(position)
        while x >= size:
            x = encrypt(x)
        order.append(x)
    return order


# ------------------------------------------------------------------------------------------------------------ local lines


class _Rounded(torch.autograd.Function):
    """Numbers that Tessera stores as bf16; their gradients too, but for those of parameters."""

    @staticmethod
    def forward(ctx, x, gradients):
        ctx.gradients = gradients
        return x.to(torch.bfloat16).to(torch.float32)

    @staticmethod
    def backward(ctx, g):
        return (g.to(torch.bfloat16).to(g.dtype) if ctx.gradients else g), None


def bf16(x):
    return _Rounded.apply(x, True)


def bf16_weight(x):
    return _Rounded.apply(x, False)


def route(gates, slots, top, weighted, tokens, experts):
    """Which slot of which expert a token gets, [N, T, E * slots]: 1, or the token's gate. Tokens of a sample compete for the
    slots, all first choices before all second ones, in the order of their positions; of equal gates the first expert's is
    the larger. `tokens`, `experts`: those that are wanted, of all that the gates are of."""
    order = torch.sort(gates.detach(), dim=-1, descending=True, stable=True).indices
    place = torch.sort(order, -1).indices  # of an expert among a token's choices
    taken = torch.zeros_like(place[:, :1])
    mask = gates.new_zeros(*gates.shape, slots)
    for choice in range(top):
        chosen = place == choice
        at = taken + chosen.cumsum(1) - 1
        kept = chosen & (at < slots)
        mask += F.one_hot(at.clamp(0, slots - 1), slots) * kept.unsqueeze(-1)
        taken = taken + chosen.sum(1, keepdim=True)
    mask = mask[:, slice(*tokens), slice(*experts)]
    mask = mask * gates[:, slice(*tokens), slice(*experts)].unsqueeze(-1) if weighted else mask
    return mask.flatten(2)


def expert_linear(x, weight):
    """The rows of every expert times its matrix."""
    rows = x.reshape(x.shape[0], weight.shape[0], -1, x.shape[-1])
    return torch.matmul(rows, weight.transpose(-2, -1)).reshape(x.shape[0], -1, weight.shape[1])


def align(x, rank):
    """A tensor of fewer dimensions, so that it broadcasts: its first stays that of the samples."""
    return x.reshape(x.shape[0], *[1] * (rank - x.dim()), *x.shape[1:])


def select(condition, a, b):
    condition = condition if condition.dtype == torch.bool else condition != 0
    like = a if torch.is_tensor(a) else b if torch.is_tensor(b) else torch.zeros(())
    return torch.where(condition, torch.as_tensor(a, dtype=like.dtype), torch.as_tensor(b, dtype=like.dtype))


def straight_through(a, b):
    """The number a with the gradient of b."""
    return b + (a - b).detach()


def average_pool(x, pads, window, stride):
    """Of the elements in a window that are not padding."""
    pool = F.avg_pool2d if len(window) == 2 else F.avg_pool3d
    share = pool(F.pad(torch.ones_like(x[:1, :1]), pads), window, stride=stride)
    return pool(F.pad(x, pads), window, stride=stride) / share


def heads(x, count, apart=0, own=0):
    """[N, T, heads * C] as [N, heads, T, C]; of heads that begin `apart`, the first `own` channels of each."""
    if apart:
        x = torch.cat([x[..., h * apart : h * apart + own] for h in range(count)], -1)
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def side_by_side(x):
    """[N, heads, T, C] as [N, T, heads * C]."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def in_groups(x, groups, apart, count):
    """Of channels that groups of `apart` begin with, the first `count` of each group."""
    return torch.cat([x[:, g * apart : g * apart + count] for g in range(groups)], 1)


def embedding(tokens, rows, first):
    """Of a table of which the rows from `first` on are here; zeros for the others."""
    place = tokens - first
    here = (place >= 0) & (place < rows.shape[0])
    return F.embedding(torch.where(here, place, torch.zeros_like(place)), rows) * here.unsqueeze(-1)


def causal(x, first_row, first_column):
    row = torch.arange(first_row, first_row + x.shape[-2], device=x.device).unsqueeze(-1)
    column = torch.arange(first_column, first_column + x.shape[-1], device=x.device)
    return x.masked_fill(column > row, float("-inf"))


def largest(x, dim):
    return x.detach().amax(dim)


def powers(x, of, dim):
    """exp(x - of), and 0 where all is minus infinity."""
    return torch.exp(x - of.clamp(min=-3e38).unsqueeze(dim))


def position_buckets(ahead, buckets, distance, causal):
    """The buckets of keys so many places before a query: of a side's one half have a distance each, the widths of the
    others grow by one factor up to `distance`."""
    each = buckets if causal else buckets // 2
    near = each // 2
    apart = (-ahead).clamp(min=0) if causal else ahead.abs()
    far = torch.log(apart.double().clamp(min=1) / near) / math.log(distance / near)
    place = torch.where(apart < near, apart, (near + (far * (each - near) + 1e-9).long()).clamp(max=each - 1))
    return place if causal else place + each * (ahead > 0)


def attention_scores(
    q,
    k,
    queries,
    groups,
    scale,
    first=(0, 0, 0),
    causal=False,
    window=0,
    softcap=0.0,
    alibi=0,
    table=None,
    distance=0,
    lengths=None,
    mask=None,
):
    """[N, T, queries * W] and [N, S, groups * W] to scores [N, queries, T, S]: minus infinity where a query does not see a
    key. `first`: the head, the place among the keys of the query, and the key, with which the shard begins; `alibi`: how
    many heads there are in all; `table`: [buckets, queries], with the `distance` from which on all are in one bucket;
    `lengths` [N] or a `mask` [N, S] of keys."""
    keys = heads(k, groups).repeat_interleave(queries // groups, 1)
    z = torch.matmul(heads(q, queries), keys.transpose(-2, -1)) * scale
    if softcap:
        z = softcap * torch.tanh(z / softcap)
    if mask is not None:
        z = z.masked_fill((mask == 0).view(len(mask), 1, 1, -1), float("-inf"))
    if not (causal or window or alibi or table is not None or lengths is not None):
        return z
    head, row, column = first
    row = torch.arange(row, row + z.shape[-2], device=z.device).unsqueeze(-1)
    column = torch.arange(column, column + z.shape[-1], device=z.device)
    if alibi:
        slope = torch.arange(head + 1, head + 1 + queries, device=z.device, dtype=z.dtype)
        z = z - torch.exp2(slope * (-8.0 / alibi)).view(-1, 1, 1) * (row - column)
    if table is not None:
        buckets = position_buckets(column - row, len(table), distance, causal)
        z = z + table[buckets].permute(2, 0, 1).to(z.dtype)
    if lengths is not None:
        z = z.masked_fill(column >= lengths.view(-1, 1, 1, 1), float("-inf"))
    hidden = column > row if causal else torch.zeros_like(column - row, dtype=torch.bool)
    if window:
        hidden = hidden | ((column - row).abs() >= window)
    return z.masked_fill(hidden, float("-inf"))


def attention_weights(z):
    """Their softmax; zeros for queries that see no key."""
    return torch.softmax(z, -1).masked_fill((z == float("-inf")).all(-1, keepdim=True), 0.0)


def attention_mixture(weights, v, groups):
    values = heads(v, groups).repeat_interleave(weights.shape[1] // groups, 1)
    return side_by_side(torch.matmul(weights, values))


def class_loss(x, labels, most, total, dim, first):
    """What the classes from `first` on add to the cross-entropy of rows: all of it where the label is one of them."""
    place = labels - first
    here = (place >= 0) & (place < x.shape[dim])
    place = torch.where(here, place, torch.zeros_like(place)).unsqueeze(dim)
    loss = torch.log(total) + (most - x.gather(dim, place).squeeze(dim))
    return torch.where(here, loss, torch.zeros_like(loss))


def moments(x, dims):
    """Sums of x and of x^2, in double."""
    variance, mean = (t.double() for t in torch.var_mean(x, dims, correction=0))
    return torch.stack([mean, variance + mean * mean]) * (x.numel() // mean.numel())


def layer_norm(x, sums, count, gamma, beta, epsilon):
    mean, square = sums[0] / count, sums[1] / count
    scale = torch.rsqrt((square - mean * mean).clamp(min=0) + epsilon)
    return ((x - mean.unsqueeze(-1)) * scale.unsqueeze(-1)).to(x.dtype) * gamma + beta


def spread(x, places, rank):
    """x among `rank` dimensions, dimension d at places[d]; where that is -1 it has one element, and goes away."""
    x = x.reshape([e for e, place in zip(x.shape, places) if place >= 0])
    kept = [place for place in places if place >= 0]
    x = x.permute([kept.index(place) for place in sorted(kept)])
    for place in range(rank):
        x = x if place in kept else x.unsqueeze(place)
    return x


def counted(first, end, place, rank, device):
    """The numbers from `first` to `end` along one of `rank` dimensions."""
    return torch.arange(first, end, device=device).reshape([-1 if d == place else 1 for d in range(rank)])


def _index(index, sizes, device):
    """first + the sum of step * i over loops of these sizes, a dimension for each of them."""
    first, terms = index
    at = torch.full([1] * len(sizes), first, device=device)
    for place, step in terms:
        at = at + step * counted(0, sizes[place], place, len(sizes), device)
    return at


def points(x, indices, first, sizes):
    """A number of x for each point of some loops; x begins at `first` of the whole tensor. See inside()."""
    at = [_index(i, sizes, x.device) - f for i, f in zip(indices, first)]
    return x[tuple(i.clamp(0, max(e - 1, 0)) for i, e in zip(at, x.shape))]


def inside(indices, whole, sizes, device):
    """Which points of the loops lie in the whole tensor."""
    all_of = torch.ones([1] * len(sizes), dtype=torch.bool, device=device)
    for index, extent in zip(indices, whole):
        at = _index(index, sizes, device)
        all_of = all_of & (at >= 0) & (at < extent)
    return all_of


def total(x, dims):
    return x.double().sum(dims)


def first_largest(x, dims):
    """The largest; its gradient goes to the first of equal ones. NaN is larger than all."""
    kept = [d for d in range(x.dim()) if d not in dims]
    x = x.permute(*kept, *dims).flatten(len(kept))
    most = (x == x.detach().amax(-1, keepdim=True)) | x.isnan()
    first = most & (most.cumsum(-1) == 1)
    return torch.where(first, x, torch.zeros_like(x)).sum(-1)


# -------------------------------------------------------------------------------------------------------------- transport


class _Transport:
    """The moves of an exchange as this rank sees them; `back`: their reverse."""

    def __init__(self, exchange, rank, back):
        ends = (exchange.targets, exchange.sources) if back else (exchange.sources, exchange.targets)
        self.have = [i for i, (r, _) in enumerate(ends[0]) if r == rank]
        self.want = [i for i, (r, _) in enumerate(ends[1]) if r == rank]
        self.shapes = [extents(ends[1][i][1]) for i in self.want]
        self.local, self.sends, self.receives = [], {}, {}
        for number, (source, target, region) in enumerate(exchange.moves):
            a, b = (target, source) if back else (source, target)
            (from_rank, from_region), (to_rank, to_region) = ends[0][a], ends[1][b]
            give = (self.have.index(a), within(region, from_region)) if from_rank == rank else None
            take = (number, self.want.index(b), within(region, to_region), extents(region)) if to_rank == rank else None
            if give and take:
                self.local.append((take, give))
            elif give:
                self.sends.setdefault(to_rank, []).append(give)
            elif take:
                self.receives.setdefault(from_rank, []).append(take)

    @staticmethod
    def _volume(shape):
        n = 1
        for e in shape:
            n *= e
        return n

    def messages(self, tensors):
        """For every rank that this one sends to, one flat message."""
        for to, boxes in sorted(self.sends.items()):
            yield to, torch.cat([tensors[i][where].reshape(-1) for i, where in boxes]).contiguous()

    def buffers(self, like):
        for source, boxes in sorted(self.receives.items()):
            yield source, like.new_empty(sum(self._volume(shape) for *_, shape in boxes))

    def assemble(self, tensors, arrived, like, largest):
        """What this rank wants, from its own boxes and the messages, in the order of the moves."""
        boxes = [(take, tensors[i][where]) for take, (i, where) in self.local]
        for source, flat in arrived.items():
            at = 0
            for take in self.receives[source]:
                n = self._volume(take[3])
                boxes.append((take, flat[at : at + n].reshape(take[3])))
                at += n
        out = [like.new_full(shape, float("-inf")) if largest else like.new_zeros(shape) for shape in self.shapes]
        for (_, i, where, _), box in sorted(boxes, key=lambda x: x[0][0]):
            if largest:
                out[i][where] = torch.maximum(out[i][where], box)
            else:
                out[i][where] += box
        return out


class _Exchange(torch.autograd.Function):
    """Boxes forward, the gradients of the same boxes backward. `anchor` makes it a node of every rank's graph."""

    @staticmethod
    def forward(ctx, rank, name, anchor, *tensors):
        ctx.rank, ctx.name = rank, name
        ctx.like = tensors[0].detach()[:0] if tensors else anchor.detach().reshape(1)[:0]
        out = rank.move(name, tensors, ctx.like)
        return (anchor.detach().clone(), *out)

    @staticmethod
    def backward(ctx, _, *gradients):
        like = gradients[0][:0] if gradients else ctx.like
        back = ctx.rank.move(ctx.name, gradients, like, back=True)
        return (None, None, torch.zeros((), device=like.device), *back)


# ------------------------------------------------------------------------------------------------------------------ ranks


@dataclasses.dataclass
class _Frame:
    """What the forward pass of a stage and a micro-batch leaves for its backward pass."""

    roots: list = dataclasses.field(default_factory=list)  # tensors, and their gradients or None
    received: list = dataclasses.field(default_factory=list)  # exchange, leaves
    sent: list = dataclasses.field(default_factory=list)  # exchange, tensors


def _part(tensor, number, count):
    """Slice `number` of `count` of a tensor's elements, as a view."""
    flat = tensor.view(-1)
    return flat[flat.numel() * number // count : flat.numel() * (number + 1) // count]


def _sharers(homes, region):
    """The ranks that hold a region of a parameter."""
    return tuple(sorted(r for r, other in homes if other == region))


def _overlaps(homes):
    """True where regions of a parameter that are not the same have elements in common."""
    regions = list(dict.fromkeys(tuple(region) for _, region in homes))
    return any(
        all(x[0] < y[1] and y[0] < x[1] for x, y in zip(a, b)) for i, a in enumerate(regions) for b in regions[:i]
    )


def require_sums(program):
    """Raises ValueError where a gradient that several ranks have a share of is not summed, once, in all its slices."""
    summed = {}
    for bucket in program.buckets:
        for name, number, count in bucket.parts():
            summed.setdefault(name, []).append((number, count))
    for name, p in program.parameters.items():
        parts = sorted(summed.get(name, []))
        if p.trained and len(p.homes) > 1 and (not parts or parts != [(i, parts[0][1]) for i in range(parts[0][1])]):
            raise ValueError(
                f"the buckets sum {len(parts)} slices of the gradient of {name}, which are not all of it once; "
                "export the program again"
            )


def _resize(tensor, elements):
    """The memory of a tensor that others refer to, given up or back."""
    if hasattr(tensor, "untyped_storage"):
        tensor.untyped_storage().resize_(elements * tensor.element_size())
    else:
        tensor.storage().resize_(elements)


class _Sliced:
    """A copy of a parameter of which this rank keeps a slice between its uses; the ranks that share it keep the others."""

    def __init__(self, tensor, ranks, rank):
        self.tensor, self.ranks, self.rank, self.whole = tensor, ranks, rank, tensor.numel()
        self.each = -(-self.whole // len(ranks))
        at = ranks.index(rank) * self.each
        self.begin, self.end = min(at, self.whole), min(at + self.each, self.whole)
        self.own = tensor.detach().reshape(-1)[self.begin : self.end].clone().requires_grad_(tensor.requires_grad)
        self.users = 0
        _resize(tensor, 0)

    def gather(self, group):
        self.users += 1
        if self.users > 1:
            return
        own = F.pad(self.own.detach(), (0, self.each - self.own.numel()))
        parts = [torch.empty_like(own) for _ in self.ranks]
        dist.all_gather(parts, own, group=group)
        _resize(self.tensor, self.whole)
        self.tensor.data.view(-1).copy_(torch.cat(parts)[: self.whole])

    def give_up(self):
        self.users -= 1
        if self.users == 0:
            _resize(self.tensor, 0)

    def sum_gradient(self, group):
        """Every rank gets the sum of its slice."""
        flat = F.pad(self.tensor.grad.reshape(-1), (0, self.each * len(self.ranks) - self.whole))
        parts = [part.clone() for part in flat.split(self.each)]
        flights = [dist.reduce(part, to, group=group, async_op=True) for part, to in zip(parts, self.ranks)]
        for flight in flights:
            flight.wait()
        self.own.grad = parts[self.ranks.index(self.rank)][: self.own.numel()].clone()
        self.tensor.grad = None


class Rank:
    """One rank of a program in training."""

    def __init__(self, program, weights=None, device=None):
        self.program = program
        self.rank = dist.get_rank()
        if dist.get_world_size() != program.ranks:
            raise ValueError(
                f"the program is for {program.ranks} ranks and {dist.get_world_size()} have started: "
                f"start it with --nproc-per-node {program.ranks}"
            )
        self.device = torch.device(device or "cpu")
        if self.device.type == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # fp32, as Tessera
        require_sums(program)
        self.steps = 0
        self.norms = None  # where they are wanted: of the last step's gradients
        self.anchor = torch.zeros((), device=self.device, requires_grad=True)
        self.transports = {
            (name, back): _Transport(x, self.rank, back)
            for name, x in program.exchanges.items()
            for back in (False, True)
        }
        self.numbers = {name: i for i, name in enumerate(program.exchanges)}
        self._make_groups()
        self._load(weights or pathlib.Path(program.folder) / "weights.safetensors")
        self.optimizers = self._make_optimizer()

    def _make_groups(self):
        """All ranks make all groups, in one order."""
        self.members = {name: tuple(sorted({r for r, _ in x.sources})) for name, x in self.program.exchanges.items()}
        everyone = set(self.members.values())
        for p in self.program.parameters.values():
            everyone.add(tuple(sorted({r for r, _ in p.homes})))
            everyone.update(_sharers(p.homes, region) for _, region in p.homes)
        self.groups = {ranks: dist.new_group(list(ranks)) for ranks in sorted(everyone) if len(ranks) > 1}
        everyone = list(range(self.program.ranks))
        if self.device.type == "cpu":
            ways = (dist.new_group(everyone), dist.new_group(everyone))
            self.way = lambda source, to, back: ways[back]
            return
        # NCCL has no tags, and what two ranks send each other in one group waits for each other: a group for either
        # direction between two ranks, where messages must be asked for in the order in which they are sent.
        pairs = {(x.sources[a][0], x.targets[b][0]) for x in self.program.exchanges.values() for a, b, _ in x.moves}
        pairs = {(*p, False) for p in pairs} | {(*reversed(p), True) for p in pairs} if len(self.program.stages) > 1 else ()
        ways = {pair: dist.new_group(list(pair[:2])) for pair in sorted(pairs) if pair[0] != pair[1]}
        self.way = lambda source, to, back: ways[source, to, back]
        # NCCL connects a group when all of its ranks call it, and some exchanges are of a few ranks.
        members = [(everyone, None), *self.groups.items(), *((pair[:2], group) for pair, group in ways.items())]
        for ranks, group in members:
            if self.rank in ranks:
                dist.all_reduce(torch.zeros(1, device=self.device), group=group)

    def _load(self, path):
        whole = read_safetensors(path)
        missing = [name for name in self.program.parameters if name not in whole]
        if missing:
            raise ValueError(f"{path} has no {', '.join(missing)}: take the weights that were exported with the program")
        self.pieces = {}  # name: [(index among the homes, tensor)]
        self.copies = {}  # name: [(ranks that hold the same region, tensor)], in the order of regions; None where users
        for name, p in self.program.parameters.items():  # split it differently
            if list(whole[name].shape) != list(p.shape):
                raise ValueError(f"{path}: {name} is {list(whole[name].shape)} and the program wants {list(p.shape)}")
            none = [(0, e) for e in p.shape]
            self.pieces[name] = [
                (i, whole[name][within(region, none)].clone().contiguous().to(self.device).requires_grad_(p.trained))
                for i, (rank, region) in enumerate(p.homes)
                if rank == self.rank
            ]
            own = sorted((p.homes[i][1], i, tensor) for i, tensor in self.pieces[name])
            self.copies[name] = (
                None if _overlaps(p.homes) else [(_sharers(p.homes, region), tensor) for region, _, tensor in own]
            )
        self.by_stage = {}
        kept = {name for names in self.program.gathers for name in names}
        self.sliced = {
            id(tensor): _Sliced(tensor, ranks, self.rank)
            for name in self.program.parameters
            for ranks, tensor in (self.copies[name] or [] if name in kept else [])
            if len(ranks) > 1
        }

    def _stored(self, tensor):
        """What this rank keeps of a piece of a parameter, and the optimizer updates."""
        return self.sliced[id(tensor)].own if id(tensor) in self.sliced else tensor

    def _gathered(self, stage):
        """The sliced parameters that all who share them use in a stage, in one order; stage None: the others, which are
        whole during a step, since ranks come to their stages at different times."""
        if stage in self.by_stage:
            return self.by_stage[stage]
        together = self.by_stage[stage] = []
        for name in dict.fromkeys(n for s in self.program.gathers for n in s):
            for ranks, tensor in self.copies[name] or []:
                if id(tensor) in self.sliced:
                    uses = [i for i, names in enumerate(self.program.gathers) if name in names]
                    alike = all(set(ranks) <= set(self.program.stages[i]) for i in uses)
                    if (stage in uses) if alike else stage is None:
                        together.append(self.sliced[id(tensor)])
        return together

    def _gather(self, stage):
        for x in self._gathered(stage):
            x.gather(self.groups[x.ranks])

    def _give_up(self, stage):
        for x in self._gathered(stage):
            x.give_up()

    def _make_optimizer(self):
        how = dict(self.program.optimizer)
        kind = how.pop("kind")
        self.clip_norm, self.clip_value = how.pop("clip_norm", 0.0), how.pop("clip_value", 0.0)
        self.loss_scale = how.pop("loss_scale", 1.0)
        groups = [
            {"params": [self._stored(t) for _, t in pieces], "lr": how["lr"] * p.rate, "weight_decay": p.decay}
            for name, pieces in self.pieces.items()
            for p in [self.program.parameters[name]]
            if p.trained and pieces
        ]
        made = {
            "sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop
        }[kind]  # fmt: skip
        return [made(groups, **how)] if groups else []

    # What stages call -------------------------------------------------------------------------------------------------

    def parameter(self, name, number=0):
        return self.pieces[name][number][1]

    def take(self, name):
        """This rank's regions of an input of the network, for the micro-batch at hand."""
        x = self.program.exchanges[name]
        whole = self.batch[x.input]
        regions = [region for rank, region in x.targets if rank == self.rank]
        return tuple(whole[within(self._moved(r), [(0, e) for e in whole.shape])].to(self.device) for r in regions)

    def _moved(self, region):
        by = self.micro_batch * (self.program.batch // self.program.micro_batches)
        return ((region[0][0] + by, region[0][1] + by), *region[1:])

    def exchange(self, name, *tensors):
        x = self.program.exchanges[name]
        if not x.differentiable:
            like = tensors[0].detach()[:0] if tensors else torch.empty(0, device=self.device)
            return tuple(self.move(name, [t.detach() for t in tensors], like))
        token, *out = _Exchange.apply(self, name, self.anchor, *tensors)
        self.frame.roots.append((token, None))
        return tuple(out)

    def send(self, name, *tensors):
        """To a later stage: what stays here waits for it, messages are on their way when this returns."""
        if not self.again:
            self._post(name, tensors, back=False)
        self.frame.sent.append((name, tensors))

    def receive(self, name):
        if self.again:
            leaves = self.inputs[(self.stage, self.micro_batch, name)]
        else:
            leaves = self._collect(name, back=False)
            if self.program.exchanges[name].differentiable:
                leaves = [x.requires_grad_() for x in leaves]
            self.inputs[(self.stage, self.micro_batch, name)] = leaves
        self.frame.received.append((name, leaves))
        return tuple(leaves)

    def loss(self, rows, factor):
        own = rows.sum() * factor
        self.frame.roots.append((own * self.loss_scale, None))
        if not self.again:
            self.total += own.detach().double()

    def dropout(self, name, x, number=0):
        d = self.program.dropouts[name]
        region = self._moved([region for rank, region in d.shards if rank == self.rank][number])
        return x * dropout_factors(d, region, self.program.seed, self.steps).to(device=x.device, dtype=x.dtype)

    def batch_norm(self, x, sums, count, gamma, beta, epsilon, running=None, momentum=0.0):
        if running is not None and not self.again:
            whole = self.statistics.setdefault(id(running), [running, momentum, torch.zeros_like(sums), 0])
            whole[2] += sums.detach()
            whole[3] += count
        mean, square = sums[0] / count, sums[1] / count
        scale = torch.rsqrt((square - mean * mean).clamp(min=0) + epsilon) * gamma
        shape = [1, -1, *[1] * (x.dim() - 2)]
        return x * scale.to(x.dtype).view(shape) + (beta - mean * scale).to(x.dtype).view(shape)

    def move(self, name, tensors, like, back=False):
        """Runs an exchange: an all-reduce and an all-gather as such, anything else as batched sends and receives."""
        x, ranks = self.program.exchanges[name], self.members[name]
        if x.kind == "all-reduce":
            whole = tensors[0].detach().clone().contiguous()
            dist.all_reduce(whole, op=dist.ReduceOp.MAX if x.largest else dist.ReduceOp.SUM, group=self.groups[ranks])
            return [whole]
        transport = self.transports[name, back]
        if x.kind == "all-gather" and not back:
            whole = tensors[0].detach().contiguous()
            parts = [torch.empty_like(whole) for _ in ranks]
            dist.all_gather(parts, whole, group=self.groups[ranks])
            by_rank = dict(zip(ranks, parts))
            regions = [region for _, region in x.sources]
            dim = next(d for d in range(len(regions[0])) if regions[0][d] != regions[1][d])
            return [torch.cat([by_rank[r] for r, _ in x.sources], dim)]
        arrived = {source: flat for source, flat in transport.buffers(like)}
        outgoing = dict(transport.messages([t.detach() for t in tensors]))
        peers = [dist.P2POp(dist.isend, flat, to) for to, flat in outgoing.items()]
        peers += [dist.P2POp(dist.irecv, flat, source) for source, flat in arrived.items()]
        for work in dist.batch_isend_irecv(peers) if peers else []:
            work.wait()
        return transport.assemble([t.detach() for t in tensors], arrived, like, x.largest and not back)

    def _tag(self, name, back):
        return 1 + (self.numbers[name] * self.program.micro_batches + self.micro_batch) * 2 + int(back)

    def _message(self, what, flat, way, peer, name):
        """Of a group's own communicator, which NCCL takes for batches alone."""
        return dist.batch_isend_irecv([dist.P2POp(what, flat, peer, self.way(*way), self._tag(name, way[2]))])

    def _post(self, name, tensors, back):
        transport = self.transports[name, back]
        tensors = [t.detach() for t in tensors]
        self.mail[name, self.micro_batch, back] = tensors
        for to, flat in transport.messages(tensors):
            for work in self._message(dist.isend, flat, (self.rank, to, back), to, name):
                self.pending.append((work, flat))

    def _collect(self, name, back):
        transport = self.transports[name, back]
        here = self.mail.pop((name, self.micro_batch, back), [])
        like = here[0][:0] if here else torch.empty(0, device=self.device)
        arrived = {source: flat for source, flat in transport.buffers(like)}
        for source, flat in arrived.items():
            for work in self._message(dist.irecv, flat, (source, self.rank, back), source, name):
                work.wait()
        return transport.assemble(here, arrived, like, False)

    # A step -----------------------------------------------------------------------------------------------------------

    def _run(self, stage, again):
        self.stage, self.again, self.frame = stage, again, _Frame()
        recomputes = stage in self.program.recomputes
        with torch.set_grad_enabled(again or not recomputes):
            self.program.stages[stage][self.rank](self)
        return self.frame

    def _forward(self, stage):
        self.frames[stage, self.micro_batch] = self._run(stage, again=False)

    def _backward(self, stage, inputs_alone=False):
        """`inputs_alone`: gradients of what the stage received; those of its parameters follow in _backward_weights()."""
        frame = self.frames.pop((stage, self.micro_batch))
        if stage in self.program.recomputes:
            frame = self._run(stage, again=True)
        roots = [root for root in frame.roots if root[0].requires_grad]
        for name, tensors in reversed(frame.sent):  # as they are posted
            if self.program.exchanges[name].differentiable:
                roots += [r for r in zip(tensors, self._collect(name, back=True)) if r[0].requires_grad]
        if inputs_alone:
            received = [x for _, leaves in frame.received for x in leaves if x.requires_grad]
            self._pass_back(roots, inputs=[*received, self.anchor], retain_graph=True)
            self.left[stage, self.micro_batch] = roots
        else:
            self._pass_back(roots)
        for name, leaves in reversed(frame.received):
            self.inputs.pop((stage, self.micro_batch, name), None)
            if self.program.exchanges[name].differentiable:
                self._post(name, [x.grad if x.grad is not None else torch.zeros_like(x) for x in leaves], back=True)

    def _pass_back(self, roots, **how):
        if roots:
            gradients = [g if g is not None else torch.ones_like(t) for t, g in roots]
            torch.autograd.backward([t for t, _ in roots], gradients, **how)

    def _backward_weights(self, stage):
        """With the anchor, so that every exchange inside the stage has its reverse on all ranks here too."""
        pieces = [t for pieces in self.pieces.values() for _, t in pieces if t.requires_grad]
        self._pass_back(self.left.pop((stage, self.micro_batch)), inputs=[*pieces, self.anchor])

    def _act(self, what, stage):
        self._gather(stage)
        if what == "forward":
            self._forward(stage)
        elif what == "backward-weight":
            self._backward_weights(stage)
        else:
            self._backward(stage, inputs_alone=what == "backward-input")
        self._give_up(stage)

    def step(self, batch):
        """One step on a batch of {input: tensor}, whole on every rank; returns its loss before the update."""
        for name, (shape, _) in self.program.inputs.items():
            if name not in batch or list(batch[name].shape) != list(shape):
                got = list(batch[name].shape) if name in batch else "none"
                raise ValueError(f"the batch's {name} must be {list(shape)}, and is {got}")
        self.batch = batch
        self.total = torch.zeros((), dtype=torch.float64, device=self.device)
        self.frames, self.inputs, self.mail, self.pending, self.statistics, self.left = {}, {}, {}, [], {}, {}
        self._gather(None)
        for what, stage, micro_batch in self.program.actions:
            if self.rank in self.program.stages[stage]:
                self.micro_batch = micro_batch
                self._act(what, stage)
        for work, _ in self.pending:
            work.wait()
        self._sum_gradients()
        self._give_up(None)
        if self.norms is not None:
            self.norms = self._norms()
        self._clip()
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self._send_from_servers()
        self.anchor.grad = None
        self._follow_statistics()
        self.steps += 1
        dist.all_reduce(self.total)
        return self.total.item()

    def _gradient(self, tensor):
        if tensor.grad is None:
            tensor.grad = torch.zeros(tensor.shape, device=tensor.device)
        elif not tensor.grad.is_contiguous():
            tensor.grad = tensor.grad.contiguous()
        return tensor.grad

    def _sum_gradients(self):
        """Bucket by bucket, all in flight at once: one all-reduce (with a server one reduce) for those of the same ranks."""
        flights = []
        everywhere = self.clip_norm > 0 or self.clip_value > 0 or self.norms is not None  # servers' sums too
        for bucket in self.program.buckets:
            together = {}
            for name, number, count in bucket.parts():
                if self.copies[name] is None:
                    self._sum_overlapping(name) if number == 0 else None
                    continue
                for ranks, tensor in self.copies[name]:
                    if id(tensor) in self.sliced:
                        self._gradient(tensor)
                        self.sliced[id(tensor)].sum_gradient(self.groups[ranks]) if number == 0 else None
                        continue
                    together.setdefault(ranks, []).append(_part(self._gradient(tensor), number, count))
            for ranks, gradients in sorted(together.items()):
                if len(ranks) < 2:
                    continue
                flat = torch.cat(gradients)
                group = self.groups[ranks]
                if bucket.how == "server" and not everywhere:
                    work = dist.reduce(flat, ranks[bucket.server % len(ranks)], group=group, async_op=True)
                else:
                    work = dist.all_reduce(flat, group=group, async_op=True)
                flights.append((work, flat, gradients))
        for work, flat, gradients in flights:
            work.wait()
            at = 0
            for g in gradients:
                g.copy_(flat[at : at + g.numel()].view_as(g))
                at += g.numel()
        if self.loss_scale != 1.0:
            for tensor in self._updated():
                if tensor.grad is not None:
                    tensor.grad /= self.loss_scale

    def _updated(self):
        return [self._stored(t) for pieces in self.pieces.values() for _, t in pieces]

    def _sum_overlapping(self, name):
        """Of a parameter that its users split differently: each copy gets the sum over all that overlap it."""
        p = self.program.parameters[name]
        ranks = tuple(sorted({r for r, _ in p.homes}))
        if self.rank not in ranks:
            return
        whole = torch.zeros(p.shape, device=self.device)
        none = [(0, e) for e in p.shape]
        for i, tensor in self.pieces[name]:
            whole[within(p.homes[i][1], none)] += self._gradient(tensor)
        if len(ranks) > 1:
            dist.all_reduce(whole, group=self.groups[ranks])
        for i, tensor in self.pieces[name]:
            tensor.grad = whole[within(p.homes[i][1], none)].clone()

    def _send_from_servers(self):
        for bucket in self.program.buckets:
            if bucket.how != "server":
                continue
            for name, number, count in bucket.parts():
                for ranks, tensor in self.copies[name] or []:
                    part = _part(tensor.data, number, count)
                    if len(ranks) > 1 and part.numel() > 0:
                        dist.broadcast(part, ranks[bucket.server % len(ranks)], group=self.groups[ranks])

    def _clip(self):
        if self.clip_norm > 0:
            squares = torch.zeros((), dtype=torch.float64, device=self.device)
            for name, copies in self.copies.items():
                for ranks, tensor in copies or []:
                    if (ranks[0] == self.rank or id(tensor) in self.sliced) and tensor.requires_grad:
                        squares += self._gradient(self._stored(tensor)).double().square().sum()
            dist.all_reduce(squares)
            factor = self.clip_norm / (squares.sqrt().item() + 1e-6)
            if factor < 1:
                for tensor in self._updated():
                    if tensor.grad is not None:
                        tensor.grad *= factor
        if self.clip_value > 0:
            for tensor in self._updated():
                if tensor.grad is not None:
                    tensor.grad.clamp_(-self.clip_value, self.clip_value)

    def _follow_statistics(self):
        """Running mean and variance, once a step, of all its micro-batches; the variance with n - 1."""
        for running, momentum, sums, count in self.statistics.values():
            mean = sums[0] / count
            variance = (sums[1] / count - mean * mean).clamp(min=0) * (count / max(count - 1, 1))
            running.mul_(1 - momentum).add_(torch.stack([mean, variance]).to(running.dtype), alpha=momentum)

    def _whole(self, name, number_of):
        """On rank 0 a tensor of a parameter's shape, from number_of(what a rank keeps of a piece); elsewhere None."""
        p = self.program.parameters[name]
        mine = []
        for i, t in self.pieces[name]:
            begin = self.sliced[id(t)].begin if id(t) in self.sliced else 0
            mine.append((p.homes[i][1], begin, number_of(self._stored(t)).detach().cpu().reshape(-1)))
        parts = [None] * self.program.ranks if self.rank == 0 else None
        dist.gather_object(mine, parts)
        if self.rank != 0:
            return None
        whole, flat = torch.zeros(p.shape), {}
        for region, begin, numbers in [x for part in parts for x in part]:
            region = tuple(region)
            if region not in flat:
                flat[region] = torch.zeros(whole[within(region, [(0, e) for e in p.shape])].numel())
            flat[region][begin : begin + numbers.numel()] = numbers
        for region, numbers in flat.items():
            whole[within(region, [(0, e) for e in p.shape])] = numbers.reshape(extents(region))
        return whole

    def _norms(self):
        """On rank 0 the norm of every trained parameter's gradient, as it is before it is clipped."""
        norms = {}
        for name, p in self.program.parameters.items():
            if p.trained:
                whole = self._whole(name, self._gradient)
                norms[name] = whole.double().norm().item() if whole is not None else 0.0
        return norms

    def save(self, path):
        """Writes all parameters, whole, from rank 0."""
        whole = {name: self._whole(name, lambda t: t) for name in self.program.parameters}
        if self.rank == 0:
            write_safetensors(path, whole)


# ------------------------------------------------------------------------------------------------------------------ files


def read_safetensors(path):
    types = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64, "I32": torch.int32}  # fmt: skip
    data = pathlib.Path(path).read_bytes()
    if len(data) < 8 or struct.unpack("<Q", data[:8])[0] > len(data) - 8:
        raise ValueError(f"{path} is no safetensors file")
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, x in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + o for o in x["data_offsets"])
            flat = torch.frombuffer(bytearray(data[begin:end]), dtype=types[x["dtype"]]) if end > begin else torch.empty(0)
            tensors[name] = flat.reshape(x["shape"])
    return tensors


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, x in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + 4 * x.numel()]}
        at += 4 * x.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            x = x.to(torch.float32).contiguous()
            file.write(ctypes.string_at(x.data_ptr(), 4 * x.numel()))


def batches(program, data, shuffle=None, epoch=0):
    """Full batches of a data set of {input: tensor}, epoch after epoch, in Tessera's order for a seed."""
    size = min(x.shape[0] for x in data.values())
    if size < program.batch:
        raise ValueError(f"the data set has {size} samples and a batch takes {program.batch}")
    while True:
        order = list(range(size)) if shuffle is None else epoch_order(size, shuffle, epoch)
        for first in range(0, size - program.batch + 1, program.batch):
            rows = torch.tensor(order[first : first + program.batch])
            yield {name: x[rows] for name, x in data.items()}
        epoch += 1


def read_data(program, path):
    """A file of samples: a tensor for every input, by its name; integers may be numbers there."""
    data = read_safetensors(path)
    missing = [name for name in program.inputs if name not in data]
    if missing:
        raise ValueError(f"{path} has no {', '.join(missing)}; the program's inputs are {', '.join(program.inputs)}")
    return {
        name: data[name].to(torch.int64 if kind == "i32" else torch.float32) for name, (_, kind) in program.inputs.items()
    }


def _drawn(number, count):
    """mix() of 0, 1, ... as unsigned numbers, modulo `number`."""
    z = mix_all(torch.arange(count, dtype=torch.int64))
    high, low = _shifted(z, 32), z & 0xFFFFFFFF
    return ((high % number) * ((1 << 32) % number) + low % number) % number


def check_batch(program):
    """The batch of made-up samples with which the first steps were recorded."""
    batch = {}
    for name, (shape, kind) in program.inputs.items():
        count = _Transport._volume(shape)
        if kind == "i32":
            batch[name] = _drawn(program.counts.get(name, 1), count).reshape(shape)
        else:
            batch[name] = (_drawn(2001, count).to(torch.float32) / 1000.0 - 1.0).reshape(shape)
    return batch


def differences(rank):
    """What of the recorded first steps these ranks do not repeat, on rank 0 a sentence for each; elsewhere nothing."""
    program, found = rank.program, []
    batch, rank.norms = check_batch(program), {}
    for step, (loss, norms) in enumerate(program.check):
        own = rank.step(batch)
        if not abs(own - loss) <= program.within * max(abs(loss), 1e-6):
            found.append(f"the loss of step {step} is {own:.9g}, and was {loss:.9g}")
        least = 1e-3 * max(norms.values(), default=0.0)  # below which a norm may be rounding alone
        for name, norm in norms.items() if rank.rank == 0 else ():
            if not abs(rank.norms[name] - norm) <= 10 * program.within * max(norm, least):
                found.append(f"the norm of the gradient of {name} in step {step} is {rank.norms[name]:.6g}, and was {norm:.6g}")
    rank.norms = None
    return found if rank.rank == 0 else []


def check(program, device):
    """Repeats the recorded first steps; the sentences about what differs, on all ranks."""
    path = pathlib.Path(program.folder) / "weights.safetensors"
    if not program.check:
        return [f"nothing was recorded to compare with: {program.unchecked or 'the program was written without it'}"]
    if zlib.crc32(path.read_bytes()) != program.weights_crc:
        return [f"{path} are not the weights that the first steps were recorded with"]
    told = [differences(Rank(program, None, device))]
    dist.broadcast_object_list(told, 0)
    return told[0]


def main(program):
    parser = argparse.ArgumentParser(description="Trains a program that Tessera exported; torchrun starts its ranks.")
    parser.add_argument("--data", help="safetensors with a tensor of samples for every input")
    parser.add_argument("--check", action="store_true",
                        help="repeat the first steps that were recorded when the program was written, and compare")  # fmt: skip
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--shuffle", type=int, help="seed of the order of samples; without it, as the file has them")
    parser.add_argument("--backend", default="gloo", choices=["gloo", "nccl"])
    parser.add_argument("--weights", help="instead of those that were exported")
    parser.add_argument("--save", help="safetensors of the parameters at the end")
    given = parser.parse_args()
    if not given.data and not given.check:
        parser.error("give --data FILE, or --check")
    device = "cpu"
    if given.backend == "nccl":
        if not torch.cuda.is_available():
            sys.exit("there is no GPU that torch can use; --backend gloo runs on the CPU")
        device = f"cuda:{int(os.environ.get('LOCAL_RANK', 0))}"
        torch.cuda.set_device(device)
    dist.init_process_group(given.backend)
    try:
        if given.check:
            wrong = check(program, device)
            if dist.get_rank() == 0:
                for sentence in wrong:
                    print(sentence, flush=True)
                steps = f"the first {len(program.check)} steps"
                print(f"check: {steps} are {'not ' if wrong else ''}those that were recorded", flush=True)
            if wrong:
                sys.exit(1)
            if not given.data:
                return
        rank = Rank(program, given.weights, device)
        feed = batches(program, read_data(program, given.data), given.shuffle)
        for step in range(given.steps):
            loss = rank.step(next(feed))
            if rank.rank == 0:
                print(f"step {step}: loss {loss:.9g}", flush=True)
        if given.save:
            rank.save(given.save)
    except (ValueError, OSError) as e:
        sys.exit(f"rank {dist.get_rank()}: {e}")
    finally:
        dist.destroy_process_group()
)embedded"
