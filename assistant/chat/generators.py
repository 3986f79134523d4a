"""Generators behind one port: a transformers causal model, a GGUF file, an OpenAI-style endpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol

from assistant.chat.prompting import Prompt
from assistant.config import AssistantConfig, GeneratorSetting
from assistant.extras import need
from assistant.trust import checked, pretrained
from energycomm.errors import UserError
from energycomm.masking import conceal

STOPS = ("\nQuestion:", "\nContext:", "\nText:", "\nQ:")
"""Where a model that only goes on writing begins another example."""


class Generator(Protocol):
    """Writes an answer piece by piece.

    Attributes:
      name: kind and model, for the log.
    """

    name: str

    def stream(self, prompt: Prompt, max_tokens: int) -> Iterator[str]:
        """The pieces of the text, as they come; deterministic where the model allows it."""
        ...


def open_generator(config: AssistantConfig) -> Generator | None:
    """The generator that the configuration names; None for the extractive default."""
    if config.generator.kind == "extractive":
        return None
    return _open(config.generator, config.threads, config.device)


@lru_cache(maxsize=2)
def _open(setting: GeneratorSetting, threads: int, device: str | None) -> Generator:
    if setting.kind == "transformers":
        return TransformersGenerator(setting.model, four_bit=setting.four_bit, threads=threads, device=device)
    if setting.kind == "gguf":
        return GgufGenerator(setting.model, threads=threads)
    key = conceal(os.environ.get(setting.key_env, "") if setting.key_env else "")
    return EndpointGenerator(setting.url, setting.model, key)


class TransformersGenerator:
    """Any causal model that transformers opens: in 4 bits by bitsandbytes where a GPU is."""

    def __init__(self, model: str, *, four_bit: bool = False, threads: int = 2, device: str | None = None) -> None:
        need("torch", "transformers", *(("bitsandbytes", "accelerate") if four_bit else ()))
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(threads)
        options: dict[str, Any] = {}
        if four_bit:
            from transformers import BitsAndBytesConfig

            options["quantization_config"] = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
            options["device_map"] = "auto"
        self.name = f"transformers:{model}"
        self._tokenizer: Any = pretrained(AutoTokenizer, model)
        self._model: Any = pretrained(AutoModelForCausalLM, model, **options)
        if not four_bit:
            self._model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model.eval()

    def stream(self, prompt: Prompt, max_tokens: int) -> Iterator[str]:
        """Greedy decoding, streamed."""
        from threading import Thread

        from transformers import TextIteratorStreamer

        if self._tokenizer.chat_template and not prompt.continued:
            turns = [{"role": "system", "content": prompt.system}] if prompt.system else []
            text = self._tokenizer.apply_chat_template(
                [*turns, {"role": "user", "content": prompt.user}], tokenize=False, add_generation_prompt=True
            )
            encoded = self._tokenizer(text, return_tensors="pt", add_special_tokens=False)
        else:
            encoded = self._tokenizer(prompt.text, return_tensors="pt")
        encoded = encoded.to(self._model.device)
        streamer: Any = TextIteratorStreamer(self._tokenizer, skip_prompt=True, skip_special_tokens=True, timeout=600)
        options = {**encoded, "streamer": streamer, "max_new_tokens": max_tokens, "do_sample": False}
        worker = Thread(target=self._model.generate, kwargs=options, daemon=True)
        worker.start()
        yield from until_stop(streamer)
        worker.join()


class GgufGenerator:
    """Any GGUF file, run by llama.cpp (package llama-cpp-python)."""

    def __init__(self, model: str, *, threads: int = 2, context: int = 4096) -> None:
        need("llama_cpp")
        import llama_cpp

        self.name = f"gguf:{model}"
        # Reading the prompt has a number of threads of its own, which is all cores when it is not told.
        self._model: Any = llama_cpp.Llama(
            str(checked(model)), n_ctx=context, n_threads=threads, n_threads_batch=threads, verbose=False
        )
        self._chat = "tokenizer.chat_template" in (self._model.metadata or {})

    def stream(self, prompt: Prompt, max_tokens: int) -> Iterator[str]:
        """Greedy decoding, streamed.

        Raises:
          UserError: the prompt is longer than the model reads.
        """
        try:
            yield from until_stop(self._pieces(prompt, max_tokens))
        except ValueError as error:
            raise UserError(f"The model cannot read the prompt: {error}.", "Show it fewer passages.") from None

    def _pieces(self, prompt: Prompt, max_tokens: int) -> Iterator[str]:
        if self._chat and not prompt.continued:
            turns = [{"role": "system", "content": prompt.system}] if prompt.system else []
            parts = self._model.create_chat_completion(
                [*turns, {"role": "user", "content": prompt.user}], max_tokens=max_tokens, temperature=0, stream=True
            )
            yield from (part["choices"][0]["delta"].get("content") or "" for part in parts)
        else:
            parts = self._model(prompt.text, max_tokens=max_tokens, temperature=0, stream=True)
            yield from (part["choices"][0]["text"] for part in parts)


class EndpointGenerator:
    """An OpenAI-style endpoint of the house (`/chat/completions`, streamed as server-sent events)."""

    def __init__(self, url: str, model: str, key: str = "", *, client: Any = None, timeout: float = 120) -> None:
        need("httpx")
        import httpx

        if not url:
            raise UserError("The endpoint has no address.", "Set generator.url in assistant.toml.")
        self.name = f"endpoint:{model}"
        self._url = url.rstrip("/") + "/chat/completions"
        self._model = model
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client: Any = client or httpx.Client(timeout=timeout)

    def stream(self, prompt: Prompt, max_tokens: int) -> Iterator[str]:
        """The endpoint's answer, streamed.

        Raises:
          UserError: the endpoint cannot be reached or refuses.
        """
        import httpx

        turns = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body = {
            "model": self._model,
            "messages": [*turns, {"role": "user", "content": prompt.user}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
        }
        try:
            with self._client.stream("POST", self._url, json=body, headers=self._headers) as response:
                if response.status_code >= 400:
                    raise UserError(f"The model's endpoint answers {response.status_code}.", f"Check {self._url}.")
                yield from until_stop(_deltas(response.iter_lines()))
        except httpx.HTTPError as error:
            raise UserError(f"The model's endpoint fails: {type(error).__name__}.", f"Check {self._url}.") from None


def until_stop(pieces: Any) -> Iterator[str]:
    """Pieces up to where the model begins another example; what could become a stop is held back."""
    held = ""
    longest = max(map(len, STOPS))
    for piece in pieces:
        held += piece
        at = min((place for stop in STOPS if (place := held.find(stop)) >= 0), default=-1)
        if at >= 0:
            yield held[:at]
            return
        if len(held) > longest:
            yield held[:-longest]
            held = held[-longest:]
    if held:
        yield held


def _deltas(lines: Any) -> Iterator[str]:
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            return
        choices = json.loads(data).get("choices") or [{}]
        yield (choices[0].get("delta") or {}).get("content") or ""
