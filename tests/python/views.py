# SPDX-License-Identifier: Apache-2.0
"""Views of tensors (python/tessera/views.py) against plain index arithmetic: random reshapes and permutations, and the
steps that make a tensor of them.

It needs nothing but Python. Usage: views.py ROOT
"""

import importlib.util
import itertools
import math
import pathlib
import random
import sys


def load(root):
    path = pathlib.Path(root) / "python" / "tessera" / "views.py"
    spec = importlib.util.spec_from_file_location("views", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["views"] = module
    spec.loader.exec_module(module)
    return module


def reshape(tensor, shape):
    return (tuple(shape), tensor[1])


def permute(tensor, order):
    """A tensor is its shape and its elements in row-major order."""
    shape, elements = tensor
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    new = tuple(shape[i] for i in order)
    moved = [
        elements[sum(strides[d] * k for d, k in zip(order, index))] for index in itertools.product(*map(range, new))
    ]
    return (new, moved)


def factored(extent, parts, random_):
    """So many factors of an extent; 1 among them."""
    factors = [1] * parts
    for prime in (2, 3, 5, 7):
        while extent % prime == 0:
            factors[random_.randrange(parts)] *= prime
            extent //= prime
    return factors


def main(root):
    views = load(root)
    counts = {"made": 0, "mixed": 0, "whole": 0}
    for seed in range(1500):
        random_ = random.Random(seed)
        base = tuple(random_.choice([2, 3, 4, 6]) for _ in range(random_.randrange(2, 5)))
        tensor = (base, list(range(math.prod(base))))
        view = views.View.of("x", base)
        for _ in range(random_.randrange(0, 6)):
            if random_.random() < 0.5:
                order = list(range(len(view.dims)))
                random_.shuffle(order)
                view, tensor = view.permuted(order), permute(tensor, order)
            else:
                shape = factored(math.prod(view.shape), random_.randrange(1, 6), random_)
                moved = view.reshaped(shape)
                if moved is not None:
                    view, tensor = moved, reshape(tensor, shape)
            assert view.shape == tensor[0], (seed, view, tensor[0])
        order = views.samples_first(view)
        if order is None:
            counts["mixed"] += 1
            continue
        view, tensor = view.permuted(order), permute(tensor, order)
        steps = views.steps_to(view)
        assert steps is not None, (seed, view)
        made = (base, list(range(math.prod(base))))
        split, moved, joined = steps
        made = reshape(made, split) if split is not None else made
        made = permute(made, moved) if moved is not None else made
        made = reshape(made, joined) if joined is not None else made
        assert made == tensor, (seed, view, steps)
        assert moved is None or moved[0] == 0, "the samples are moved"
        counts["made"] += 1
        counts["whole"] += steps == (None, None, None)
    part = views.View("x", (2, 6), ((views.Atom(0, 1, 2),), (views.Atom(1, 3, 2),)))
    assert views.steps_to(part) is None, "a part of a dimension is no tensor"
    assert min(counts.values()) > 50, counts
    print(f"{counts['made']} views are what they say, {counts['mixed']} mix the samples with another dimension")


if __name__ == "__main__":
    main(sys.argv[1])
