#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Units of tessera_runtime.py, which exported programs import, that need no torch: random numbers, the order of samples,
boxes and who sends which, checks of buckets, files and arguments. A stand-in takes torch's place. runtime.py has those that
compute with tensors, train.py whole programs.
"""

import contextlib
import ctypes
import importlib.util
import io
import itertools
import pathlib
import struct
import sys
import tempfile
import types
import unittest
from unittest import mock

FILE = pathlib.Path(__file__).resolve().parents[2] / "include" / "tessera" / "backend" / "torch" / "tessera_runtime.py"


class StandIn(types.ModuleType):
    """A module of which any name is there, and none can be called."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{self.__name__}.{name}"


def loaded():
    torch, dist, nn, functional = (StandIn(f"torch{part}") for part in ("", ".distributed", ".nn", ".nn.functional"))
    torch.autograd = types.SimpleNamespace(Function=object)
    torch.distributed, torch.nn, nn.functional = dist, nn, functional
    stands = {x.__name__: x for x in (torch, dist, nn, functional)}
    with mock.patch.dict(sys.modules, stands):
        spec = importlib.util.spec_from_file_location("tessera_runtime", FILE)
        module = importlib.util.module_from_spec(spec)
        sys.modules["tessera_runtime"] = module  # where dataclasses look for it
        spec.loader.exec_module(module)
    return module


rt = loaded()


def program(**of):
    given = dict(ranks=2, batch=4, inputs={}, parameters={}, exchanges={}, stages=[], actions=[], buckets=[], optimizer={})
    return rt.Program(**{**given, **of})


class Numbers:
    """As much of a tensor as batches() and write_safetensors() ask for."""

    def __init__(self, values):
        self.values = list(values)
        self.memory = (ctypes.c_float * len(self.values))(*self.values)
        self.shape = (len(self.values),)

    def __getitem__(self, rows):
        return [self.values[row] for row in rows]

    def numel(self):
        return len(self.values)

    def to(self, _type):
        return self

    def contiguous(self):
        return self

    def data_ptr(self):
        return ctypes.addressof(self.memory)


class RandomNumbers(unittest.TestCase):
    def test_mix_is_splitmix64(self):
        self.assertEqual(rt.mix(0), 0xE220A8397B1DCDAF)
        self.assertEqual(rt.mix(1234567), 6457827717110365317)

    def test_numbers_keep_their_bits_as_signed_ones(self):
        self.assertEqual(rt._signed(0x9E3779B97F4A7C15), 0x9E3779B97F4A7C15 - 2**64)
        self.assertEqual(rt._signed(7), 7)
        self.assertEqual(rt._shifted(-1, 60), 15)
        self.assertEqual(rt._shifted(rt._signed(0xF000000000000000), 32), 0xF0000000)

    def test_the_order_of_an_epoch_is_the_librarys(self):  # io::epoch_order
        self.assertEqual(rt.epoch_order(10, 3, 0), [1, 3, 0, 7, 9, 6, 4, 5, 2, 8])
        self.assertEqual(rt.epoch_order(10, 3, 1), [8, 2, 4, 5, 0, 9, 3, 6, 1, 7])
        self.assertEqual(rt.epoch_order(100, 7, 2)[:10], [79, 19, 45, 59, 97, 17, 54, 18, 20, 78])

    def test_an_epoch_has_every_sample_once(self):
        for size, seed in itertools.product((0, 1, 2, 63, 64, 65, 500), (0, 1)):
            self.assertEqual(sorted(rt.epoch_order(size, seed, 5)), list(range(size)))


