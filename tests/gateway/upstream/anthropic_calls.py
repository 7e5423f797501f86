"""What this kind of provider is sent for a request, and what it is not."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.upstream.provider import HttpCall, Target
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, Request, said
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET

HI = said("user", "hi")


def asked(*messages: Message, **fields: Json) -> Request:
    return replace(Request("m", messages or (HI,), dialect="openai_chat"), **fields)


def sent(request: Request, target: Target = TARGET) -> JsonObject:
    body: JsonObject = orjson.loads(ANTHROPIC.encode(request, target).body)
    return body


def warnings(call: HttpCall) -> set[tuple[str, str]]:
    return {(warned.code, warned.detail) for warned in call.warnings}


def refused(request: Request, target: Target = TARGET) -> str | None:
    with pytest.raises(RequestRejected) as rejected:
        ANTHROPIC.encode(request, target)
    return rejected.value.param
