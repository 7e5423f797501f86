from __future__ import annotations

import orjson
import pytest

from gateway.upstream.providers.anthropic.failure import failed_inside
from techniques.core.errors import FailureKind
from techniques.core.json import Json
from tests.gateway.upstream.anthropic_samples import ANTHROPIC


def body(message: str, kind: str = "invalid_request_error") -> bytes:
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        *((status, "prompt is too long", "server", True) for status in (204, 302, 304, 307)),
        (400, "messages: at least one message is required", "rejected", False),
        (400, "prompt is too long: 205000 tokens > 200000 maximum", "context_overflow", False),
        (400, "input length and `max_tokens` exceed context limit", "context_overflow", False),
        (400, "Your credit balance is too low to access the API", "quota", False),
        (401, "invalid x-api-key", "authentication", False),
        (402, "billing", "quota", False),
        (403, "Your API key does not have permission", "rejected", False),
        (404, "model: claude-none", "unknown_model", False),
        (404, "File not found: file_011", "rejected", False),
        (408, "", "timeout", True),
        (409, "", "server", True),
        (413, "Request exceeds the maximum size", "rejected", False),
        (422, "", "rejected", False),
        (429, "Number of request tokens has exceeded your rate limit", "rate_limited", True),
        (429, "You have reached your specified API usage limits", "quota", False),
        (500, "Internal server error", "server", True),
        (502, "", "server", True),
        (503, "", "overloaded", True),
        (504, "", "timeout", True),
        (520, "", "server", True),
        (522, "", "server", True),
        (524, "", "timeout", True),
        (529, "Overloaded", "overloaded", True),
    ],
)
def test_an_error_status_is_classified(
    status: int, message: str, kind: FailureKind, retryable: object
) -> None:
    """RET-01, RET-03, RET-04."""
    failure = ANTHROPIC.failure(status, {}, body(message))

    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert failure.said.status == status
    assert failure.said.message == message


@pytest.mark.parametrize(
    ("details", "code"),
    [
        ({"error_code": "thread_not_found"}, "thread_not_found"),
        ({}, None),
        (None, None),
        ([], None),
        ("x", None),
        ({"error_code": 7}, None),
    ],
)
def test_the_name_that_the_provider_gives_a_failure_is_kept(
    details: Json, code: str | None
) -> None:
    told = {"type": "not_found_error", "message": "m", "details": details}

    failure = ANTHROPIC.failure(404, {}, orjson.dumps({"type": "error", "error": told}))

    assert failure.said.code == code


def test_the_wait_that_the_provider_asks_for_is_kept() -> None:
    """RL-04."""
    failure = ANTHROPIC.failure(429, {"retry-after": "7"}, body("slow", "rate_limit_error"))

    assert failure.retry_after == 7
    assert failure.said.type == "rate_limit_error"


@pytest.mark.parametrize(
    "page", [b"<html><body>Bad gateway</body></html>", b"\n <!DOCTYPE html><p>x", b"\xff\xfe", b""]
)
def test_a_page_is_never_quoted(page: bytes) -> None:
    """RET-05."""
    failure = ANTHROPIC.failure(502, {}, page)

    assert "<" not in failure.message
    assert "<" not in failure.said.message
    assert failure.message


def test_secrets_and_long_texts_are_cut() -> None:
    """SEC-05."""
    key = "sk-ant-" + "a1B2c3" * 9
    failure = ANTHROPIC.failure(
        401, {}, body(f"bad key {key} " + "x " * 900, "authentication_error")
    )

    assert key not in failure.message
    assert len(failure.message) <= 500


@pytest.mark.parametrize("value", [b"[]", b'"x"', b'{"error":null}', b'{"error":{"message":5}}'])
def test_any_json_is_survived(value: bytes) -> None:
    assert ANTHROPIC.failure(500, {}, value).message == "The provider answered 500."


@pytest.mark.parametrize(
    ("name", "kind", "retryable"),
    [
        ("overloaded_error", "overloaded", True),
        ("rate_limit_error", "rate_limited", True),
        ("api_error", "server", True),
        ("timeout_error", "timeout", True),
        ("authentication_error", "authentication", False),
        ("permission_error", "rejected", False),
        ("billing_error", "quota", False),
        ("invalid_request_error", "rejected", False),
        ("a_later_error", "server", True),
    ],
)
def test_an_error_inside_an_answer_is_classified_by_its_type(
    name: str, kind: FailureKind, retryable: object
) -> None:
    failure = failed_inside({"error": {"type": name, "message": "m"}}, begun=False)

    assert (failure.kind, failure.retryable) == (kind, retryable)
