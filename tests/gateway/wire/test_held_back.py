"""What a client is told of a call that was not made, on both surfaces."""

from __future__ import annotations

import orjson
import pytest

from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Dialect
from gateway.wire.openai_chat import OpenAIChat
from techniques.core.errors import (
    BudgetExhausted,
    GatewayError,
    HeldBack,
    KeyLimited,
    OverLimit,
)

BOTH = pytest.mark.parametrize("dialect", [OpenAIChat(), AnthropicMessages()], ids=lambda d: d.name)


@BOTH
@pytest.mark.parametrize("kind", [HeldBack, KeyLimited])
def test_when_it_would_go_is_said_in_seconds_and_finer(
    dialect: Dialect, kind: type[HeldBack | KeyLimited]
) -> None:
    failure = dialect.failure(kind("The limit is reached.", retry_after=7.3))

    assert failure.status == 429
    assert failure.headers == {
        "retry-after": "8",
        "retry-after-ms": "7300",
        "x-should-retry": "true",
        "x-lockgate-eta-ms": "7300",
    }


@BOTH
def test_a_wait_that_no_sdk_obeys_is_told_not_to_be_tried(dialect: Dialect) -> None:
    headers = dialect.failure(HeldBack("The day is used up.", retry_after=7200)).headers

    assert headers["retry-after"] == "60"
    assert headers["x-should-retry"] == "false"
    assert headers["x-lockgate-eta-ms"] == "7200000"
    assert "retry-after-ms" not in headers


@BOTH
def test_what_nobody_knows_is_not_said(dialect: Dialect) -> None:
    assert dialect.failure(HeldBack("The queue is full.", code="queue_full")).headers == {}


@BOTH
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BudgetExhausted("x"), 402, "budget_exhausted"),
        (OverLimit("x"), 413, "request_over_limit"),
        (KeyLimited("x"), 429, "key_rate_limited"),
    ],
)
def test_each_has_its_status_and_its_name(
    dialect: Dialect, error: GatewayError, status: int, code: str
) -> None:
    failure = dialect.failure(error)
    said = orjson.loads(failure.body)["error"]

    assert failure.status == status
    assert code in {said.get("code"), said.get("details", {}).get("error_code")}


@BOTH
def test_a_used_up_budget_is_not_to_be_tried_again(dialect: Dialect) -> None:
    told = {"x-should-retry": "false", "retry-after": "3600"}
    assert dialect.failure(BudgetExhausted("x", retry_after=3599.5)).headers == told
    assert dialect.failure(BudgetExhausted("x")).headers == {"x-should-retry": "false"}