class Boxes(unittest.TestCase):
    def test_regions(self):
        self.assertEqual(rt.extents([(2, 5), (0, 1)]), [3, 1])
        self.assertEqual(rt.within([(2, 5), (1, 2)], [(2, 8), (0, 4)]), (slice(0, 3), slice(1, 2)))

    def test_who_shares_a_region(self):
        left, right, both = ((0, 2),), ((2, 4),), ((0, 4),)
        self.assertEqual(rt._sharers([(1, left), (0, left), (2, right)], left), (0, 1))
        self.assertFalse(rt._overlaps([(0, left), (1, left), (2, right)]))
        self.assertTrue(rt._overlaps([(0, left), (1, both)]))

    def test_moves_as_each_rank_sees_them(self):
        """Of rows 0 to 4 rank 0 has the first two and rank 1 the others; rank 0 wants rows 0 to 3, rank 1 all but row 0."""
        x = rt.Exchange(
            kind="copies",
            sources=[(0, ((0, 2),)), (1, ((2, 4),))],
            targets=[(0, ((0, 3),)), (1, ((1, 4),))],
            moves=[(0, 0, ((0, 2),)), (0, 1, ((1, 2),)), (1, 0, ((2, 3),)), (1, 1, ((2, 4),))],
        )
        first, second = (rt._Transport(x, rank, back=False) for rank in (0, 1))
        self.assertEqual(first.shapes, [[3]])
        self.assertEqual(first.local, [((0, 0, (slice(0, 2),), [2]), (0, (slice(0, 2),)))])
        self.assertEqual(first.sends, {1: [(0, (slice(1, 2),))]})
        self.assertEqual(first.receives, {1: [(2, 0, (slice(2, 3),), [1])]})
        self.assertEqual(second.sends, {0: [(0, (slice(0, 1),))]})
        self.assertEqual(second.receives, {0: [(1, 0, (slice(0, 1),), [1])]})

        back = rt._Transport(x, 0, back=True)  # the gradient of row 1 comes from rank 1, that of row 2 goes there
        self.assertEqual(back.shapes, [[2]])
        self.assertEqual(back.sends, {1: [(0, (slice(2, 3),))]})
        self.assertEqual(back.receives, {1: [(1, 0, (slice(1, 2),), [1])]})
        self.assertEqual(rt._Transport._volume([3, 4, 5]), 60)
        self.assertEqual(rt._Transport._volume([]), 1)


class Buckets(unittest.TestCase):
    def setUp(self):
        homes = [(0, ((0, 4),)), (1, ((0, 4),))]
        self.parameters = {"w": rt.Parameter((4,), homes), "own": rt.Parameter((4,), homes[:1])}

    def refused(self, *parts):
        buckets = [rt.Bucket("all-reduce", [part]) for part in parts]
        try:
            rt.require_sums(program(parameters=self.parameters, buckets=buckets))
        except ValueError as e:
            return str(e)
        return ""

    def test_parts(self):
        self.assertEqual(rt.Bucket("all-reduce", ["a", ("b", 1, 2)]).parts(), [("a", 0, 1), ("b", 1, 2)])

    def test_every_shared_gradient_is_summed_once(self):
        self.assertEqual(self.refused("w"), "")
        self.assertEqual(self.refused(("w", 1, 2), ("w", 0, 2)), "")
        self.assertIn("0 slices of the gradient of w", self.refused())
        self.assertIn("2 slices of the gradient of w", self.refused("w", "w"))
        self.assertIn("1 slices of the gradient of w", self.refused(("w", 0, 2)))
        self.assertIn("3 slices of the gradient of w", self.refused(("w", 0, 2), ("w", 1, 2), ("w", 1, 2)))

    def test_what_is_not_trained_needs_no_sum(self):
        self.parameters["w"].trained = False
        self.assertEqual(self.refused(), "")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.safetensors"

    def test_what_is_no_file_of_tensors_is_refused(self):
        for data in (b"", b"1234567", struct.pack("<Q", 3) + b"{}"):
            self.path.write_bytes(data)
            with self.assertRaisesRegex(ValueError, "x.safetensors is no safetensors file"):
                rt.read_safetensors(self.path)

    def test_what_is_written(self):
        rt.write_safetensors(self.path, {"a": Numbers([1, 2]), "b": Numbers([3])})
        data = self.path.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        self.assertEqual(length % 8, 0)
        header = rt.json.loads(data[8 : 8 + length])
        self.assertEqual(header["a"], {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})
        self.assertEqual(header["b"], {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]})
        self.assertEqual(struct.unpack("<3f", data[8 + length :]), (1.0, 2.0, 3.0))

    def test_what_says_something_of_the_file_is_no_tensor(self):
        text = b'{"__metadata__": {"format": "pt"}}'
        self.path.write_bytes(struct.pack("<Q", len(text)) + text)
        self.assertEqual(rt.read_safetensors(self.path), {})

    def test_a_missing_input_is_named(self):
        self.path.write_bytes(struct.pack("<Q", 8) + b"{}      ")
        with self.assertRaisesRegex(ValueError, "has no image; the program's inputs are image"):
            rt.read_data(program(inputs={"image": ((4, 2), "f32")}), self.path)

    def test_batches_are_full_and_go_on_with_the_next_epoch(self):
        with mock.patch.object(rt.torch, "tensor", list):
            feed = rt.batches(program(batch=2), {"x": Numbers(range(5))})
            self.assertEqual([next(feed)["x"] for _ in range(3)], [[0, 1], [2, 3], [0, 1]])
            feed = rt.batches(program(batch=5), {"x": Numbers(range(5))}, shuffle=3)
            self.assertEqual([next(feed)["x"] for _ in range(2)], [rt.epoch_order(5, 3, epoch) for epoch in (0, 1)])
        with self.assertRaisesRegex(ValueError, "has 1 samples and a batch takes 2"):
            next(rt.batches(program(batch=2), {"x": Numbers([1])}))


