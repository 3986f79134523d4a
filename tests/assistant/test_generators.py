"""Generators behind their port: a causal model of transformers, a GGUF file, an endpoint; each is really asked."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistant.chat.generators import EndpointGenerator, GgufGenerator, TransformersGenerator, open_generator
from assistant.chat.prompting import Prompt
from assistant.config import AssistantConfig
from assistant.trust import remember
from energycomm.errors import UserError

PROMPT = Prompt(system="Answer shortly.", user="Question: why?")


class House(BaseHTTPRequestHandler):
    """An endpoint as vLLM, llama.cpp's server and others offer it: server-sent events of deltas."""

    asked: list[dict[str, Any]]
    pieces: tuple[str, ...]
    status: int

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        self.send_response(type(self).status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for piece in type(self).pieces:
            self.wfile.write(f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n".encode())
        self.wfile.write(b": a comment\n\ndata: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def house() -> Iterator[tuple[str, type[House]]]:
    handler = type("Fresh", (House,), {"asked": [], "pieces": ("Because ", "it is so [a1b2c3d4]."), "status": 200})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", handler
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_an_endpoint_is_asked_in_the_form_of_openai_and_streams(
    house: tuple[str, type[House]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key comes from the environment variable that the configuration names."""
    address, handler = house
    monkeypatch.setenv("HOUSE_KEY", "told-to-nobody")
    setting = {"kind": "endpoint", "url": address + "/", "model": "house-7b", "key_env": "HOUSE_KEY"}
    generator = open_generator(AssistantConfig(generator=setting))  # type: ignore[arg-type]
    assert generator is not None
    assert "".join(generator.stream(PROMPT, 32)) == "Because it is so [a1b2c3d4]."
    (asked,) = handler.asked
    assert (asked["path"], asked["key"]) == ("/v1/chat/completions", "Bearer told-to-nobody")
    assert (asked["model"], asked["max_tokens"], asked["temperature"], asked["stream"]) == ("house-7b", 32, 0, True)
    assert [turn["role"] for turn in asked["messages"]] == ["system", "user"]


def test_an_endpoint_that_refuses_or_is_not_there_is_told_without_the_key(house: tuple[str, type[House]]) -> None:
    """The message says what to check."""
    address, handler = house
    handler.status = 503
    with pytest.raises(UserError, match="503") as refused:
        "".join(EndpointGenerator(address, "m", "told-to-nobody").stream(PROMPT, 8))
    with pytest.raises(UserError, match="fails") as lost:
        "".join(EndpointGenerator("http://127.0.0.1:9/v1", "m", "told-to-nobody", timeout=2).stream(PROMPT, 8))
    assert "told-to-nobody" not in f"{refused.value} {lost.value}"
    with pytest.raises(UserError, match="no address"):
        EndpointGenerator("", "m")


class FakeLlama:
    """What llama-cpp-python offers of a model: plain completion, and chat where the file has a template."""

    def __init__(self, path: str, **options: Any) -> None:
        assert options["n_threads"] == options["n_threads_batch"] == 1, "it would take every core to read the prompt"
        self.path = path
        self.metadata = {"tokenizer.chat_template": "..."} if "chat" in Path(path).name else {}

    def __call__(self, text: str, **options: Any) -> Iterator[dict[str, Any]]:
        assert options["stream"] is True
        if len(text) > 500:
            raise ValueError("Requested tokens (900) exceed context window of 512")
        yield from ({"choices": [{"text": piece}]} for piece in ("It is so.", "\nQues", "tion: and more?"))

    def create_chat_completion(self, turns: list[dict[str, str]], **options: Any) -> Iterator[dict[str, Any]]:
        yield {"choices": [{"delta": {"role": "assistant"}}]}
        yield {"choices": [{"delta": {"content": f"{len(turns)} turns"}}]}


def gguf(file: Path) -> str:
    """A file that may be opened."""
    file.write_bytes(b"GGUF")
    remember(file)
    return str(file)


@pytest.mark.parametrize(("file", "said"), [("base.gguf", "It is so."), ("chat.gguf", "2 turns")])
def test_a_gguf_file_is_asked_with_or_without_its_chat_template(
    file: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held against the form of llama-cpp-python's answers, which takes long to compile and is not needed here."""
    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=FakeLlama))
    monkeypatch.setattr("assistant.chat.generators.need", lambda *modules: None)
    assert "".join(GgufGenerator(gguf(tmp_path / file), threads=1).stream(PROMPT, 16)) == said


def test_a_prompt_that_a_gguf_file_cannot_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=FakeLlama))
    monkeypatch.setattr("assistant.chat.generators.need", lambda *modules: None)
    generator = GgufGenerator(gguf(tmp_path / "base.gguf"), threads=1)
    with pytest.raises(UserError, match="exceed context window of 512"):
        "".join(generator.stream(Prompt(system="", user="why? " * 200), 16))


@pytest.fixture
def causal(tmp_path: Path) -> Path:
    """A causal model of a few thousand weights, as a folder; whatever it reads it says `because`."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "</s>", "Answer", "shortly.", "Question:", "why?", "because", "it", "is", "so"]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=64, pad_token_id=0, eos_token_id=2, bos_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(1)
        model.lm_head.weight.zero_()
        model.lm_head.weight[words.index("because")] = 1
        for part in (model.model.layers[0].self_attn.o_proj, model.model.layers[0].mlp.down_proj):
            part.weight.zero_()
    model.save_pretrained(tmp_path / "model")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", eos_token="</s>")
    tokenizer.save_pretrained(tmp_path / "model")
    remember(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.filterwarnings("ignore")
def test_a_causal_model_of_transformers_is_opened_and_streams(causal: Path) -> None:
    """As many tokens as are allowed, without the prompt."""
    generator = TransformersGenerator(str(causal), threads=1)
    assert "".join(generator.stream(PROMPT, 3)).split() == ["because"] * 3


@pytest.mark.filterwarnings("ignore")
def test_four_bits_are_asked_of_bitsandbytes(causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal floats in 4 bits, wherever the library puts the model."""
    from transformers import AutoModelForCausalLM

    seen: dict[str, Any] = {}
    real = AutoModelForCausalLM.from_pretrained

    def opened(model: str, **options: Any) -> Any:
        seen.update(options)
        return real(model)

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", opened)
    TransformersGenerator(str(causal), four_bit=True, threads=1)
    assert seen["quantization_config"].load_in_4bit
    assert seen["quantization_config"].bnb_4bit_quant_type == "nf4"
    assert seen["device_map"] == "auto"
