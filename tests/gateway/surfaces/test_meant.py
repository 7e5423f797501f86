"""Clients whose base URL has no ``/v1``, or two, or slashes too many, are served all the same."""

from __future__ import annotations

import pytest

from gateway.surfaces.addresses import meant
from tests.gateway.surfaces.test_operations import serving

ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])

ASKED = {"model": "small", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}
ANTHROPIC = {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("path", "stands_for"),
    [
        ("/chat/completions", "/v1/chat/completions"),
        ("/v1/v1/chat/completions", "/v1/chat/completions"),
        ("//v1/chat/completions", "/v1/chat/completions"),
        ("/v1//chat/completions/", "/v1/chat/completions"),
        ("/messages/count_tokens", "/v1/messages/count_tokens"),
        ("/responses/resp_1/cancel", "/v1/responses/resp_1/cancel"),
        ("/models", "/v1/models"),
        ("/v1/models/", "/v1/models"),
        ("/models/meta/llama", "/v1/models/meta/llama"),
        ("/embeddings", "/v1/embeddings"),
        ("/completions", "/v1/completions"),
        ("/", "/"),
        ("/v1", "/v1"),
        ("/v1/", "/v1/"),
        ("/healthz", "/healthz"),
        ("/ui/", "/ui/"),
        ("//admin/keys", "//admin/keys"),
        ("/v1/runs/", "/v1/runs/"),
        ("/api/chat", "/api/chat"),
        ("/v1/api/chat", "/api/chat"),
        ("//api/tags/", "/api/tags"),
    ],
)
def test_a_path_stands_for_the_one_of_the_api(path: str, stands_for: str) -> None:
    assert meant(path) == stands_for
    assert meant(stands_for) == stands_for


@ASYNCIO
async def test_such_paths_are_served() -> None:
    async with serving() as gateway:
        for path in ("/chat/completions", "/v1/v1/chat/completions", "//v1/chat/completions/"):
            answer = await gateway.ask(path, {}, ASKED)
            assert (answer.status, answer.json["object"]) == (200, "chat.completion"), path
        for path in ("/messages", "/v1/messages/", "/v1//messages"):
            answer = await gateway.ask(path, ANTHROPIC, {**ASKED, "max_tokens": 99})
            assert (answer.status, answer.json["type"]) == (200, "message"), path
        counted = await gateway.ask("/messages/count_tokens/", ANTHROPIC, ASKED)
        assert (counted.status, list(counted.json)) == (200, ["input_tokens"])
        for path in ("/models", "/v1/models/", "//v1//models"):
            answer = await gateway.ask(path)
            assert (answer.status, answer.json["object"]) == (200, "list"), path
        assert (await gateway.ask("/models/small")).json["id"] == "small"


@ASYNCIO
@pytest.mark.parametrize("path", ["/v1/nothing", "/nothing", "/v1", "/v1/chat/nothing"])
async def test_what_there_is_not_is_told_in_the_dialects_envelope(path: str) -> None:
    async with serving() as gateway:
        chat = await gateway.ask(path, {}, ASKED)
        message = await gateway.ask(path, ANTHROPIC, ASKED)

    assert (chat.status, message.status) == (404, 404)
    assert chat.json["error"]["code"] == "unknown_path"
    assert chat.json["error"]["type"] == "invalid_request_error"
    assert chat.headers["x-request-id"] == chat.headers["x-lockgate-request-id"]
    assert message.json["type"] == "error"
    assert message.json["error"]["type"] == "not_found_error"
    assert message.json["request_id"] == message.headers["request-id"]


@ASYNCIO
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/chat/completions"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
async def test_another_method_is_told_which_there_is(path: str, method: str) -> None:
    async with serving() as gateway:
        chat = await gateway.ask(path, {}, None, method)
        message = await gateway.ask(path, ANTHROPIC, None, method)
        models = await gateway.ask("/v1/models", {}, None, "PATCH")

    assert (chat.status, message.status, models.status) == (405, 405, 405)
    assert chat.headers["allow"] == message.headers["allow"] == "POST"
    assert set(models.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert chat.json["error"]["code"] == "unknown_path"
    assert message.json["error"]["type"] == "invalid_request_error"


@ASYNCIO
async def test_an_ollama_client_is_told_in_its_own_form() -> None:
    async with serving() as gateway:
        answer = await gateway.ask("/api/nothing", {}, ASKED)

    assert answer.status == 404
    assert isinstance(answer.json["error"], str)
