"""The libraries of the extra `finetune`, imported only when training starts."""

import importlib.util
import os
import warnings

from polygraph.errors import MissingExtra

PACKAGES = ("torch", "transformers", "peft", "bitsandbytes", "safetensors", "gguf", "accelerate")


def require_finetune() -> None:
    """Check that the extra is installed, and keep its libraries from writing to the terminal.

    Raises:
        MissingExtra: if a package is missing.
    """
    if any(importlib.util.find_spec(name) is None for name in PACKAGES):
        raise MissingExtra("fine-tuning", "finetune")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TQDM_DISABLE", "1")
    warnings.filterwarnings("ignore", module=r"(bitsandbytes|peft|transformers|torch)\b.*")
    import logging

    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in ("bitsandbytes", "huggingface_hub"):
        logging.getLogger(name).setLevel(logging.ERROR)
