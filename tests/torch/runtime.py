# SPDX-License-Identifier: Apache-2.0
"""What the lines of loop nests call, against the same by hand, element by element: places of dimensions, windows, the first
of equal maxima, sums in double.

Usage: runtime.py FOLDER. FOLDER is what tests/torch/cases.cpp writes. Without torch it says so and is skipped.
"""

import itertools
import pathlib
import sys

import train  # which looks for a python that has torch

import torch


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


def main():
    folder = next(p.parent for p in sorted(pathlib.Path(sys.argv[1]).glob("*/program.py")))
    _, rt = train.load(folder)
    for check in (check_places, check_windows, check_first_largest, check_sums):
        check(rt)
    print("what loop nests call is what they say")


if __name__ == "__main__":
    main()
