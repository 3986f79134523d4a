"""The network that is trained: our own small Llama made from nothing, or any causal model with LoRA or QLoRA."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from assistant.classifier.recipe import Recipe
from assistant.classifier.tokenizer import START, add_codes, train_tokenizer
from assistant.extras import need
from assistant.trust import checked, pretrained
from energycomm.errors import UserError


def new_model(recipe: Recipe, texts: Iterable[str], codes: Sequence[str]) -> tuple[Any, Any]:
    """A model to train, and its tokenizer.

    Args:
      recipe: what to make.
      texts: of the training part: our own tokenizer is learnt from them.
      codes: error codes that get one token each, where the recipe writes them so.

    Raises:
      UserError: packages are missing, or the base cannot be opened.
    """
    need("torch", "transformers")
    import torch

    torch.manual_seed(recipe.seed)
    own_codes = list(codes) if recipe.labels == "token" else []
    if recipe.own:
        tokenizer = train_tokenizer(texts, own_codes, recipe.vocabulary)
        return _own(recipe, len(tokenizer)), tokenizer
    tokenizer = open_tokenizer(recipe.base)
    added = add_codes(tokenizer, own_codes)
    model = open_base(recipe.base, four_bit=recipe.four_bit)
    if added:
        make_room(model, len(tokenizer))
    return _adapted(model, recipe, tokenizer.convert_tokens_to_ids(own_codes)), tokenizer


def _own(recipe: Recipe, size: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=_rounded(size),
        hidden_size=recipe.hidden,
        intermediate_size=3 * recipe.hidden,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        # Four times the usual: so narrow a network begins to learn from the facts at once, not after thousands of
        # steps.
        initializer_range=0.08,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config)


def _rounded(size: int) -> int:
    """Room for the codes of rules to come, and a size that matrices like."""
    return (size + 64 + 63) // 64 * 64


def _quietly() -> None:
    """No bars of transformers for files that are read and written in a moment."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def open_base(base: str, *, four_bit: bool = False) -> Any:
    """Open a causal language model by its folder.

    Raises:
      UserError: it cannot be opened.
    """
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    _quietly()
    extra: dict[str, Any] = {"dtype": torch.float32}
    if four_bit:
        need("bitsandbytes")
        quantized: Any = BitsAndBytesConfig
        compute = torch.bfloat16 if torch.cuda.is_available() else torch.float32
        extra = {
            "dtype": compute,
            "quantization_config": quantized(
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=compute,
            ),
        }
    elif torch.cuda.is_available():
        extra = {"dtype": torch.bfloat16, "device_map": "auto"}
    try:
        return pretrained(AutoModelForCausalLM, base, **extra)
    except (OSError, ValueError) as error:
        raise UserError(
            f"The model {base} cannot be opened: {_first_line(error)}", "Name the folder of a model."
        ) from None


def open_tokenizer(base: str) -> Any:
    """The tokenizer of a model, with a padding token.

    Raises:
      UserError: it cannot be opened.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = pretrained(AutoTokenizer, base)
    except (OSError, ValueError) as error:
        raise UserError(
            f"The tokenizer of {base} cannot be opened: {_first_line(error)}", "Name the folder of a model."
        ) from None
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def make_room(model: Any, size: int) -> None:
    """Give a model rows for so many tokens, where it has fewer.

    An output layer with weights of its own keeps for each new token the row that it gets here: the adapter trains the
    rows that are read alone. So it has to be the same row whenever the base is opened.
    """
    import torch

    before = model.get_input_embeddings().weight.shape[0]
    if size <= before:
        return
    model.resize_token_embeddings(size, mean_resizing=False)
    weight = model.get_output_embeddings().weight
    if weight is model.get_input_embeddings().weight:
        return
    spread = float(weight.detach()[:before].std())
    with torch.no_grad():
        for row in range(before, size):
            drawn = torch.randn(weight.shape[1], generator=torch.Generator().manual_seed(row))
            weight[row] = (drawn * spread).to(weight)


def _adapted(model: Any, recipe: Recipe, tokens: list[int]) -> Any:
    """The model with LoRA on every linear layer; the tokens of codes are trained as they are."""
    need("peft")
    from peft import LoraConfig, TaskType, get_peft_model, prepare_model_for_kbit_training

    if recipe.four_bit:
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    if recipe.checkpointing:
        # Its name of old is a warning in newer releases.
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable()
        model.enable_input_require_grads()
    config = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules="all-linear",
        trainable_token_indices=tokens or None,
    )
    return get_peft_model(model, config)


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the model and its tokenizer: all of our own base, the adapter of another."""
    _quietly()
    folder.mkdir(parents=True, exist_ok=True)
    # The rows of the codes' tokens are part of the adapter; the rest of the embeddings is the base's.
    extra = {"save_embedding_layers": False} if hasattr(model, "peft_config") else {}
    model.save_pretrained(folder, **extra)
    tokenizer.save_pretrained(folder)


def load_model(recipe: Recipe, folder: Path, *, trainable: bool = False) -> tuple[Any, Any]:
    """Open what `save_model` wrote.

    Args:
      recipe: it was trained with.
      folder: where it is.
      trainable: an adapter is opened for more training.

    Raises:
      UserError: packages are missing, or something is not there.
    """
    need("torch", "transformers")
    tokenizer = open_tokenizer(str(folder))
    if recipe.own:
        return open_base(str(folder)), tokenizer
    need("peft")
    from peft import PeftModel

    model = open_base(recipe.base, four_bit=recipe.four_bit)
    make_room(model, len(tokenizer))
    return PeftModel.from_pretrained(model, str(checked(folder)), is_trainable=trainable), tokenizer


def opening(tokenizer: Any, *, own: bool) -> list[int]:
    """The ids that a text begins with, where the tokenizer has such."""
    if own:
        return [tokenizer.convert_tokens_to_ids(START)]
    return [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
