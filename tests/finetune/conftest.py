"""Tests of training; `make finetune` runs them in an environment with its libraries, and elsewhere they are skipped."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]

os.environ["HF_HUB_OFFLINE"] = "1"
# The model is so small that threads only wait for each other; commands that tests start take this over.
os.environ["OMP_NUM_THREADS"] = "1"

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


@pytest.fixture(scope="session")
def small_gguf(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the small model as GGUF, in 32 bits."""
    import gguf
    from safetensors.numpy import load_file
    from transformers import AutoTokenizer

    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    tokenizer = AutoTokenizer.from_pretrained(small_model)
    ids = sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(512)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(128)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(16)
    writer.add_vocab_size(len(ids))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([token for token, _ in ids])
    writer.add_token_types([3 if token in tokenizer.all_special_tokens else 1 for token, _ in ids])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tokenizer.chat_template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
    for name, tensor in load_file(small_model / "model.safetensors").items():
        heads = 4 if "q_proj" in name else 2 if "k_proj" in name else 0
        if heads:
            # Row i of the first half of a head goes to place 2i, of the second half to place 2i + 1.
            order = [16 * h + 8 * half + i for h in range(heads) for i in range(8) for half in range(2)]
            tensor = tensor[order]  # noqa: PLW2901 - the same weights in another order
        base, _, kind = name.rpartition(".")
        writer.add_tensor(f"{names.get_name(base)}.{kind}", tensor.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
