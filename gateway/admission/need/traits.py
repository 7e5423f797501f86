"""What of a request tells how much it will use. A relayed body is looked at, not decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gateway.admission.need.weight import weigh, weigh_body, weigh_request
from techniques.core.json import Json
from techniques.core.relayed import COMPLETIONS, EMBEDDINGS
from techniques.core.request import Message, Relay, Request

_MOST_TOKENS: Final = 2**40
_MOST_CHOICES: Final = 128
_PREFIX: Final = 4096
"""About as many bytes as the least that providers cache: 1,024 tokens."""

_OF_CHAT: Final = ("max_completion_tokens", "max_tokens")
_LIMITS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("max_tokens",),
    "openai_responses": ("max_output_tokens",),
}
"""How the output limit is called in a dialect; by another name a provider may well overlook it."""
_SHAPED: Final = ("json_schema", "json_object")


class Traits(NamedTuple):
    """What of a request tells its need.

    Attributes:
        tools: It offers tools.
        schema: Its answer must have a form.
        thinking: It asks for reasoning.
        max_tokens: What the caller allows one answer to have; None: nothing was said.
        choices: How many answers it asks for.
        text_bytes: Its size without images and sound.
        framed: ``text_bytes`` counts the body's JSON too, and not only the words in it.
        prefix: Stands for its first 4,096 bytes, None if it is shorter; differs between processes.
    """

    tools: bool = False
    schema: bool = False
    thinking: bool = False
    max_tokens: int | None = None
    choices: int = 1
    text_bytes: int = 0
    images: int = 0
    sounds: int = 0
    framed: bool = False
    prefix: int | None = None

    @property
    def stated(self) -> int | None:
        """The most output tokens that the caller allows, over all choices."""
        return None if self.max_tokens is None else self.max_tokens * self.choices


def traits(request: Request) -> Traits:
    """Return what of *request* tells its need; in time that does not grow with relayed text."""
    return _spelled(request) if request.relay is None else _relayed(request.relay)


def _relayed(relay: Relay) -> Traits:
    body = relay.body
    weight = weigh(body) if relay.raw is None else weigh_body(body, len(relay.raw))
    return Traits(
        bool(body.get("tools")),
        _shaped(body),
        _thinks(body),
        _allowed(relay),
        _all_choices(relay),
        weight.text,
        weight.images,
        weight.sounds,
        True,  # noqa: FBT003 - a named tuple takes half as long without names
        _prefix(relay.raw),
    )


def _spelled(request: Request) -> Traits:
    sampling, shape, wish = request.sampling, request.response_format, request.thinking
    weight = weigh_request(request)
    return Traits(
        tools=bool(request.tools),
        schema=shape is not None,
        thinking=wish is not None and wish.thinks,
        max_tokens=_limit(sampling.max_output_tokens),
        choices=_choices(sampling.n),
        text_bytes=weight.text,
        images=weight.images,
        sounds=weight.sounds,
        prefix=_first_words(request.messages),
    )


def stated_in(relay: Relay) -> int | None:
    """Return the most output tokens that a caller allows, over all choices: see ``Traits``."""
    limit = _allowed(relay)
    return None if limit is None else limit * _all_choices(relay)


def _allowed(relay: Relay) -> int | None:
    """Return the most output tokens of one answer, None if it is not said; embeddings have none.

    Of two limits the larger counts: which of them a provider keeps to is not known here.
    """
    if relay.dialect == EMBEDDINGS:
        return 0
    body = relay.body
    if relay.dialect == COMPLETIONS and body.get("max_tokens") == 0:  # to have the prompt rated
        return 0
    names = _LIMITS.get(relay.dialect, _OF_CHAT)
    return max(filter(None, (_limit(body.get(name)) for name in names)), default=None)


def _all_choices(relay: Relay) -> int:
    """Return how many answers are written; a legacy completion has some for each of its prompts."""
    body = relay.body
    if relay.dialect != COMPLETIONS:
        return _choices(body.get("n"))
    prompt = body.get("prompt")
    each = max(_choices(body.get("n")), _choices(body.get("best_of")))
    if not isinstance(prompt, list) or not prompt or isinstance(prompt[0], int):
        return each
    return each * len(prompt)


def _prefix(raw: bytes | None) -> int | None:
    return hash(raw[:_PREFIX]) if raw is not None and len(raw) >= _PREFIX else None


def _first_words(messages: tuple[Message, ...]) -> int | None:
    text = messages[0].text if messages else ""
    return hash(text[:_PREFIX]) if len(text) >= _PREFIX else None


def _limit(value: Json) -> int | None:
    return value if type(value) is int and 0 < value <= _MOST_TOKENS else None


def _choices(value: Json) -> int:
    return min(max(value, 1), _MOST_CHOICES) if type(value) is int else 1


def _shaped(body: Mapping[str, Json]) -> bool:
    shape = body.get("response_format") or body.get("output_format")
    if shape is None and isinstance(config := body.get("output_config"), dict):
        shape = config.get("format")
    if shape is None and isinstance(text := body.get("text"), dict):
        shape = text.get("format")
    return isinstance(shape, dict) and shape.get("type") in _SHAPED


def _thinks(body: Mapping[str, Json]) -> bool:
    thinking = body.get("thinking")
    if isinstance(thinking, dict):
        return thinking.get("type") != "disabled"
    effort = body.get("reasoning_effort")
    if isinstance(reasoning := body.get("reasoning"), dict):
        effort = reasoning.get("effort") or effort
    return isinstance(effort, str) and effort != "none"
