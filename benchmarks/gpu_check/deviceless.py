#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks cuDNN, without a GPU, which engine and how much workspace it wants for convolutions on an H200.

    c++ -std=c++20 -O1 -Iinclude -I. benchmarks/gpu_check/convolutions.cpp \\
        examples/zoo/{images,cells,sequences,language_models,shallow}.cpp -o build/convolutions
    build/convolutions 32 | benchmarks/gpu_check/deviceless.py [--format nhwc] [--most-workspace BYTES] [libcudnn.so]

cuDNN 9.8 or later makes plans of its graph interface for a device that a JSON text describes. It loads a driver, so an empty library stands
in for libcuda.so.1. The first engine of heuristic A, or else of the fallback, that repeats, rounds as the precision permits, can be finalized
and wants no more workspace than there is (a 32nd of the memory or the arrays, or what is said) is what is printed. Exit status 1 where a
convolution has none.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile

H200 = {
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "totalGlobalMem": 150110011392, "smClockRateKHz": 1980000,
    "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000,
    "deviceName": "NVIDIA H200",
}

# Numbers of cudnn_graph_v9.h.
DATA_TYPE, BOOLEAN, INT64, FLOAT, CONVOLUTION_MODE, HEUR_MODE = 1, 2, 3, 4, 7, 8
NUMERICAL_NOTE, DESCRIPTOR, INT32, CHAR = 11, 15, 23, 24
CONVOLUTION, ENGINE, ENGINECFG, ENGINEHEUR, PLAN, GRAPH, TENSOR, DEVICEPROP = 1, 2, 3, 4, 5, 15, 17, 38
OPERATION = {"forward": 10, "backward_filter": 11, "backward_data": 12}
FIRST_ATTRIBUTE = {"forward": 700, "backward_data": 706, "backward_filter": 712}
HEUR_FALLBACK, HEUR_A = 2, 3
TENSOR_CORE, DOWN_CONVERT, REDUCED, NONDETERMINISTIC = 0, 1, 2, 4
F32, BF16 = 0, 9


class failure(Exception):
    pass


