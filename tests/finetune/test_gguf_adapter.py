"""The adapter in GGUF: read back, and used by llama.cpp with the numbers of PyTorch."""

import json
import math
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from polygraph.errors import BadInput
from polygraph.finetune.training.recipes import Recipe
from polygraph.finetune.training.train import Trained, train
from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers.gguf import GgufChat

xllamacpp = pytest.importorskip("xllamacpp", reason="the extra 'gguf' is not installed")

TURNS = (
    Message("system", "Answer from the evidence."),
    Message("user", "The quay is green. The mill is red.\n\nQuestion: Which colour has the quay?"),
)


@pytest.fixture(scope="module")
def trained(rows: Path, small_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Train on the GGUF file itself."""
    recipe = Recipe(
        name="test",
        model=str(small_gguf),
        rank=8,
        learning_rate=1e-2,
        rows_per_step=4,
        epochs=5,
        evaluate_every=10,
        checkpoint_every=100,
    )
    return train(rows, tmp_path_factory.mktemp("out") / "reader", recipe)


def test_the_gguf_file_holds_the_matrices_of_the_adapter(trained: Trained) -> None:
    reader = gguf.GGUFReader(trained.folder / "adapter.gguf")
    values = {key: field.contents() for key, field in reader.fields.items()}
    assert values["general.type"] == "adapter"
    assert values["adapter.type"] == "lora"
    assert values["general.architecture"] == "llama"
    assert values["adapter.lora.alpha"] == 32.0
    found = {tensor.name: tensor.data for tensor in reader.tensors}
    peft = load_file(trained.folder / "adapter_model.safetensors")
    assert len(found) == len(peft) == 2 * 7 * 2
    prefix = "base_model.model.model.layers.1"
    assert np.array_equal(
        found["blk.1.ffn_down.weight.lora_b"], peft[f"{prefix}.mlp.down_proj.lora_B.weight"]
    )
    assert np.array_equal(
        found["blk.1.attn_q.weight.lora_a"], peft[f"{prefix}.self_attn.q_proj.lora_A.weight"]
    )
    order = [16 * h + 8 * half + i for h in range(4) for i in range(8) for half in range(2)]
    query = peft[f"{prefix}.self_attn.q_proj.lora_B.weight"]
    assert np.array_equal(found["blk.1.attn_q.weight.lora_b"], query[order])


def torch_log_probabilities(gguf_file: Path, adapter: Path | None, n: int) -> list[tuple[int, float]]:
    """Return the token that PyTorch finds likeliest, with its log probability, n times."""
    keywords = {"gguf_file": gguf_file.name}
    tokenizer = AutoTokenizer.from_pretrained(gguf_file.parent, **keywords)
    model = AutoModelForCausalLM.from_pretrained(gguf_file.parent, **keywords, dtype=torch.float32).eval()
    if adapter is not None:
        model = PeftModel.from_pretrained(model, str(adapter)).eval()
    turns = [{"role": turn.role, "content": turn.content} for turn in TURNS]
    text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    found = []
    with torch.no_grad():
        for _ in range(n):
            scores = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0, -1].float(), -1)
            best = int(scores.argmax())
            found.append((best, float(scores[best])))
            ids = [*ids, best]
    return found


def llama_log_probabilities(gguf_file: Path, adapter: Path | None, n: int) -> list[tuple[int, float]]:
    settings = xllamacpp.CommonParams()
    settings.model.path = str(gguf_file)
    settings.n_ctx, settings.n_parallel, settings.verbosity, settings.warmup = 512, 1, -1, False
    if adapter is not None:
        settings.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter / "adapter.gguf"), 1.0)]
    answer = xllamacpp.Server(settings).handle_chat_completions(
        {
            "messages": [{"role": turn.role, "content": turn.content} for turn in TURNS],
            "max_tokens": n,
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": 1,
        }
    )
    return [(each["id"], each["logprob"]) for each in answer["choices"][0]["logprobs"]["content"]]


@pytest.mark.parametrize("adapted", [False, True], ids=["plain", "tuned"])
def test_llama_cpp_computes_what_pytorch_computes(trained: Trained, small_gguf: Path, adapted: bool) -> None:
    adapter = trained.folder if adapted else None
    theirs = llama_log_probabilities(small_gguf, adapter, 5)
    ours = torch_log_probabilities(small_gguf, adapter, len(theirs))
    assert [token for token, _ in theirs] == [token for token, _ in ours]
    # The cache of keys and values has 16 bits there.
    assert all(math.isclose(a, b, abs_tol=0.02) for (_, a), (_, b) in zip(theirs, ours, strict=True))


def test_the_tuned_reader_answers_in_the_form_that_it_learned_under_a_name_of_its_own(
    trained: Trained, small_gguf: Path
) -> None:
    request = ChatRequest(messages=TURNS, max_output_tokens=12)
    plain, tuned = GgufChat(small_gguf), GgufChat(small_gguf, adapter=trained.folder)
    assert plain.name == "gguf:small"
    assert tuned.name.startswith("gguf:small+")
    assert tuned.name == GgufChat(small_gguf, adapter=trained.folder / "adapter.gguf").name
    assert tuned.chat(request).text.startswith("The ")
    assert not plain.chat(request).text.startswith("The ")


def test_another_adapter_gives_another_name(trained: Trained, small_gguf: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes((trained.folder / "adapter.gguf").read_bytes() + b"\0")
    names = {GgufChat(small_gguf, adapter=path).name for path in (trained.folder, other)}
    assert len(names) == 2


def test_an_adapter_for_another_model_is_refused_with_the_fix(small_gguf: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "adapter.gguf"
    writer = gguf.GGUFWriter(wrong, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 8.0)
    writer.add_tensor("blk.0.attn_q.weight.lora_a", np.zeros((4, 96), "float32"))
    writer.add_tensor("blk.0.attn_q.weight.lora_b", np.zeros((96, 4), "float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model = GgufChat(small_gguf, adapter=wrong)
    with pytest.raises(BadInput, match="belongs to another model or is damaged"):
        model.chat(ChatRequest(messages=TURNS, max_output_tokens=5))


def test_the_report_of_the_training_says_that_there_is_a_gguf_file(trained: Trained) -> None:
    assert json.loads((trained.folder / "training.json").read_text())["gguf"] == "adapter.gguf"
