"""Recipes: the settings with which a reader is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from polygraph.errors import BadInput
from polygraph.records import Json

Optimizer: TypeAlias = Literal["adamw", "paged_adamw_8bit"]
Learned: TypeAlias = Literal["reply", "answer"]
Order: TypeAlias = Literal["random", "length"]
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_ALL_LINEAR = (*_ATTENTION, "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a reader is trained."""

    name: str
    model: str
    """Repository on the hub, folder, ``.gguf`` file, or name in `GGUF_MODELS`."""
    shape: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Configuration of `model`, with which a dry run needs no download."""
    nf4: bool = False
    """Whether the weights of the model are quantised to 4-bit NormalFloat (QLoRA, arXiv:2305.14314, section 3)."""
    rank: int = 16
    """Rank of the matrices that are trained (LoRA, arXiv:2106.09685, section 4.1: r)."""
    alpha: int = 32
    """The product of the matrices is scaled by ``alpha / rank``."""
    dropout: float = 0.05
    """Dropout of the input of the matrices."""
    targets: tuple[str, ...] = _ALL_LINEAR
    """Names of the linear modules that get matrices; each must occur in the model."""
    learning_rate: float = 2e-4
    """Its maximum; it rises over `warmup_share` of the steps and falls linearly to zero."""
    warmup_share: float = 0.03
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    """Longer gradients are shortened to this norm."""
    rows_per_step: int = 8
    """Rows whose gradients are added before an update; rows pass through the model one at a time, without padding."""
    epochs: float = 1.0
    """Passes over the rows."""
    learned: Learned = "reply"
    """What the loss is taken of: the whole reply, or what follows the mark of the answer. The loss on held-out rows is
    always that of the whole reply."""
    order: Order = "random"
    """Order of the rows in the first pass: by chance, or shortest first, so that rows with few passages come before
    those with many (a curriculum); further passes are by chance."""
    steps: int | None = None
    """Updates; None: as many as `epochs` needs."""
    optimizer: Optimizer = "adamw"
    max_tokens: int = 2_048
    """Most tokens of a row; longer ones are left out."""
    gradient_checkpointing: bool = False
    """Whether activations are computed again in the backward pass, which takes a third more time and less memory."""
    held_out_rows: int = 64
    """Rows of the held-out part, from its beginning, on which the loss is measured."""
    evaluate_every: int = 50
    """Steps between measurements of the held-out loss."""
    patience: int = 3
    """Measurements in a row without a lower loss after which training ends; 0: it never ends early."""
    checkpoint_every: int = 25
    """Steps between checkpoints."""
    seed: int = 0


def _shape(model_type: str, **values: Any) -> Mapping[str, Any]:
    return MappingProxyType({"model_type": model_type, **values})


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        # Jin, Yu and Kokoromyti, GRAFT, section 3. The paper's targets name an output projection as well, which Phi-2
        # does not have beside `dense`. Learning rate schedule and sequence length are not in the paper.
        "paper": Recipe(
            name="paper",
            model="microsoft/phi-2",
            shape=_shape(
                "phi",
                hidden_size=2560,
                intermediate_size=10240,
                num_hidden_layers=32,
                num_attention_heads=32,
                vocab_size=51200,
                max_position_embeddings=2048,
                partial_rotary_factor=0.4,
            ),
            nf4=True,
            rank=32,
            alpha=32,
            targets=("q_proj", "k_proj", "v_proj", "dense"),
            optimizer="paged_adamw_8bit",
            gradient_checkpointing=True,
        ),
        "qwen": Recipe(
            name="qwen",
            model="Qwen/Qwen2.5-0.5B-Instruct",
            shape=_shape(
                "qwen2",
                hidden_size=896,
                intermediate_size=4864,
                num_hidden_layers=24,
                num_attention_heads=14,
                num_key_value_heads=2,
                vocab_size=151936,
                max_position_embeddings=32768,
                tie_word_embeddings=True,
            ),
            nf4=True,
            max_tokens=4_096,
            optimizer="paged_adamw_8bit",
            gradient_checkpointing=True,
        ),
        "llama": Recipe(
            name="llama",
            model="meta-llama/Llama-3.2-1B-Instruct",
            shape=_shape(
                "llama",
                hidden_size=2048,
                intermediate_size=8192,
                num_hidden_layers=16,
                num_attention_heads=32,
                num_key_value_heads=8,
                vocab_size=128256,
                max_position_embeddings=131072,
                tie_word_embeddings=True,
            ),
            nf4=True,
            max_tokens=4_096,
            optimizer="paged_adamw_8bit",
            gradient_checkpointing=True,
        ),
        "smollm": Recipe(
            name="smollm",
            model="HuggingFaceTB/SmolLM2-360M-Instruct",
            shape=_shape(
                "llama",
                hidden_size=960,
                intermediate_size=2560,
                num_hidden_layers=32,
                num_attention_heads=15,
                num_key_value_heads=5,
                vocab_size=49152,
                max_position_embeddings=8192,
                tie_word_embeddings=True,
            ),
            max_tokens=4_096,
        ),
        # Without a GPU: the smallest model of the family, in full precision, since a GGUF file is quantised already.
        "cpu": Recipe(
            name="cpu",
            model="smollm2-135m",
            shape=_shape(
                "llama",
                hidden_size=576,
                intermediate_size=1536,
                num_hidden_layers=30,
                num_attention_heads=9,
                num_key_value_heads=3,
                vocab_size=49152,
                max_position_embeddings=8192,
                tie_word_embeddings=True,
            ),
            rank=8,
            alpha=16,
            learning_rate=1e-3,
            rows_per_step=4,
            held_out_rows=16,
            evaluate_every=10,
            checkpoint_every=5,
        ),
    }
)
"""By name."""

_AT_LEAST: Mapping[str, float] = {
    "rank": 1,
    "alpha": 1,
    "rows_per_step": 1,
    "steps": 1,
    "max_tokens": 16,
    "held_out_rows": 0,
    "evaluate_every": 1,
    "patience": 0,
    "checkpoint_every": 1,
    "seed": 0,
}


def recipe_with(name: str, **values: Any) -> Recipe:
    """Return a recipe with some values replaced.

    Args:
        name: of the recipe.
        values: fields of `Recipe`; None leaves a field as it is.

    Raises:
        BadInput: for an unknown recipe or a value out of its range.
    """
    if name not in RECIPES:
        raise BadInput(f"there is no recipe {name!r}. Choose one of: {', '.join(RECIPES)}")
    given = {key: value for key, value in values.items() if value is not None}
    if "steps" in given and "epochs" in given:
        raise BadInput("--steps and --epochs both say how long to train. Give one of them")
    recipe = replace(RECIPES[name], **given)
    if "model" in given and given["model"] != RECIPES[name].model:
        recipe = replace(recipe, shape={})
    for key, least in _AT_LEAST.items():
        value = getattr(recipe, key)
        if value is not None and value < least:
            raise BadInput(f"{key.replace('_', ' ')} {value} is too small. Give at least {least:g}")
    for key, most in (("learning_rate", 1.0), ("epochs", 1_000.0)):
        if not 0 < getattr(recipe, key) <= most:
            raise BadInput(
                f"{key.replace('_', ' ')} {getattr(recipe, key):g} is out of range. "
                f"Give more than 0 and at most {most:g}"
            )
    if not 0 <= recipe.dropout < 1:
        raise BadInput(f"dropout {recipe.dropout:g} is out of range. Give at least 0 and less than 1")
    if not recipe.targets:
        raise BadInput("no module is named for training. Name at least one, such as q_proj")
    return recipe


def recipe_as_json(recipe: Recipe) -> dict[str, Json]:
    """Return the values of a recipe, without the shape of its model."""
    found: dict[str, Json] = {}
    for each in fields(recipe):
        if each.name != "shape":
            value = getattr(recipe, each.name)
            found[each.name] = list(value) if isinstance(value, tuple) else value
    return found
