# SPDX-License-Identifier: Apache-2.0
"""Units of tessera_runtime.py that compute with tensors, against the same by hand, element by element: places of dimensions,
windows, the first of equal maxima, sums in double, boxes in messages, experts' slots, files. What needs no tensors is in
runtime_alone.py. Without torch it says so and is skipped.
"""

import itertools
import pathlib
import sys
import tempfile

import train  # noqa: F401  (looks for a python that has torch)

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "include" / "tessera" / "backend" / "torch"))
sys.dont_write_bytecode = True
import tessera_runtime  # noqa: E402


def same(a, b, what):
    assert a.shape == b.shape and torch.equal(a, b), f"{what}:\n{a}\n{b}"


def check_places(rt):
    x = torch.arange(6.0).reshape(2, 1, 3)
    y = rt.spread(x, (2, -1, 0), 4)  # x[a, 0, b] stands at y[b, 0, a, 0]
    same(y, x[:, 0].t().reshape(3, 1, 2, 1), "spread")
    same(rt.counted(2, 5, 1, 3, "cpu"), torch.tensor([2, 3, 4]).reshape(1, 3, 1), "counted")


def check_windows(rt):
    """x[n, 2 v + k - 1], of a shard that begins at v = 1 and holds x from place 1 on; the whole has 6 places."""
    whole = torch.randn(2, 6)
    held, first, sizes = whole[:, 1:], (0, 1), (2, 3, 3)
    indices = ((0, ((0, 1),)), (1, ((1, 2), (2, 1))))
    values, inside = rt.points(held, indices, first, sizes), rt.inside(indices, (2, 6), sizes, "cpu")
    for n, v, k in itertools.product(*map(range, sizes)):
        place = 2 * (v + 1) + k - 1
        assert inside.expand(sizes)[n, v, k] == (0 <= place < 6), (n, v, k)
        if 0 <= place < 6:
            assert values[n, v, k] == whole[n, place], (n, v, k)
    assert not inside.expand(sizes).all(), "a window lies outside"


def check_first_largest(rt):
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], requires_grad=True)
    y = rt.first_largest(x, (1,))
    same(y.detach(), torch.tensor([3.0, 2.0]), "the largest")
    y.sum().backward()
    same(x.grad, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), "its gradient")
    z = torch.randn(2, 3, 4, requires_grad=True)
    rt.first_largest(z, (0, 2)).sum().backward()
    same(z.grad, (z == z.amax((0, 2), keepdim=True)).float(), "over two dimensions")
    assert rt.first_largest(torch.tensor([[float("nan"), 1.0]]), (1,)).isnan().all()


def check_sums(rt):
    x = torch.full((1, 3), 1e8)
    x[0, 1], x[0, 2] = 1, -1e8
    assert rt.total(x, (1,)).item() == 1  # in single precision it is 0
    x = torch.randn(4, 3, 5, 5) * 3 + 7
    sums = rt.moments(x, (0, 2, 3))
    exact = torch.stack([x.double().sum((0, 2, 3)), (x.double() ** 2).sum((0, 2, 3))])
    assert sums.dtype == torch.float64 and torch.allclose(sums, exact, rtol=1e-6), (sums, exact)


def check_random_numbers(rt):
    numbers = [0, 1, 12345, 2**63 - 1]
    mixed = rt.mix_all(torch.tensor(numbers))
    assert [x % 2**64 for x in mixed.tolist()] == [rt.mix(x) for x in numbers]
    assert rt._drawn(2001, 50).tolist() == [rt.mix(i) % 2001 for i in range(50)]
    d = rt.Dropout(number=2, percent=25, unit="element", shape=(4, 6), shards=[])
    whole = rt.dropout_factors(d, [(0, 4), (0, 6)], seed=3, step=1)
    assert set(whole.unique().tolist()) <= {0.0, torch.tensor(4 / 3).item()} and 0 < (whole == 0).sum() < 24
    key = rt.mix(rt.mix(rt.mix(3) ^ 1) ^ 2)
    kept = [(rt.mix(place ^ key) >> 32) * 100 >= 25 << 32 for place in range(24)]
    same(whole != 0, torch.tensor(kept).reshape(4, 6), "what is kept goes by the place in the whole tensor")
    same(rt.dropout_factors(d, [(1, 3), (2, 5)], seed=3, step=1), whole[1:3, 2:5], "a shard has the whole's factors")
    assert not torch.equal(rt.dropout_factors(d, [(0, 4), (0, 6)], seed=3, step=2), whole)
    d.unit = "sample"
    rows = rt.dropout_factors(d, [(0, 4), (0, 6)], seed=3, step=1)
    assert rows.shape == (4, 1), rows.shape


def check_rounding(rt):
    x = torch.tensor([1.0 + 2**-9, 3.0], requires_grad=True)
    for rounded, gradient in ((rt.bf16, 1.0), (rt.bf16_weight, 1.0 + 2**-9)):
        x.grad = None
        y = rounded(x)
        same(y.detach(), torch.tensor([1.0, 3.0]), "as bf16")
        y.backward(torch.full((2,), 1.0 + 2**-9))
        same(x.grad, torch.full((2,), gradient), "its gradient")


