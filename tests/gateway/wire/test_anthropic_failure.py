from __future__ import annotations

import orjson
import pytest

from gateway.wire.anthropic import AnthropicMessages
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

DIALECT = AnthropicMessages()


def upstream(kind: FailureKind, status: int | None = None) -> UpstreamFailed:
    return UpstreamFailed("m", kind, said=Said(status, "m"))


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (RequestRejected("m"), 400, "invalid_request_error"),
        (Unauthenticated("m"), 401, "authentication_error"),
        (CapReached("m"), 402, "billing_error"),
        (Denied("m"), 403, "permission_error"),
        (UnknownModel("m"), 404, "not_found_error"),
        (DeadlinePassed("m"), 408, "timeout_error"),
        (NotLearnt("m"), 409, "invalid_request_error"),
        (TooLarge("m"), 413, "request_too_large"),
        (GatewayError("m", code="internal_error"), 500, "api_error"),
        (TechniqueFailed("m"), 502, "api_error"),
        (Unavailable("m"), 503, "api_error"),
        (upstream("rate_limited", 429), 429, "rate_limit_error"),
        (upstream("quota", 400), 429, "rate_limit_error"),
        (upstream("quota", 402), 402, "billing_error"),
        (upstream("quota", 429), 429, "rate_limit_error"),
        (upstream("overloaded", 529), 529, "overloaded_error"),
        (upstream("timeout"), 504, "timeout_error"),
        (upstream("transport"), 502, "api_error"),
        (upstream("server", 500), 502, "api_error"),
        (upstream("server", 409), 409, "invalid_request_error"),
        (upstream("invalid_answer"), 502, "api_error"),
        (upstream("rejected", 400), 400, "invalid_request_error"),
        (upstream("rejected", 403), 403, "permission_error"),
        (upstream("rejected", 404), 404, "not_found_error"),
        (upstream("unknown_model", 404), 404, "not_found_error"),
        (upstream("unknown_model"), 404, "not_found_error"),
        (upstream("rejected", 409), 409, "invalid_request_error"),
        (upstream("rejected", 413), 413, "request_too_large"),
        (upstream("rejected", 422), 422, "invalid_request_error"),
        (upstream("rejected", 418), 400, "invalid_request_error"),
        (upstream("rejected"), 400, "invalid_request_error"),
        (upstream("context_overflow", 400), 400, "invalid_request_error"),
        (StreamBroken("m"), 502, "api_error"),
    ],
)
def test_every_failure_has_its_status_and_type(error: GatewayError, status: int, name: str) -> None:
    """RET-03, RET-04: what the provider says of the request reaches the client."""
    failure = DIALECT.failure(error)

    assert failure.status == status
    told = orjson.loads(failure.body)
    assert told["type"] == "error"
    assert (told["error"]["type"], told["error"]["message"]) == (name, "m")


def test_a_failure_of_ours_has_a_code_where_the_sdk_looks_for_one() -> None:
    told = orjson.loads(DIALECT.failure(UnknownModel("m")).body)["error"]
    foreign = orjson.loads(DIALECT.failure(upstream("rejected", 400)).body)["error"]

    assert told["details"] == {"error_code": "model_not_found"}
    assert "details" not in foreign


def test_a_refused_key_of_the_gateway_does_not_look_like_the_clients() -> None:
    """RET-04."""
    failure = DIALECT.failure(upstream("authentication", 401))
    error = orjson.loads(failure.body)["error"]

    assert (failure.status, error["type"]) == (502, "api_error")
    assert "gateway's own credential" in error["message"]


def test_a_wait_is_told_in_whole_seconds_and_finer() -> None:
    """RL-12."""
    error = UpstreamFailed("m", "rate_limited", retryable=True, retry_after=2.1)

    assert DIALECT.failure(error).headers == {"retry-after": "3", "retry-after-ms": "2100"}


@pytest.mark.parametrize("error", [upstream("quota", 429), CapReached("m")])
def test_a_client_is_told_not_to_try_again_where_waiting_is_no_help(error: GatewayError) -> None:
    """RET-01."""
    assert DIALECT.failure(error).headers["x-should-retry"] == "false"


def test_messages_are_short() -> None:
    body = orjson.loads(DIALECT.failure(RequestRejected("x" * 9000)).body)

    assert len(body["error"]["message"]) == 500
