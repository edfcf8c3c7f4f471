# SPDX-License-Identifier: Apache-2.0
"""Whole models of Hugging Face's transformers, small: from the parameters that Tessera began with, three steps of SGD have
the losses that it had, and end at the parameters that it ended at.

Usage: blocks.py FOLDER. FOLDER is what tests/torch/blocks.cpp writes. Without torch or transformers it says so and is
skipped.
"""

import os
import pathlib
import sys

import train  # noqa: F401  (looks for a python that has torch)

import torch

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import transformers
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "include" / "tessera" / "backend" / "torch"))
sys.dont_write_bytecode = True
import tessera_runtime  # noqa: E402

WITHIN = 1e-5  # of a loss, and of the largest number of a parameter
RATE = 0.1
SIZES = {
    "vocab_size": 23,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}


def decoder_names(attention, middle):
    """Parameters in the order in which Tessera's network has them; those of a list are one there after the other."""
    names = ["model.embed_tokens.weight"]
    for i in range(2):
        layer = f"model.layers.{i}"
        names += [f"{layer}.input_layernorm.weight", *(f"{layer}.self_attn.{a}" for a in attention)]
        names += [f"{layer}.post_attention_layernorm.weight", *(f"{layer}.mlp.{m}" for m in middle)]
    return [*names, "model.norm.weight", "lm_head.weight"]


def weights(names):
    return [f"{name}.weight" for name in names.split()]


SWIGLU = weights("gate_proj up_proj down_proj")
PLAIN = weights("q_proj k_proj v_proj o_proj")


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)), decoder_names(PLAIN, SWIGLU)


def qwen2():
    biased = [f"{x}_proj.{what}" for x in "qkv" for what in ("weight", "bias")]
    names = decoder_names([*biased, "o_proj.weight"], SWIGLU)
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SIZES)), names


def qwen3():
    names = decoder_names(weights("q_proj q_norm k_proj k_norm v_proj o_proj"), SWIGLU)
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES)), names


def mixtral():
    config = transformers.MixtralConfig(**SIZES, num_local_experts=4, num_experts_per_tok=2)
    # What is two matrices of an expert in Tessera is one there.
    names = decoder_names(PLAIN, ["gate.weight", "experts.gate_up_proj:0", "experts.gate_up_proj:1", "experts.down_proj"])
    return transformers.MixtralForCausalLM(config), names


def t5():
    config = transformers.T5Config(
        vocab_size=23,
        d_model=16,
        d_kv=4,
        d_ff=24,
        num_layers=2,
        num_heads=4,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=5,
        dropout_rate=0.0,
        layer_norm_epsilon=1e-5,
        use_cache=False,
        decoder_start_token_id=0,
    )
    names = ["shared.weight"]
    for stack in ("encoder", "decoder"):
        for i in range(2):
            layer = f"{stack}.block.{i}.layer"
            own, ahead = f"{layer}.0.SelfAttention", 1
            names += [f"{layer}.0.layer_norm.weight", *(f"{own}.{x}.weight" for x in "qkv")]
            names += [f"{own}.relative_attention_bias.weight"] if i == 0 else []
            names += [f"{own}.o.weight"]
            if stack == "decoder":
                names += [f"{layer}.1.layer_norm.weight", *(f"{layer}.1.EncDecAttention.{x}.weight" for x in "qkvo")]
                ahead = 2
            names += [f"{layer}.{ahead}.layer_norm.weight"]
            names += [f"{layer}.{ahead}.DenseReluDense.{x}.weight" for x in ("wi", "wo")]
        names += [f"{stack}.final_layer_norm.weight"]
    return transformers.T5ForConditionalGeneration(config), names


def part_of(parameters, name):
    """A parameter, or one half of its rows."""
    name, _, half = name.partition(":")
    return parameters[name].chunk(2, dim=-2)[int(half)] if half else parameters[name]


def check(name, make, tensors):
    module, names = make()
    module.train()
    parameters = dict(module.named_parameters())
    assert {n.partition(":")[0] for n in names} == set(parameters), (name, set(parameters) ^ set(names))
    assert sum(t.startswith("before") for t in tensors) == len(names), (name, len(names))
    with torch.no_grad():
        for i, n in enumerate(names):
            part_of(parameters, n).copy_(tensors[f"before{i}"])
    fed = [tensors[f"input{i}"].long() for i in range(3 if name == "t5" else 2)]
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    worst = 0.0
    for loss in tensors["losses"].tolist():
        optimizer.zero_grad()
        how = {"input_ids": fed[0], **({"decoder_input_ids": fed[1]} if name == "t5" else {})}
        theirs = torch.nn.functional.cross_entropy(module(**how).logits.flatten(0, 1), fed[-1].flatten())
        theirs.backward()
        optimizer.step()
        worst = max(worst, abs(theirs.item() - loss) / loss)
    moved = 0
    for i, n in enumerate(names):
        theirs, ours, before = part_of(parameters, n).detach(), tensors[f"after{i}"], tensors[f"before{i}"]
        difference = ((theirs - ours).abs().max() / theirs.abs().max()).item()
        moved += not torch.equal(ours, before)
        assert difference < WITHIN, (name, n, difference)
        worst = max(worst, difference)
    assert worst < WITHIN and moved == len(names), (name, worst, moved)
    print(f"{name}: {len(names)} parameters, losses {tensors['losses'].tolist()}, worst difference {worst:.1e}")


def main(folder):
    torch.set_num_threads(1)
    for make in (llama, qwen2, qwen3, mixtral, t5):
        name = make.__name__
        check(name, make, tessera_runtime.read_safetensors(folder / f"{name}.safetensors"))


main(pathlib.Path(sys.argv[1]))