def check_straight_through(rt):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = rt.straight_through(torch.tensor([5.0, 6.0]), 3 * x)
    same(y.detach(), torch.tensor([5.0, 6.0]), "the first number")
    y.sum().backward()
    same(x.grad, torch.tensor([3.0, 3.0]), "the gradient of the second")


def check_messages(rt):
    """An exchange of three ranks in one process: every message is handed on; rows that two of them have are added up."""
    whole = torch.arange(18.0).reshape(6, 3)
    homes = [((0, 3), (0, 3)), ((2, 4), (0, 3)), ((4, 6), (0, 3))]
    wanted = [((1, 5), (0, 2)), ((0, 6), (2, 3))]

    def common(a, b):
        both = tuple((max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(a, b))
        return both if all(begin < end for begin, end in both) else None

    moves = [(i, j, common(a, b)) for i, a in enumerate(homes) for j, b in enumerate(wanted) if common(a, b)]
    x = rt.Exchange("copies", targets=list(enumerate(wanted)), sources=list(enumerate(homes)), moves=moves)
    none = [(0, 6), (0, 3)]

    def exchanged(tensors, back, largest=False):
        ways = [rt._Transport(x, rank, back) for rank in range(3)]
        sent = {(rank, to): flat for rank, way in enumerate(ways) for to, flat in way.messages(tensors[rank])}
        out = []
        for rank, way in enumerate(ways):
            arrived = {source: sent[source, rank] for source, _ in way.buffers(whole)}
            assert all(flat.numel() == arrived[source].numel() for source, flat in way.buffers(whole))
            out.append(way.assemble(tensors[rank], arrived, whole[:0], largest))
        return out

    there = exchanged([[whole[rt.within(home, none)]] for home in homes], back=False)
    doubled = whole.clone()
    doubled[2] *= 2  # of which two ranks have a share
    for rank, region in enumerate(wanted):
        same(there[rank][0], doubled[rt.within(region, none)], f"what rank {rank} wants")
    assert there[2] == []
    most = exchanged([[whole[rt.within(home, none)]] for home in homes], back=False, largest=True)
    same(most[0][0], whole[1:5, :2], "the largest of equal ones")
    back = exchanged([[torch.ones(4, 2)], [torch.full((6, 1), 5.0)], []], back=True)
    gradient = torch.tensor([[0, 0, 5], [1, 1, 5], [1, 1, 5], [1, 1, 5], [1, 1, 5], [0, 0, 5]]).float()
    for rank, home in enumerate(homes):
        same(back[rank][0], gradient[rt.within(home, none)], f"the gradient of what rank {rank} has")


def check_experts(rt):
    """Two experts of few slots: first choices come before second ones, then earlier tokens; of equal gates the first counts."""
    gates = torch.tensor([[[0.9, 0.1], [0.5, 0.5], [0.4, 0.6]]])
    mask = rt.route(gates, 1, 1, True, (0, 3), (0, 2))
    same(mask, torch.tensor([[[0.9, 0.0], [0.0, 0.0], [0.0, 0.6]]]), "first choices")
    mask = rt.route(gates, 2, 2, False, (0, 3), (1, 2))
    same(mask, torch.tensor([[[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]]), "the second expert's slots")
    x, weight = torch.randn(2, 6, 3), torch.randn(3, 4, 3)
    rows = torch.stack([x[:, i] @ weight[i // 2].t() for i in range(6)], 1)
    torch.testing.assert_close(rt.expert_linear(x, weight), rows)


def check_shapes(rt):
    x = torch.arange(24.0).reshape(1, 2, 12)
    same(rt.side_by_side(rt.heads(x, 3)), x, "heads, and back")
    same(rt.heads(x, 2, apart=6, own=2)[0, 1], x[0, :, 6:8], "the second head's own channels")
    same(rt.in_groups(x.transpose(1, 2), 2, 6, 2)[0, :, 0], torch.tensor([0.0, 1.0, 6.0, 7.0]), "channels of groups")
    same(rt.embedding(torch.tensor([[0, 2, 3, 4]]), torch.tensor([[1.0], [2.0]]), 2), torch.tensor([[[0.0], [1.0], [2.0], [0.0]]]), "rows")
    same(rt.causal(torch.zeros(2, 3), 1, 0) == 0, torch.tensor([[True, True, False], [True, True, True]]), "what came before")
    assert rt.align(torch.zeros(2, 5), 4).shape == (2, 1, 1, 5)
    logits, labels = torch.randn(3, 6), torch.tensor([0, 3, 5])
    most = rt.largest(logits, 1)
    whole = rt.powers(logits, most, 1).sum(1)
    parts = [rt.class_loss(logits[:, f : f + 3], labels, most, whole, 1, f) for f in (0, 3)]
    torch.testing.assert_close(sum(parts), torch.nn.functional.cross_entropy(logits, labels, reduction="none"))


def check_files(rt):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.safetensors"
        written = {"a": torch.randn(2, 3), "none": torch.empty(0), "b": torch.randn(3, 2).t()}
        rt.write_safetensors(path, written)
        read = rt.read_safetensors(path)
        assert list(read) == list(written)
        for name, x in written.items():
            same(read[name], x, name)


def main():
    checks = [check for name, check in globals().items() if name.startswith("check_")]
    for check in checks:
        check(tessera_runtime)
    print(f"{len(checks)} parts of tessera_runtime.py compute what they say")


if __name__ == "__main__":
    main()
