"""Tokens by rule of thumb, for answers whose provider counts none."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from gateway.admission.need.traits import stated_in
from gateway.clock import utc_now
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.errors import RequestRejected
from techniques.core.json import NOTHING
from techniques.core.request import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Request,
    Text,
    ToolCall,
    ToolResult,
)

_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_IMAGE = 800
_UNKNOWN_OUTPUT = 256
_ASKED = ("service_tier", "speed")
"""Where a request says how it wants to be served."""


def input_tokens(request: Request) -> int:
    """Return about how many tokens *request* is: four characters of text each, at least 1."""
    if request.relay is not None:
        raw = request.relay.raw
        characters = len(raw) if raw is not None else len(str(request.relay.body))
        return max(characters // _CHARACTERS_PER_TOKEN, 1)
    return max(sum(map(turn_tokens, request.messages)), 1)


def output_tokens(characters: int, request: Request) -> int:
    """Return about how many tokens *characters* of an answer are, within what was allowed."""
    tokens = -(-characters // _CHARACTERS_PER_TOKEN)
    allowed = _allowed(request)
    return tokens if allowed is None else min(tokens, allowed)


def reasoning_tokens(characters: int, usage: Usage) -> int:
    """Return about how many tokens of *usage*'s output were *characters* of reasoning."""
    return min(-(-characters // _CHARACTERS_PER_TOKEN), usage.output_tokens)


def cost_of(request: Request, price: Price | None) -> int:
    """Return about what *request* will cost, in picodollars; 0 if the price is not known.

    Its answer counts with the length that is allowed, or with 256 tokens where none is said.
    """
    return _cost(request, price, _expected(request))


def cost_like(request: Request, price: Price | None, answers: Sequence[int]) -> int:
    """Return about what *request* will cost if its answer is like *answers*, in tokens each.

    Where there are none, an answer of 256 tokens is expected, or what is allowed if that is less.
    """
    output = round(fmean(answers)) if answers else min(_expected(request), _UNKNOWN_OUTPUT)
    return _cost(request, price, output)


def _cost(request: Request, price: Price | None, output: int) -> int:
    if price is None:
        return 0
    used = Usage(input_tokens(request), output, images=images(request, price))
    return max(cost(used, one) for one in asked_at(request, price))


def asked_at(request: Request, price: Price) -> list[Price]:
    """Return what *request* may be charged by now: as usual, or as it asks to be served."""
    current = price if price.then is None else price.at(utc_now().timestamp())
    body = NOTHING if request.relay is None else request.relay.body
    for name in _ASKED if current.modes else ():
        mode = body.get(name)
        if isinstance(mode, str) and (served := current.served(mode)):
            return [current, served]
    return [current]


def images(request: Request, price: Price) -> int:
    """Return how many pictures *request* sends, where *price* charges for each; else 0."""
    if not price.image:
        return 0
    try:
        return sum(map(_images, request.decoded().messages))
    except RequestRejected:  # it can be passed on all the same
        return 0


def _images(message: Message) -> int:
    return sum(
        sum(isinstance(inner, Image) for inner in part.parts)
        if isinstance(part, ToolResult)
        else isinstance(part, Image)
        for part in message.parts
    )


def _expected(request: Request) -> int:
    allowed = _allowed(request)
    return _UNKNOWN_OUTPUT if allowed is None else allowed


def _allowed(request: Request) -> int | None:
    """Return the most output tokens that *request* allows, over all choices; None: no limit."""
    if request.relay is not None:
        return stated_in(request.relay)
    limit = request.sampling.max_output_tokens
    return None if limit is None else limit * max(request.sampling.n, 1)


def turn_tokens(message: Message) -> int:
    """Return about how many tokens *message* is."""
    return 4 + sum(_part_tokens(part) for part in message.parts)


def _part_tokens(part: Part) -> int:
    match part:
        case Image():
            return _TOKENS_PER_IMAGE
        case ToolResult():
            return sum(map(_part_tokens, part.parts))
        case _:
            return len(_words(part)) // _CHARACTERS_PER_TOKEN


def _words(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return part.name + part.arguments
        case Document():
            return part.text or part.data or ""
        case Opaque():
            return str(part.value)
        case _:
            return getattr(part, "text", "")
