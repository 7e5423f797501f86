from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.wire.openai_chat import OpenAIChat
from techniques.core.errors import (
    CapReached,
    DeadlinePassed,
    Denied,
    FailureKind,
    GatewayError,
    NotLearnt,
    RequestRejected,
    Said,
    StreamBroken,
    TechniqueFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownModel,
    UpstreamFailed,
)


def told(error: GatewayError) -> tuple[int, Any, dict[str, str]]:
    failure = OpenAIChat().failure(error)
    return failure.status, orjson.loads(failure.body)["error"], dict(failure.headers)


def upstream(kind: FailureKind, status: int | None = None, **more: Any) -> UpstreamFailed:
    retry_after = more.pop("retry_after", None)
    retryable = kind not in {
        "quota",
        "rejected",
        "unknown_model",
        "authentication",
        "context_overflow",
    }
    said = Said(status, more.pop("message", "their words"), **more)
    return UpstreamFailed("x", kind, retryable=retryable, retry_after=retry_after, said=said)


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (RequestRejected("m", param="p"), 400, "invalid_request_error", "invalid_request"),
        (CapReached("m"), 402, "billing_error", "cap_reached"),
        (UnknownModel("m"), 404, "invalid_request_error", "model_not_found"),
        (NotLearnt("m"), 409, "invalid_request_error", "no_exact_profile"),
        (TooLarge("m"), 413, "invalid_request_error", "request_too_large"),
        (Unauthenticated("m"), 401, "invalid_request_error", "invalid_api_key"),
        (Denied("m"), 403, "permission_error", "permission_denied"),
        (DeadlinePassed("m"), 408, "timeout_error", "deadline_passed"),
        (Unavailable("m"), 503, "service_unavailable_error", "unavailable"),
        (TechniqueFailed("m"), 502, "technique_error", "technique_failed"),
        (StreamBroken("m"), 502, "upstream_error", "stream_broken"),
        (
            UpstreamFailed("m", "transport", retryable=True),
            502,
            "upstream_error",
            "upstream_failed",
        ),
    ],
)
def test_our_own_failures_have_a_status_and_a_code(
    error: GatewayError, status: int, kind: str, code: str
) -> None:
    expected = {"message": "m", "type": kind, "param": error.param, "code": code}

    headers = {"x-should-retry": "false"} if status in {402, 408, 409} else {}
    assert told(error) == (status, expected, headers)


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_what_a_provider_calls_wrong_is_passed_on_ret_04(status: int) -> None:
    words = {"type": "invalid_request_error", "code": "bad", "param": "p"}

    assert told(upstream("rejected", status, **words)) == (
        status,
        {"message": "their words", **words},
        {},
    )


def test_a_request_beyond_the_context_keeps_its_words_ret_03() -> None:
    status, error, _ = told(upstream("context_overflow", 400, code="context_length_exceeded"))

    assert (status, error["message"]) == (400, "their words")
    assert error["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("kind", "status", "expected", "code"),
    [
        ("rate_limited", 429, 429, "rate_limit_exceeded"),
        ("overloaded", 529, 503, "upstream_overloaded"),
        ("timeout", 504, 504, "upstream_timeout"),
        ("timeout", None, 504, "upstream_timeout"),
        ("invalid_answer", 200, 502, "upstream_invalid_response"),
        ("server", 500, 502, "upstream_failed"),
        ("server", 409, 409, "upstream_failed"),
        ("transport", None, 502, "upstream_failed"),
        ("rejected", 403, 403, "upstream_forbidden"),
        ("unknown_model", 404, 404, "model_not_found"),
        ("unknown_model", 400, 400, "model_not_found"),
        ("unknown_model", None, 404, "model_not_found"),
        ("authentication", 401, 502, "upstream_authentication"),
    ],
)
def test_what_failed_upstream_is_told_by_kind_ret_04(
    kind: FailureKind, status: int | None, expected: int, code: str
) -> None:
    answer = told(upstream(kind, status))

    assert (answer[0], answer[1]["code"]) == (expected, code)


def test_a_used_up_account_is_not_to_be_retried_ret_01() -> None:
    status, error, headers = told(upstream("quota", 429, code="insufficient_quota"))

    assert (status, error["code"], headers) == (
        429,
        "insufficient_quota",
        {"x-should-retry": "false"},
    )


def test_the_wait_is_told_in_whole_seconds_and_finer() -> None:
    assert told(upstream("rate_limited", 429, retry_after=1.2))[2] == {
        "retry-after": "2",
        "retry-after-ms": "1200",
    }
    assert told(upstream("overloaded", 503, retry_after=0.0))[2] == {
        "retry-after": "0",
        "retry-after-ms": "0",
    }


def test_the_gateways_own_key_is_never_spoken_of_sec_05() -> None:
    status, error, headers = told(upstream("authentication", 401, message="bad key UPSECRET"))

    assert (status, headers) == (502, {"x-should-retry": "false"})
    assert "UPSECRET" not in repr(error)


def test_messages_are_short_and_no_documents_ret_05() -> None:
    assert len(told(upstream("server", 500, message="x" * 9000))[1]["message"]) == 500
    assert told(upstream("server", 502, message="<html>"))[1]["message"] == (
        "HTTP 502 from the provider."
    )


def test_an_overload_inside_a_stream_is_named_ant_05() -> None:
    error = upstream("overloaded", None, type="overloaded_error", message="Overloaded")
    sent = (
        OpenAIChat()
        .encoder(OpenAIChat().decode({"model": "m", "messages": [{}]}, b""), "r", "m")
        .fail(error)
    )

    assert orjson.loads(sent[6:])["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize(("wait", "again"), [(60, None), (61, "false"), (3600, "false")])
def test_a_wait_that_the_sdks_would_cut_short_is_not_to_be_tried(
    wait: int, again: str | None
) -> None:
    _, _, headers = told(upstream("rate_limited", 429, retry_after=wait))

    assert headers["retry-after"] == str(wait)
    assert headers.get("x-should-retry") == again
