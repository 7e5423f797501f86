"""Every way in and every kind of provider, for tests that hold whichever they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import pytest

from techniques.core.json import Json
from tests.conformance.stage import ASKED, CHAT, MESSAGES, Stage
from tests.fakes import responses, script
from tests.fakes.client import Reply
from tests.fakes.script import Answer

_TURNS: Final[dict[str, Json]] = {"messages": ASKED}
SURFACES: Final[Mapping[str, tuple[str, Mapping[str, Json]]]] = {
    "chat": (CHAT, _TURNS),
    "messages": (MESSAGES, {**_TURNS, "max_tokens": 64}),
    "responses": ("/v1/responses", {"input": "hello there"}),
    "ollama": ("/api/chat", _TURNS),
    "generate": ("/api/generate", {"prompt": "hello there"}),
}
"""The path of each surface, and the body of a call there, but for its model."""
BESIDE: Final[Mapping[str, tuple[str, Mapping[str, Json]]]] = {
    "embeddings": ("/v1/embeddings", {"input": "hello there"}),
    "completions": ("/v1/completions", {"prompt": "hello there"}),
    "embed": ("/api/embed", {"input": "hello there"}),
    "embedding": ("/api/embeddings", {"prompt": "hello there"}),
}
"""The same of what is no conversation; only providers of OpenAI's kind have it."""
MODELS: Final[Mapping[str, str]] = {
    "openai_chat": "oa-model",
    "anthropic": "an-model",
    "openai_responses": "rs-model",
}
"""A model at a provider of each dialect."""
GRID: Final = [
    pytest.param(client, upstream, streamed, id=f"{client}-{upstream}-{streamed}")
    for client in SURFACES
    for upstream in MODELS
    for streamed in ("whole", "streamed")
]
EVERYWHERE: Final = pytest.mark.parametrize(("client", "upstream", "streamed"), GRID)


def asked(  # noqa: PLR0913 - where, and whom, and how
    stage: Stage,
    client: str,
    upstream: str,
    streamed: str,
    *,
    key: str | None = "k1",
    headers: Mapping[str, str] | None = None,
    **fields: Json,
) -> Reply:
    """Ask *upstream* as *client* does, and return the whole answer."""
    path, body = SURFACES.get(client) or BESIDE[client]
    call: dict[str, Json] = {"model": MODELS[upstream], **body, **fields}
    if client in SURFACES:
        call["stream"] = streamed == "streamed"
    return stage.post(path, call, key=key, headers=headers)


def said_hello(upstream: str, streamed: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return a short answer of *upstream* with *headers*."""
    made = _HELLO[upstream, streamed]()
    return replace(made, headers={**made.headers, **(headers or {})})


_HELLO: Final[Mapping[tuple[str, str], Callable[[], Answer]]] = {
    ("openai_chat", "whole"): lambda: script.completion("Hello"),
    ("openai_chat", "streamed"): lambda: script.told("Hello"),
    ("anthropic", "whole"): lambda: script.message("Hello"),
    ("anthropic", "streamed"): lambda: script.sse(
        script.message_start(), script.text_block("Hello"), script.message_end()
    ),
    ("openai_responses", "whole"): lambda: responses.whole(responses.message("Hello")),
    ("openai_responses", "streamed"): lambda: responses.streamed(
        (responses.message("Hello"), ["Hello"])
    ),
}


def refusal(  # noqa: PLR0913 - what there is in an error
    upstream: str,
    status: int,
    kind: str = "server_error",
    code: str | None = None,
    *,
    words: str = "Words of the provider.",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return an error as *upstream* words it; Anthropic has types and no codes."""
    if upstream == "anthropic":
        error = {"type": "error", "error": {"type": kind, "message": words}}
        return script.body(error, status=status, headers=headers)
    return script.error(status, words, kind, code, headers)


def message_of(client: str, reply: Reply) -> str:
    """Return what *client* is told of a failure; its envelope is as the client's API has it."""
    said = reply.json
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-lockgate-request-id"]
    if client == "messages":
        assert said.keys() == {"type", "error", "request_id"}
        assert said["type"] == "error"
        assert {"type", "message"} <= said["error"].keys() <= {"type", "message", "details"}
        assert said["request_id"] == reply.headers["request-id"] == reply.request_id
        return str(said["error"]["message"])
    assert said.keys() == {"error"}
    if client in {"ollama", "generate", "embed", "embedding"}:
        assert isinstance(said["error"], str)
        return said["error"]
    assert said["error"].keys() == {"message", "type", "param", "code"}
    assert reply.headers["x-request-id"] == reply.request_id
    return str(said["error"]["message"])


def code_of(client: str, reply: Reply) -> str | None:
    """Return the code of a failure as *client* is told it, None where it has none."""
    error = reply.json["error"]
    if isinstance(error, str):
        return None
    code = error["code"] if client != "messages" else error.get("details", {}).get("error_code")
    return None if code is None else str(code)
