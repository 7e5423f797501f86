"""What the documents show of thinking: what is sent for each style, and which model takes what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

from gateway.config.thinking import Style
from gateway.upstream.families import FAMILIES, HOSTS, OFF
from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.upstream.thinking import Thinks
from techniques.core.json import JsonObject
from techniques.core.request import Request, Sampling, ThinkingWish, said

_FOR: Final[dict[Style, str]] = {
    "effort": "OpenAI and most hosts of its API",
    "anthropic_budget": "Claude 3.7 to 4.5; others in Anthropic's dialect",
    "anthropic_adaptive": "Claude from 4.6 on",
    "gemini": "Google's OpenAI-compatible address",
    "openrouter": "OpenRouter; models at Together that have a switch",
    "chat_template": "vLLM, SGLang, llama.cpp, NVIDIA",
    "switch": "DeepSeek, Z.ai, Moonshot, Volcengine",
    "dashscope": "Alibaba's Model Studio, SiliconFlow",
    "ollama": "Ollama's OpenAI-compatible address",
    "directive": "the last resort: a word in the prompt (Qwen3, GLM-4.5)",
    "none": "models that always think, or never",
}
_WISHES: Final = (
    ThinkingWish("off"),
    ThinkingWish("on"),
    ThinkingWish("on", 3000),
    ThinkingWish(effort="high"),
)
_LEVELS: Final = ("low", "medium", "high")


def styles() -> Iterator[tuple[str, ...]]:
    """Yield, for each style, who takes it and what is sent for off, on, a budget and an effort."""
    for style, who in _FOR.items():
        graded = style in {"effort", "ollama", "anthropic_adaptive"}
        thinks = Thinks(style, _LEVELS if graded else (), OFF[style])
        yield (f"`{style}`", who, *(_sent(thinks, wish) for wish in _WISHES))
    thinks = Thinks("effort", _LEVELS, OFF["effort"])
    told = (_sent(thinks, wish, OpenAIResponses()) for wish in _WISHES)
    yield ("`effort`", "any model, in the dialect `openai_responses`", *told)


def families() -> Iterator[tuple[str, ...]]:
    """Yield, for each family of models, how it is told, and what it takes."""
    for family in FAMILIES:
        thinks = family.thinks
        if not thinks.able:
            yield family.name, "-", "-", "does not think", "always"
            continue
        yield (
            family.name,
            f"`{thinks.style}`",
            ", ".join(thinks.levels) or "-",
            {"": "nothing", "omit": "silence"}.get(thinks.off, f"`{thinks.off}`"),
            {"always": "always", "off": "at rest", "never": "never"}[thinks.sampling],
        )


def hosts() -> str:
    """Return the hosts that have one style for all of their models."""
    return ", ".join(f"`{host.address}` (`{host.style}`)" for host in HOSTS) + "\n"


def _sent(thinks: Thinks, wish: ThinkingWish, codec: Provider | None = None) -> str:
    """Return the fields that *wish* adds to a call to a model that *thinks* so."""
    if codec is None:
        codec = Anthropic() if thinks.style.startswith("anthropic_") else OpenAIChat()
    target = Target("m", "p", "m", thinks=thinks)
    asked = Request("m", (said("user", "Why?"),), sampling=Sampling(max_output_tokens=9000))
    plain = _body(codec, asked, target)
    wished = _body(
        codec, Request("m", asked.messages, sampling=asked.sampling, thinking=wish), target
    )
    added = {name: value for name, value in wished.items() if plain.get(name) != value}
    if "messages" in added:
        return f"`{wished['messages'][-1]['content']}`"
    shown = orjson.dumps(added).decode()
    return f"`{shown[1:-1]}`" if added else "-"


def _body(codec: Provider, request: Request, target: Target) -> JsonObject:
    body: JsonObject = orjson.loads(codec.encode(request, target).body)
    return body