class cudnn:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p
        self.library.cudnnGetVersion.restype = ctypes.c_size_t

    def check(self, status, what):
        if status != 0:
            raise failure(f"{what}: {self.library.cudnnGetErrorString(status).decode()}")

    def make(self, kind):
        d = ctypes.c_void_p()
        self.check(self.library.cudnnBackendCreateDescriptor(kind, ctypes.byref(d)), f"create {kind}")
        return d

    def set(self, d, attribute, kind, values):
        types = {DATA_TYPE: ctypes.c_int, BOOLEAN: ctypes.c_bool, INT64: ctypes.c_int64, FLOAT: ctypes.c_float,
                 CONVOLUTION_MODE: ctypes.c_int, HEUR_MODE: ctypes.c_int, DESCRIPTOR: ctypes.c_void_p, INT32: ctypes.c_int32}
        if kind == CHAR:
            array, count = ctypes.create_string_buffer(values), len(values)
        else:
            array, count = (types[kind] * len(values))(*values), len(values)
        self.check(self.library.cudnnBackendSetAttribute(d, attribute, kind, ctypes.c_int64(count), array), f"set {attribute}")

    def finalize(self, d, what):
        self.check(self.library.cudnnBackendFinalize(d), what)
        return d

    def get(self, d, attribute, kind, array, most):
        count = ctypes.c_int64()
        self.check(self.library.cudnnBackendGetAttribute(d, attribute, kind, ctypes.c_int64(most), ctypes.byref(count), array),
                   f"get {attribute}")
        return count.value

    def destroy(self, d):
        self.library.cudnnBackendDestroyDescriptor(d)

    # ---- what a convolution is made of -------------------------------------------------------------------------------

    def device(self, text):
        d = self.make(DEVICEPROP)
        self.set(d, 2702, CHAR, text)
        return self.finalize(d, "device properties")

    def tensor(self, number, extents, kind, nhwc):
        n, c, h, w = extents
        d = self.make(TENSOR)
        self.set(d, 901, DATA_TYPE, [kind])
        self.set(d, 902, INT64, extents)
        self.set(d, 903, INT64, [c * h * w, 1, w * c, c] if nhwc else [c * h * w, h * w, w, 1])
        self.set(d, 906, INT64, [number])
        self.set(d, 900, INT64, [256])
        return self.finalize(d, "tensor")

    def convolution(self, c):
        d = self.make(CONVOLUTION)
        self.set(d, 106, INT64, [2])
        self.set(d, 100, DATA_TYPE, [F32])
        self.set(d, 101, CONVOLUTION_MODE, [1])
        self.set(d, 105, INT64, c["padding"])
        self.set(d, 104, INT64, c["padding"])
        self.set(d, 102, INT64, c["dilation"])
        self.set(d, 103, INT64, c["stride"])
        return self.finalize(d, "convolution")

    def graph(self, c, nhwc):
        kind = BF16 if c["math"] == "bf16" else F32
        how = self.convolution(c)
        x, w, y = (self.tensor(i + 1, c[name], kind, nhwc) for i, name in enumerate("xwy"))
        d = self.make(OPERATION[c["way"]])
        first = FIRST_ATTRIBUTE[c["way"]]
        self.set(d, first, FLOAT, [1.0])
        self.set(d, first + 1, FLOAT, [0.0])
        self.set(d, first + 2, DESCRIPTOR, [how])
        order = {"forward": [w, x, y], "backward_data": [w, x, y], "backward_filter": [w, x, y]}[c["way"]]
        for i, t in enumerate(order):
            self.set(d, first + 3 + i, DESCRIPTOR, [t])
        self.finalize(d, "operation")
        g = self.make(GRAPH)
        self.set(g, 801, DESCRIPTOR, [d])
        self.finalize(g, "operation graph")
        return g, [how, x, w, y, d]

    def proposals(self, graph, device, mode, most=24):
        d = self.make(ENGINEHEUR)
        self.set(d, 201, DESCRIPTOR, [graph])
        self.set(d, 200, HEUR_MODE, [mode])
        self.set(d, 204, DESCRIPTOR, [device])
        self.finalize(d, "heuristics")
        array = (ctypes.c_void_p * most)(*[self.make(ENGINECFG) for _ in range(most)])
        count = self.get(d, 202, DESCRIPTOR, array, most)
        self.destroy(d)
        for unused in array[count:]:
            self.destroy(ctypes.c_void_p(unused))
        return [ctypes.c_void_p(p) for p in array[:count]]

    def notes_of(self, configuration):
        engine = ctypes.c_void_p(self.make(ENGINE).value)
        array = (ctypes.c_void_p * 1)(engine)
        self.get(configuration, 300, DESCRIPTOR, array, 1)
        engine = ctypes.c_void_p(array[0])
        notes = (ctypes.c_int * 16)()
        count = self.get(engine, 1303, NUMERICAL_NOTE, notes, 16)
        number = (ctypes.c_int64 * 1)()
        self.get(engine, 1301, INT64, number, 1)
        self.destroy(engine)
        return number[0], set(notes[:count])

    def workspace(self, configuration, device):
        d = self.make(PLAN)
        try:
            self.set(d, 401, DESCRIPTOR, [configuration])
            self.set(d, 407, DESCRIPTOR, [device])
            self.finalize(d, "plan")
            size = (ctypes.c_int64 * 1)()
            self.get(d, 402, INT64, size, 1)
            return size[0]
        finally:
            self.destroy(d)


def permitted(notes, math):
    if NONDETERMINISTIC in notes:
        return False
    return not (math == "fp32" and notes & {TENSOR_CORE, DOWN_CONVERT, REDUCED})


def volume(e):
    return e[0] * e[1] * e[2] * e[3]


