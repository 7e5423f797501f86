"""What a failure of a Responses API means, by status, in an answer and inside a stream."""

from __future__ import annotations

import orjson
import pytest

from pricing.usage import Usage
from techniques.core.errors import FailureKind, UpstreamFailed
from techniques.core.events import Relayed, TextDelta
from techniques.core.json import Json
from tests.fakes import responses, script
from tests.gateway.upstream.openai_responses_samples import (
    RESPONSES,
    decoding,
    read_until_failure,
    relayed_bytes,
    relaying,
)

READERS = [decoding, relaying]
KINDS: list[tuple[str, FailureKind, bool]] = [
    ("server_error", "server", True),
    ("rate_limit_exceeded", "rate_limited", True),
    ("insufficient_quota", "quota", False),
    ("context_length_exceeded", "context_overflow", False),
    ("invalid_prompt", "rejected", False),
    ("invalid_image", "rejected", False),
    ("image_content_policy_violation", "rejected", False),
    ("vector_store_timeout", "timeout", True),
    ("invalid_api_key", "authentication", False),
    ("something_new", "server", True),
]


def error(code: str, message: str = "It broke.") -> Json:
    return {"code": code, "message": message}


def begun() -> bytes:
    """Return the events of a stream in the middle of a text."""
    told = responses.events((responses.message("Hello"), ["Hel", "lo"]))
    return b"".join(told[:6])


def failed(code: str, **more: Json) -> Json:
    return responses.response([], "failed", error=error(code), **more)


def told(failure: UpstreamFailed) -> tuple[str, bool, str | None, str]:
    return failure.kind, failure.retryable, failure.said.code, failure.said.message


@pytest.mark.parametrize(("code", "kind", "retryable"), KINDS)
def test_each_code_has_its_kind_however_it_is_told(
    code: str,
    kind: FailureKind,
    retryable: bool,  # noqa: FBT001
) -> None:
    at_top = script.event("error", **error(code), param=None, sequence_number=3)
    nested = script.event("error", error={"type": "error", **error(code)})
    ended = script.event("response.failed", response=failed(code))
    bare = b"data: " + orjson.dumps({"error": error(code)}) + b"\n\n"

    for reader in READERS:
        for raw in (at_top, nested, ended, bare):
            _, failure = read_until_failure(reader(), [begun() + raw])
            assert told(failure) == (kind, retryable, code, "It broke.")
        _, failure = read_until_failure(reader(streamed=False), [orjson.dumps(failed(code))])
        assert told(failure) == (kind, retryable, code, "It broke.")


@pytest.mark.parametrize("reader", READERS)
def test_what_came_before_a_failure_is_told_before_it(reader: Json) -> None:
    raw = begun() + script.event("response.failed", response=failed("server_error"))

    for size in (1, 100, len(raw)):
        pieces = [raw[place : place + size] for place in range(0, len(raw), size)]
        events, failure = read_until_failure(reader(), pieces)
        assert failure.said.usage == Usage(12, 4)
        texts = [event.text for event in events if isinstance(event, TextDelta)]
        assert ("".join(texts), relayed_bytes(events)) in [("Hello", b""), ("", begun())]


@pytest.mark.parametrize("reader", READERS)
def test_a_failure_before_an_item_began_is_one_before_the_answer(reader: Json) -> None:
    created = b"".join(responses.events()[:2])
    raw = created + script.event("error", **error("rate_limit_exceeded"))
    events, failure = read_until_failure(reader(), [raw])

    assert failure.kind == "rate_limited"
    assert not any(isinstance(event, Relayed | TextDelta) for event in events)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_says_no_more_than_that_it_failed_is_one(status: str) -> None:
    body = orjson.dumps(responses.response([], status))

    for reader in READERS:
        _, failure = read_until_failure(reader(streamed=False), [body])
        assert (failure.kind, failure.retryable) == ("server", True)
        assert status in failure.message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"object":"response","status":"completed"}',
        orjson.dumps(responses.response([], "in_progress")),
        orjson.dumps(responses.response([], "queued")),
    ],
)
def test_what_is_no_answer_cannot_be_read(body: bytes) -> None:
    for reader in READERS:
        _, failure = read_until_failure(reader(streamed=False), [body])
        assert (failure.kind, failure.retryable) == ("invalid_answer", True)


@pytest.mark.parametrize("raw", [b"data: {\n\n", b"data: 7\n\n", b"data: \xff\n\n"])
def test_an_event_that_is_no_json_object_cannot_be_read(raw: bytes) -> None:
    for reader in READERS:
        _, failure = read_until_failure(reader(), [begun() + raw])
        assert failure.kind == "invalid_answer"


def test_a_status_means_what_it_means_for_chat_completions() -> None:
    body = {"error": {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded"}}
    failure = RESPONSES.failure(429, {"retry-after-ms": "1500"}, orjson.dumps(body))

    assert (failure.kind, failure.retryable, failure.retry_after) == ("rate_limited", True, 1.5)
    assert failure.said.status == 429
