"""Requests to put through the OpenAI-compatible provider, and what it sends for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from gateway.upstream.provider import HttpCall, Target
from techniques.core.capabilities import Capabilities
from techniques.core.events import Warned
from techniques.core.request import (
    Message,
    Relay,
    Request,
    said,
)
from tests.gateway.upstream.openai_chat_bytes import OPENAI, TARGET

ASKED = {"model": "fast", "messages": [{"role": "user", "content": "hi"}]}


def target(**capabilities: Any) -> Target:
    return replace(TARGET, capabilities=Capabilities(**capabilities))


def written(request: Request, to: Target = TARGET) -> tuple[Any, HttpCall]:
    call = OPENAI.encode(request, to)
    return orjson.loads(call.body), call


def neutral(*turns: Message, **more: Any) -> Request:
    return Request("fast", turns or (said("user", "hi"),), **more)


def turns(*messages: Message, dialect: str = "anthropic") -> Any:
    return written(neutral(*messages, dialect=dialect))[0]["messages"]


def relayed(
    body: dict[str, Any], *, stream: bool = False, strict: bool = False, model: str = "fast"
) -> Request:
    relay = Relay("openai_chat", orjson.dumps(body), body, lambda: Request("fast"))
    return Request(model, stream=stream, strict=strict, dialect="openai_chat", relay=relay)


def adapted(body: dict[str, Any], **capabilities: Any) -> tuple[Any, tuple[Warned, ...]]:
    sent, call = written(relayed({**ASKED, **body}), target(**capabilities))
    return sent, call.warnings
