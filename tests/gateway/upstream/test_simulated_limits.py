from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
import pytest

from gateway.upstream.provider import HttpCall
from gateway.upstream.simulated.limits import duration
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from tests.gateway.upstream.simulated_calls import ask

NOON = datetime(2024, 5, 17, 12, 0, 0, tzinfo=UTC)


class Wall:
    """A wall clock that goes with the virtual one."""

    def __init__(self) -> None:
        self._start = anyio.current_time()

    def __call__(self) -> datetime:
        return NOON + timedelta(seconds=anyio.current_time() - self._start)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0121, "13ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (59.9999, "1m0s"),
        (360, "6m0s"),
        (179.56, "2m59.56s"),
        (3602, "1h0m2s"),
    ],
)
def test_durations_are_written_as_go_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text


async def test_requests_beyond_the_limit_wait_as_long_as_they_are_told() -> None:
    transport = SimulatedTransport(Simulation(rpm=3))
    statuses = [(await ask(transport)).status for _ in range(3)]

    refused = await ask(transport)

    assert statuses == [200, 200, 200]
    assert refused.status == 429
    assert refused.headers["retry-after"] == "20"
    assert refused.headers["retry-after-ms"] == "20000"
    assert refused.body["error"]["type"] == "requests"
    assert refused.body["error"]["code"] == "rate_limit_exceeded"
    await anyio.sleep(19.9)
    assert (await ask(transport)).status == 429
    await anyio.sleep(0.1)
    assert (await ask(transport)).status == 200


async def test_tokens_are_limited_too_and_a_refused_call_takes_none() -> None:
    used = (await ask(SimulatedTransport(), seed=1)).body["usage"]["total_tokens"]
    transport = SimulatedTransport(Simulation(tpm=2 * used))
    for _ in range(2):
        assert (await ask(transport, seed=1)).status == 200

    refused = [await ask(transport, seed=1) for _ in range(5)]

    assert {got.status for got in refused} == {429}
    assert refused[0].body["error"]["type"] == "tokens"
    await anyio.sleep(30)
    assert (await ask(transport, seed=1)).status == 200


async def test_a_request_larger_than_the_limit_is_never_let_in() -> None:
    got = await ask(SimulatedTransport(Simulation(tpm=5)))

    assert got.status == 429
    assert "too large" in got.body["error"]["message"]
    assert "retry-after" not in got.headers


async def test_openai_tells_what_is_left_and_when_it_is_full_again() -> None:
    transport = SimulatedTransport(Simulation(rpm=60, tpm=60_000))

    got = await ask(transport)

    used = got.body["usage"]["total_tokens"]
    assert got.headers["x-ratelimit-limit-requests"] == "60"
    assert got.headers["x-ratelimit-remaining-requests"] == "59"
    assert got.headers["x-ratelimit-reset-requests"] == "1s"
    assert got.headers["x-ratelimit-remaining-tokens"] == str(60_000 - used)
    assert got.headers["x-ratelimit-reset-tokens"] == f"{used}ms"


async def test_azure_counts_whole_seconds() -> None:
    got = await ask(SimulatedTransport(Simulation(vendor="azure", rpm=40)))

    assert got.headers["x-ratelimit-remaining-requests"] == "39"
    assert got.headers["x-ratelimit-reset-requests"] == "2"


async def test_groq_tells_of_the_day_for_requests_and_of_the_minute_for_tokens() -> None:
    transport = SimulatedTransport(Simulation(vendor="groq", rpm=10, tpm=6000))

    got = await ask(transport)

    assert got.headers["x-ratelimit-limit-requests"] == "14400"
    assert got.headers["x-ratelimit-remaining-requests"] == "14399"
    assert got.headers["x-ratelimit-reset-requests"] == "6s"
    assert got.headers["x-ratelimit-limit-tokens"] == "6000"
    assert [(await ask(transport)).status for _ in range(10)] == [200] * 9 + [429]


async def test_anthropic_gives_moments_not_before_the_bucket_is_full() -> None:
    transport = SimulatedTransport(Simulation(vendor="anthropic", rpm=40), utc_now=Wall())

    got = await ask(transport)

    assert got.headers["anthropic-ratelimit-requests-limit"] == "40"
    assert got.headers["anthropic-ratelimit-requests-remaining"] == "39"
    assert got.headers["anthropic-ratelimit-requests-reset"] == "2024-05-17T12:00:02Z"
    assert not any(name.startswith("x-ratelimit") for name in got.headers)


async def test_without_limits_there_are_no_headers_about_them() -> None:
    got = await ask(SimulatedTransport())

    assert not any("ratelimit" in name for name in got.headers)


async def test_headers_are_found_in_any_case() -> None:
    response = await SimulatedTransport().post(HttpCall("/chat/completions", b"", {}), 60)

    assert response.headers["Content-Type"] == "application/json"
