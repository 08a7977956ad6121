"""LoRA matrices on a model, and the optimiser that trains them (arXiv:2106.09685)."""

from collections.abc import Sequence
from typing import Any

from polygraph.errors import BadInput
from polygraph.finetune.training.recipes import Recipe


def check_targets(model: Any, targets: Sequence[str]) -> None:
    """Check that every target is the name of a linear module of the model.

    PEFT is content if one of several names matches, and would train fewer modules in silence.

    Raises:
        BadInput: with the names of the linear modules.
    """
    import torch

    linear = {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and name != "lm_head"
    }
    missing = [target for target in targets if target not in linear]
    if missing:
        raise BadInput(
            f"the model has no linear module named {', '.join(missing)}. "
            f"Choose with --targets from: {', '.join(sorted(linear))}"
        )


def add_lora(model: Any, recipe: Recipe, *, empty: bool = False) -> Any:
    """Add matrices to the target modules; only they are trained, in 32 bits.

    Args:
        model: frozen.
        recipe: rank, scale, dropout and targets.
        empty: whether `model` has no weights, and the matrices get none.

    Raises:
        BadInput: if a target matches no module.
    """
    import torch
    from peft import LoraConfig, get_peft_model

    check_targets(model, recipe.targets)
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=list(recipe.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )
    wrapped = get_peft_model(model, config, autocast_adapter_dtype=not empty, low_cpu_mem_usage=empty)
    if recipe.gradient_checkpointing:
        wrapped.gradient_checkpointing_enable({"use_reentrant": False})
        wrapped.enable_input_require_grads()
    for parameter in wrapped.parameters():
        if parameter.requires_grad and parameter.dtype != torch.float32:
            parameter.data = parameter.data.float()
    return wrapped


def trained_parameters(model: Any) -> list[Any]:
    """Return the parameters that are trained, in the order of the model."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def make_optimizer(model: Any, recipe: Recipe) -> Any:
    """Return the optimiser of a recipe."""
    import torch

    parameters = trained_parameters(model)
    settings = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(parameters, **settings)
    import bitsandbytes

    return bitsandbytes.optim.PagedAdamW8bit(parameters, **settings)


def rate_at(recipe: Recipe, step: int, steps: int) -> float:
    """Return the learning rate of a step, from 0.

    >>> from polygraph.finetune.training.recipes import Recipe
    >>> recipe = Recipe(name="r", model="m", learning_rate=1.0, warmup_share=0.2)
    >>> [rate_at(recipe, step, 10) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.125]
    """
    warmup = int(recipe.warmup_share * steps)
    if step < warmup:
        return recipe.learning_rate * (step + 1) / warmup
    return recipe.learning_rate * (steps - step) / (steps - warmup)