class Checks(unittest.TestCase):
    def test_steps_that_differ_are_told(self):
        class Repeats:
            rank = 0
            program = program(check=[(2.0, {"w": 1.0, "small": 1e-9})])
            norms = None

            def step(self, _batch):
                self.norms = {"w": norm, "small": 0.0}  # below a thousandth of the largest, rounding alone
                return loss

        for loss, norm, said in ((2.0001, 1.0005, []), (2.1, 1.0, ["the loss of step 0 is 2.1, and was 2"]),
                                 (2.0, 1.01, ["the norm of the gradient of w in step 0 is 1.01, and was 1"]),
                                 (float("nan"), 1.0, ["the loss of step 0 is nan, and was 2"])):  # fmt: skip
            self.assertEqual(rt.differences(Repeats()), said)

    def test_what_cannot_be_checked(self):
        self.assertEqual(rt.check(program(unchecked="too long"), "cpu"), ["nothing was recorded to compare with: too long"])
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "weights.safetensors").write_bytes(b"others")
            said = rt.check(program(check=[(1.0, {})], folder=folder), "cpu")
            self.assertIn("are not the weights that the first steps were recorded with", said[0])

    def test_another_number_of_ranks_is_refused(self):
        with mock.patch.multiple(rt.dist, create=True, get_rank=lambda: 0, get_world_size=lambda: 3):
            with self.assertRaisesRegex(ValueError, "for 2 ranks and 3 have started: start it with --nproc-per-node 2"):
                rt.Rank(program())


class Arguments(unittest.TestCase):
    def ended(self, *arguments):
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["program.py", *arguments]), contextlib.redirect_stderr(said):
            with self.assertRaises(SystemExit) as e:
                rt.main(program())
        return str(e.exception.code) + said.getvalue()

    def test_data_or_check(self):
        self.assertIn("give --data FILE, or --check", self.ended())
        self.assertIn("invalid choice: 'mpi'", self.ended("--check", "--backend", "mpi"))

    def test_nccl_without_a_gpu(self):
        with mock.patch.object(rt.torch, "cuda", types.SimpleNamespace(is_available=lambda: False), create=True):
            self.assertIn("there is no GPU that torch can use", self.ended("--check", "--backend", "nccl"))


if __name__ == "__main__":
    unittest.main()