def ask(library, device, c, nhwc, limit):
    """Engine, workspace, notes and heuristic of the first usable proposal, and why others were passed over."""
    graph, parts = library.graph(c, nhwc)
    passed, found = [], None
    try:
        for mode in (HEUR_A, HEUR_FALLBACK):
            if found is not None:
                break
            try:
                proposals = library.proposals(graph, device, mode)
            except failure as e:
                passed.append(str(e))
                continue
            for p in proposals:
                try:
                    number, notes = library.notes_of(p) if found is None else (0, set())
                    if found is None and permitted(notes, c["math"]):
                        wanted = library.workspace(p, device)
                        if wanted > limit:
                            passed.append(f"engine {number} wants {wanted / 1e6:.1f} MB")
                        else:
                            found = number, wanted, notes, mode
                except failure as e:
                    passed.append(str(e))
                library.destroy(p)
        return found, list(dict.fromkeys(passed))
    finally:
        for d in [graph] + parts:
            library.destroy(d)


def parse(line):
    words = line.split()
    c = {"network": words[0], "way": words[1], "math": words[2]}
    for name, text in zip(["x", "w", "y", "padding", "stride", "dilation"], words[3:9]):
        c[name] = [int(n) for n in text.split(",")]
    return c


def stand_in_driver():
    """Starts again with an empty libcuda.so.1 where there is none."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return
    except OSError:
        pass
    if os.environ.get("TESSERA_STAND_IN"):
        sys.exit("deviceless.py: the stand-in for libcuda.so.1 is not found by the loader")
    folder = tempfile.mkdtemp(prefix="tessera_driver_")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-x", "c", "-", "-o", f"{folder}/libcuda.so.1"],
                   input=b"int tessera_stand_in;", check=True)
    environment = dict(os.environ, TESSERA_STAND_IN="1",
                       LD_LIBRARY_PATH=f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    os.execve(sys.executable, [sys.executable] + sys.argv, environment)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("library", nargs="?", default="libcudnn.so.9")
    options.add_argument("--format", choices=["nchw", "nhwc"], default="nchw")
    options.add_argument("--most-workspace", type=int, default=0)
    options.add_argument("--quiet", action="store_true", help="print what is refused and the totals alone")
    o = options.parse_args()
    stand_in_driver()
    library = cudnn(o.library)
    device = library.device(json.dumps(H200).encode())
    print(f"cuDNN {library.library.cudnnGetVersion()}, {H200['deviceName']}, {o.format}")
    asked = refused = 0
    largest, without = {}, {}
    for line in sys.stdin:
        c = parse(line)
        asked += 1
        size = 2 if c["math"] == "bf16" else 4
        limit = o.most_workspace or max(H200["totalGlobalMem"] // 32, size * sum(volume(c[name]) for name in "xwy"))
        shape = f"{c['network']} {c['way']} {c['math']} x {c['x']} w {c['w']} y {c['y']} stride {c['stride']}"
        try:
            found, passed = ask(library, device, c, o.format == "nhwc", limit)
        except failure as e:
            found, passed = None, [str(e)]
        if found is None:
            refused += 1
            print(f"NONE {shape}: {'; '.join(passed) or 'no proposal repeats and is precise enough'}")
            continue
        number, wanted, notes, mode = found
        key = c["network"], c["math"]
        largest[key] = max(largest.get(key, 0), wanted)
        without[key] = without.get(key, 0) + (TENSOR_CORE not in notes)
        if not o.quiet:
            cores = "tensor cores" if TENSOR_CORE in notes else "no tensor cores"
            print(f"{shape}: engine {number}{' of the fallback' if mode == HEUR_FALLBACK else ''}, {cores}, workspace {wanted / 1e6:.1f} MB"
                  f"{', not ' + '; '.join(passed) if passed else ''}")
    for (network, math), most in sorted(largest.items()):
        print(f"{network} {math}: at most {most / 1e6:.1f} MB for one convolution, {without[network, math]} without tensor cores")
    print(f"{asked} convolutions, {refused} without an engine")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
