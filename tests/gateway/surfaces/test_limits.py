from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gateway.admission.left import Left, tightest
from gateway.surfaces.limits import chat_limits, message_limits

NOW = datetime(2026, 3, 10, 23, 59, 59, tzinfo=UTC)
REQUESTS = Left("app:requests:60", 300, 299, 200)
TOKENS = Left("app:tokens:60", 10_000, 0, 61_500)


def test_a_chat_client_reads_its_limits_as_durations() -> None:
    assert chat_limits({"requests": REQUESTS, "tokens": TOKENS}) == {
        "x-ratelimit-limit-requests": "300",
        "x-ratelimit-remaining-requests": "299",
        "x-ratelimit-reset-requests": "200ms",
        "x-ratelimit-limit-tokens": "10000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1m1.5s",
    }


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0, "0ms"), (999, "999ms"), (1000, "1s"), (7660, "7.66s"), (5_400_000, "1h30m0s")],
)
def test_a_duration_is_told_in_its_largest_units(milliseconds: int, said: str) -> None:
    told = chat_limits({"requests": Left("*:requests:60", 1, 0, milliseconds)})

    assert told["x-ratelimit-reset-requests"] == said


def test_a_messages_client_reads_its_limits_as_points_in_time() -> None:
    inputs = Left("claude:input_tokens:60", 5000, 4000, 1500)

    assert message_limits({"input_tokens": inputs}, NOW) == {
        "anthropic-ratelimit-input-tokens-limit": "5000",
        "anthropic-ratelimit-input-tokens-remaining": "4000",
        "anthropic-ratelimit-input-tokens-reset": "2026-03-11T00:00:00.500000Z",
    }


def test_of_several_windows_the_tightest_is_told() -> None:
    day = Left("*:requests:86400", 1000, 10, 5)
    minute = Left("*:requests:60", 10, 5, 5)

    assert tightest([minute, day]) == tightest([day, minute]) == {"requests": day}
