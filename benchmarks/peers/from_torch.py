# SPDX-License-Identifier: Apache-2.0
"""torchvision's networks, GPT-2 and BERT through Tessera: nodes, seconds to export and to plan, losses of three steps beside PyTorch's.

Both start from the same weights and take one batch of 4 again and again (SGD, rate 0.001, no dropout). Where a batch norm
sees few numbers rounding grows from step to step: the last column is how far PyTorch itself is from its own run in double
at the last step; the two before it are how far Tessera is from that run, at the first and at the last step. Columns of a
program are those of the data-parallel plan that was exported and trained by PyTorch on two gloo ranks.

Usage: from_torch.py PACKAGE TRAIN_FILE [NETWORK]...       (needs torch, torchvision and transformers; PACKAGE is the
folder that has the package, build/release/python for one)
"""

import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import torch
import torchvision

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"

NETWORKS = [
    "alexnet",
    "vgg11_bn",
    "resnet18",
    "resnet50",
    "inception_v3",
    "densenet121",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "efficientnet_b0",
    "vit_b_16",
    "gpt2",
    "bert",
]
TOKENS = 64  # of a sequence
STEPS, RATE, BATCH = 3, 0.001, 4


def made(name):
    if name == "gpt2":
        from transformers import GPT2Config, GPT2LMHeadModel

        return GPT2LMHeadModel(GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False))
    if name == "bert":
        from transformers import BertConfig, BertForMaskedLM

        return BertForMaskedLM(BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0))
    options = {"num_classes": 10}
    if name.startswith(("alexnet", "vgg", "mobilenet", "inception", "efficientnet", "vit")):
        options["dropout"] = 0.0
    if name.startswith("efficientnet"):
        options["stochastic_depth_prob"] = 0.0
    if name.startswith("inception"):
        options |= {"init_weights": True}
    return getattr(torchvision.models, name)(**options)


def batch_of(name):
    if name in ("gpt2", "bert"):  # BERT does not train the row of token 0
        return torch.randint(1, 30000, (BATCH, TOKENS)), torch.randint(0, 30000, (BATCH, TOKENS))
    pixels = 299 if name.startswith("inception") else 224
    return torch.randn(BATCH, 3, pixels, pixels), torch.randint(0, 10, (BATCH,))


def off(a, b):
    return abs(a - b) / abs(b)


def row(name, train_file, folder):
    import tessera
    from beside import trained
    from tessera.weights import write_safetensors

    torch.manual_seed(1)
    module = made(name)
    x, y = batch_of(name)
    start = time.perf_counter()
    network = tessera.network_of(module, (x,), name=name)
    exported = time.perf_counter() - start
    start = time.perf_counter()
    tessera.plan_network(network, machine="p100", nodes=1, batch=128, search="optcnn")
    planned = time.perf_counter() - start
    files = {n: os.path.join(folder, n) for n in ("network", "weights", "batch")}
    network.write(files["network"])
    network.write_weights(module, files["weights"])
    write_safetensors(
        files["batch"], {next(n["input"] for n in network.nodes if "input" in n): x, "labels": y.float()}
    )
    command = [
        train_file,
        files["network"],
        files["batch"],
        "--weights",
        files["weights"],
        "--learning-rate",
        str(RATE),
        "--devices",
        "2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ours = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("step")]
    plan = tessera.plan(module, (x,), machine="p100", devices=2, search="data", optimizer="sgd")
    program = plan.export_torch(os.path.join(folder, name), learning_rate=RATE)
    exported_losses = program.train({next(iter(program.inputs)): x, "labels": y}, STEPS)
    exact = trained(copy.deepcopy(module).double(), [(x.double() if x.is_floating_point() else x, y)] * STEPS, RATE)
    theirs = trained(module, [(x, y)] * STEPS, RATE)
    parameters = sum(p.numel() for p in module.parameters()) / 1e6
    print(
        f"| {name} | {len(network.nodes)} | {parameters:.1f} | {exported:.1f} | {planned:.1f} "
        f"| {off(ours[0], exact[0]):.0e} | "
        f"{off(ours[-1], exact[-1]):.0e} | {off(theirs[-1], exact[-1]):.0e} "
        f"| {off(exported_losses[0], exact[0]):.0e} | {off(exported_losses[-1], exact[-1]):.0e} |",
        flush=True,
    )


def main():
    package, train_file, *names = sys.argv[1:]
    sys.path[:0] = [package, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python")]
    print(
        "| network | nodes | parameters, millions | export s | plan s | first loss | third loss | third of PyTorch "
        "| first of a program | third of a program |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in names or NETWORKS:
            row(name, train_file, folder)


if __name__ == "__main__":
    main()
