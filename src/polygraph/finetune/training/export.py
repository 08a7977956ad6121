"""Export of a trained reader: the adapter for PEFT and llama.cpp, and merged weights for other servers."""

from pathlib import Path
from typing import Any

from polygraph.errors import BadInput
from polygraph.finetune.training.base_model import (
    Device,
    ModelSource,
    best_device,
    load_model,
    load_tokenizer,
)
from polygraph.finetune.training.lora_gguf import can_convert, write_lora_gguf
from polygraph.models.providers.gguf import ADAPTER_FILE

MERGED = "merged"
"""Folder of merged weights in that of the adapter."""


def write_adapter(model: Any, folder: Path) -> bool:
    """Write `adapter_model.safetensors`, `adapter_config.json` and, if llama.cpp knows the model, `adapter.gguf`.

    Returns:
        Whether the GGUF file was written.
    """
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "README.md").unlink(missing_ok=True)  # an empty model card
    if not can_convert(model.config.model_type):
        return False
    write_lora_gguf(folder, model.config, folder / ADAPTER_FILE)
    return True


def write_merged(adapter: Path, source: ModelSource, folder: Path) -> None:
    """Write the model with the matrices added to its weights, and its tokenizer.

    If training quantised the weights, they are loaded again without quantisation.

    Args:
        adapter: folder with the adapter.
        source: of the model.
        folder: for the merged model.

    Raises:
        BadInput: if the model cannot be loaded, or the adapter belongs to another one.
    """
    device: Device = best_device()
    model = merged_model(load_model(source, device, nf4=False), adapter)
    # Weights of a GGUF file are 32-bit floats here, but the model still counts as quantised and refuses to be saved.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.use_cache = True
    model.save_pretrained(folder, safe_serialization=True)
    load_tokenizer(source).save_pretrained(folder)


def merged_model(model: Any, adapter: Path) -> Any:
    """Add the matrices of an adapter to the weights of a model.

    Raises:
        BadInput: if the adapter belongs to another model.
    """
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    except (RuntimeError, ValueError) as error:
        raise BadInput(
            f"the adapter in {adapter} does not fit the model ({' '.join(str(error).split())[:200]}). "
            "Give the model with which it was trained"
        ) from error
