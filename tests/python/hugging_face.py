# SPDX-License-Identifier: Apache-2.0
"""GPT-2 and BERT of HuggingFace, built from configurations: their networks have no opaque operator, and train to the
losses that PyTorch finds.

Usage: hugging_face.py PACKAGE TRAIN_FILE. Without torch or transformers it says so and is skipped.
"""

import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torch
    import transformers
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(0)

package, train_file = sys.argv[1:3]
sys.path[:0] = [package, str(pathlib.Path(__file__).parent)]

import tessera  # noqa: E402
from beside import losses_of  # noqa: E402

transformers.logging.set_verbosity_error()
SIZES = {"vocab_size": 50, "bos_token_id": 1, "eos_token_id": 1}


def gpt2(attention):
    config = transformers.GPT2Config(
        n_positions=12,
        n_embd=16,
        n_layer=2,
        n_head=2,
        resid_pdrop=0,
        embd_pdrop=0,
        attn_pdrop=0,
        use_cache=False,
        attn_implementation=attention,
        **SIZES,
    )
    return transformers.GPT2LMHeadModel(config)


def bert(attention, model="BertForMaskedLM", **options):
    config = transformers.BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=12,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
        attn_implementation=attention,
        **options,
        **SIZES,
    )
    return getattr(transformers, model)(config)


def check_losses():
    torch.manual_seed(5)
    tokens = torch.randint(1, 50, (4, 8))  # BERT does not train the row of token 0
    for called, module, x, y in (
        ("gpt2 eager", gpt2("eager"), tokens, torch.randint(0, 50, (4, 8))),
        ("gpt2 sdpa", gpt2("sdpa"), tokens, torch.randint(0, 50, (4, 8))),
        ("gpt2 of full length", gpt2("sdpa"), torch.randint(0, 50, (4, 12)), torch.randint(0, 50, (4, 12))),
        ("bert eager", bert("eager"), tokens, torch.randint(0, 50, (4, 8))),
        ("bert sdpa", bert("sdpa"), tokens, torch.randint(0, 50, (4, 8))),
        ("bert that classifies", bert("eager", "BertForSequenceClassification", num_labels=3), tokens, torch.arange(4) % 3),
    ):
        theirs, ours, network = losses_of(module, x, y, rate=0.02)
        worst = max(abs(a - b) / abs(a) for a, b in zip(theirs, ours))
        print(f"{called}: {len(network.nodes)} nodes, losses {theirs}, worst difference {worst:.1e}")
        assert worst < 1e-5 and theirs[0] != theirs[-1], (theirs, ours)
        assert not network.opaque
        kinds = {n["name"]: n["kind"] for n in network.nodes if "kind" in n}
        causal = [n for n in network.nodes if n.get("kind") == "softmax" and n.get("attributes", {}).get("causal")]
        assert len(causal) == (2 if called.startswith("gpt2") else 0), kinds


def check_outputs():
    """A module that returns several tensors: which of them has the loss is said."""
    tokens = torch.randint(1, 50, (4, 8))
    module = bert("eager", "BertModel")
    hidden, pooled = (tessera.network_of(module, (tokens,), output=i) for i in range(2))
    assert [n["sample"] for n in hidden.nodes if n.get("input") == "labels"] == [[8]]
    assert [n["sample"] for n in pooled.nodes if n.get("input") == "labels"] == [[]]
    assert "bert.pooler" not in hidden.text and "pooler.dense" in pooled.text
    by_name = tessera.network_of(module, {"input_ids": tokens})
    assert by_name.text == hidden.text
    try:
        tessera.network_of(module, (tokens,), output=2)
    except ValueError as e:
        assert "returns 2 tensors" in str(e)
    else:
        raise AssertionError("there is no third result")


def check_tied():
    """The head of GPT-2 is its table of words: one parameter, which is said."""
    network = tessera.network_of(gpt2("eager"), (torch.randint(0, 50, (4, 8)),))
    head = next(n for n in network.nodes if n.get("name") == "lm_head")
    assert head["parameters_of"] == "transformer.wte", head
    assert sum(s.endswith(("wte.weight", "lm_head.weight")) for s in network.parameters.values()) == 1


check_losses()
check_outputs()
check_tied()
