from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gateway.admission.left import Left, tightest
from gateway.surfaces.limits import chat_limits, message_limits

NOW = datetime(2026, 3, 10, 23, 59, 59, tzinfo=UTC)
REQUESTS = Left("app:requests:60", 300, 299, 200)
TOKENS = Left("app:tokens:60", 10_000, 0, 61_500)


def test_a_chat_client_reads_its_limits_as_durations() -> None:
    assert dict(chat_limits({"requests": REQUESTS, "tokens": TOKENS})) == {
        b"x-ratelimit-limit-requests": b"300",
        b"x-ratelimit-remaining-requests": b"299",
        b"x-ratelimit-reset-requests": b"200ms",
        b"x-ratelimit-limit-tokens": b"10000",
        b"x-ratelimit-remaining-tokens": b"0",
        b"x-ratelimit-reset-tokens": b"1m1.5s",
    }


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0, b"0ms"), (999, b"999ms"), (1000, b"1s"), (7660, b"7.66s"), (5_400_000, b"1h30m0s")],
)
def test_a_duration_is_told_in_its_largest_units(milliseconds: int, said: bytes) -> None:
    told = dict(chat_limits({"requests": Left("*:requests:60", 1, 0, milliseconds)}))

    assert told[b"x-ratelimit-reset-requests"] == said


def test_a_messages_client_reads_its_limits_as_points_in_time() -> None:
    inputs = Left("claude:input_tokens:60", 5000, 4000, 1500)

    assert dict(message_limits({"input_tokens": inputs}, NOW)) == {
        b"anthropic-ratelimit-input-tokens-limit": b"5000",
        b"anthropic-ratelimit-input-tokens-remaining": b"4000",
        b"anthropic-ratelimit-input-tokens-reset": b"2026-03-11T00:00:00.500000Z",
    }


def test_of_several_windows_the_tightest_is_told() -> None:
    day = Left("*:requests:86400", 1000, 10, 5)
    minute = Left("*:requests:60", 10, 5, 5)

    assert tightest([minute, day]) == tightest([day, minute]) == {"requests": day}
