"""Conversion of LoRA matrices to GGUF, the format of llama.cpp."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput

ARCHITECTURES: Mapping[str, str] = {
    "llama": "llama",
    "mistral": "llama",
    "phi": "phi2",
    "phi3": "phi3",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
}
"""Architecture in GGUF by `model_type` of transformers."""
_INTERLEAVED = "llama"
"""The architecture whose rotary positions are interleaved in GGUF and split in halves in transformers."""
_NAME = re.compile(r"^base_model\.model\.(?P<module>.+)\.lora_(?P<side>[AB])\.weight$")


def can_convert(model_type: str) -> bool:
    """Return True if adapters of such models can be converted."""
    return model_type in ARCHITECTURES


def write_lora_gguf(adapter: Path, shape: Any, target: Path) -> None:
    """Write the adapter of a folder as GGUF, in 32 bits.

    Args:
        adapter: folder with `adapter_model.safetensors` and `adapter_config.json`, as PEFT writes them.
        shape: configuration of the model.
        target: the file.

    Raises:
        BadInput: for a model or module that llama.cpp does not know.
    """
    import gguf
    from safetensors.numpy import load_file

    if not can_convert(shape.model_type):
        raise BadInput(
            f"an adapter of a model of type {shape.model_type!r} cannot be converted to GGUF, only of: "
            f"{', '.join(ARCHITECTURES)}. Use the merged weights: --merge"
        )
    architecture = ARCHITECTURES[shape.model_type]
    settings = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known[architecture], shape.num_hidden_layers)
    writer = gguf.GGUFWriter(target, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(settings["lora_alpha"]))
    for name, matrix in sorted(load_file(adapter / "adapter_model.safetensors").items()):
        found = _NAME.match(name)
        place = names.get_name(found["module"]) if found else None
        if found is None or place is None:
            raise BadInput(f"llama.cpp has no tensor for {name}. Use the merged weights: --merge")
        module = found["module"].rpartition(".")[2]
        values = matrix.astype("float32")
        if found["side"] == "B" and architecture == _INTERLEAVED and module in {"q_proj", "k_proj"}:
            heads = shape.num_attention_heads if module == "q_proj" else shape.num_key_value_heads
            values = interleaved(values, heads)
        writer.add_tensor(f"{place}.weight.lora_{found['side'].lower()}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleaved(matrix: Any, heads: int) -> Any:
    """Reorder the rows of a query or key matrix from halves of each head to pairs.

    >>> import numpy as np
    >>> interleaved(np.arange(8).reshape(8, 1), 2).ravel().tolist()
    [0, 2, 1, 3, 4, 6, 5, 7]
    """
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns).copy()
