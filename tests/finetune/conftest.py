"""Tests of training; `make finetune` runs them in an environment with its libraries, and elsewhere they are skipped."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]

os.environ["HF_HUB_OFFLINE"] = "1"

PLACES = ("harbour", "mill", "light", "ferry", "dam", "quay", "well", "bridge")
COLOURS = ("red", "blue", "green", "white", "black", "grey", "brown", "pink")


def fact_rows(first: int, last: int) -> list[dict]:
    """Return rows whose answer, the colour of a place, is in the evidence."""
    rows = []
    for n in range(first, last):
        place, colour = PLACES[n % 8], COLOURS[(n * 5 + n // 8) % 8]
        other = f"The {PLACES[(n + 3) % 8]} is {COLOURS[n % 8]}."
        text = f"The {place} is {colour}. {other}\n\nQuestion: Which colour has the {place}?"
        messages = [
            {"role": "system", "content": "Answer from the evidence."},
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"The {place} is {colour}."},
        ]
        rows.append({"messages": messages})
    return rows


def write_rows(folder: Path, train: list[dict], held_out: list[dict]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", train), ("held-out", held_out)):
        (folder / f"{name}.jsonl").write_text(
            "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
        )
    return folder


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("rows"), fact_rows(0, 24), fact_rows(24, 30))


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a Llama of two layers with random weights and a tokenizer of its own."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    texts = [turn["content"] for row in fact_rows(0, 24) for turn in row["messages"]]
    tokenizer.train_from_iterator([*texts, "system user assistant"], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        bos_token="<|im_start|>",
        pad_token="<|endoftext|>",
    )
    fast.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.1,  # with less, tied embeddings allow no certain prediction
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
