"""A stream that breaks after it has begun ends in an error, on every surface, of every provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import pytest

from techniques.core.json import Json
from tests.conformance.dialects import MODELS, SURFACES
from tests.conformance.stage import STALLING, Stage
from tests.fakes import responses, script
from tests.fakes.script import Answer, End, Wait, Write

_SAID: Final = {"type": "overloaded_error", "message": "Words of the provider."}
BEGUN: Final[Mapping[str, tuple[bytes, ...]]] = {
    "openai_chat": (script.begin(), script.text("Hello")),
    "anthropic": (script.message_start(), script.text_opened("Hello")),
    "openai_responses": tuple(
        responses.events((responses.message("Hello there"), ["Hello", " there"]))[:5]
    ),
}
TOLD: Final[Mapping[str, bytes]] = {
    "openai_chat": script.frame({"error": {**_SAID, "param": None, "code": None}}),
    "anthropic": script.event("error", error=_SAID),
    "openai_responses": script.event(
        "error", sequence_number=9, code="server_error", message=_SAID["message"], param=None
    ),
}
ENDS: Final[Mapping[str, End]] = {"reset": "reset", "cut": "fin", "ended": "whole"}
HOW: Final = ("told", "silence", *ENDS)
"""How an answer breaks off: with a word, with none, or as if it had come to its end."""


def broken(upstream: str, how: str) -> Answer:
    """Return the beginning of an answer of *upstream*, and how it breaks off."""
    more: dict[str, tuple[Write, ...]] = {"told": (TOLD[upstream],), "silence": (Wait(5),)}
    return script.sse(*BEGUN[upstream], *more.get(how, ()), end=ENDS.get(how, "whole"))


def last_of(client: str, body: bytes) -> Json:
    """Return the last thing that *client* is told, as an object."""
    last = body.strip().splitlines()[-1]
    assert b"[DONE]" not in body
    if client in {"ollama", "generate"}:
        return json.loads(last)
    assert last.startswith(b"data: ")
    return json.loads(last.removeprefix(b"data: "))


@pytest.mark.gateway(STALLING)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("upstream", MODELS)
@pytest.mark.parametrize("client", SURFACES)
def test_a_stream_that_breaks_ends_in_an_error_of_its_form(
    stage: Stage, client: str, upstream: str, how: str
) -> None:
    stage.upstream.plays(broken(upstream, how))
    path, asked = SURFACES[client]

    answer = stage.post(path, {"model": MODELS[upstream], **asked, "stream": True})

    assert answer.status == 200
    assert b"Hello" in answer.body
    last = last_of(client, answer.body)
    error = last["response"]["error"] if client == "responses" else last["error"]
    words = error if isinstance(error, str) else error["message"]
    assert words
    if how == "told":
        assert words == _SAID["message"]
    if client == "messages":
        assert (last["type"], last["request_id"]) == ("error", answer.request_id)
    if client == "responses":
        assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
