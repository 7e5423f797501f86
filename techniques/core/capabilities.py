"""What a model can do, as its operator declared it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Prefill: TypeAlias = Literal["none", "message", "prefix", "flags"]
"""How a model is shown the beginning of its answer: not at all; as a last turn of its own; as one
marked ``prefix`` (DeepSeek, Mistral); as one that two flags speak of (vLLM, SGLang)."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What can be asked of a model.

    Attributes:
        tools: It can call tools.
        vision: It can read images.
        json_schema: It holds an answer to a JSON schema.
        logprobs: It reports token log-probabilities.
        seed: It takes a seed.
        temperature: It takes a temperature; reasoning models often do not.
        max_completion_tokens: Its output limit has that name and not ``max_tokens`` (OpenAI);
            None: not known, the name that the client gave it is kept.
        developer_role: It knows turns of role ``developer``; else they are sent as ``system``.
        many_systems: It takes several system turns, anywhere; else they are joined into a first.
        stream_usage: It takes ``stream_options.include_usage``; else usage comes unasked or never.
        n: It takes ``n`` above 1.
        thinking: It reasons where a request does not say, and takes no temperature meanwhile.
        prefill: How it takes the beginning of its own answer, to go on with it.
        context: Tokens of input and output together, None if not known.
        embeddings: It makes embeddings, and nothing else; False: it makes none. None: not known.
        base64: It writes embeddings as base64 too.
    """

    tools: bool = True
    vision: bool = True
    json_schema: bool = True
    logprobs: bool = True
    seed: bool = True
    temperature: bool = True
    max_completion_tokens: bool | None = None
    developer_role: bool = True
    many_systems: bool = True
    stream_usage: bool = True
    n: bool = True
    thinking: bool = False
    prefill: Prefill = "none"
    context: int | None = None
    embeddings: bool | None = None
    base64: bool = True
