"""What the words of a refusal tell, and where Google's days end."""

from __future__ import annotations

from datetime import UTC, datetime
from time import thread_time
from typing import Any

import orjson
import pytest

from gateway.admission.limits import VENDORS, delay_in, read
from gateway.admission.limits.pacific import until_midnight
from gateway.admission.reading import Reading, Told

NOW = 1893456000.0


def refused(vendor: str, body: Any, headers: dict[str, str] | None = None) -> Told:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return read(VENDORS[vendor], headers or {}, status=429, now=NOW, body=content)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 7.66s. Visit", 7.66),
        ("Please try again in 1m30s.", 90.0),
        ("Please try again in 8m38.4s.", 518.4),
        ("Please try again in 20ms.", 0.02),
        ("Please retry after 6 seconds.", 6.0),
        ("retry after 86400 seconds", 86_400.0),
        ("Please try again in 2 minutes", 120.0),
        ("Try again in about 1 hour", 3600.0),
        ('"retryDelay": "22s"', 22.0),
        ('"retryDelay":"0.5s"', 0.5),
        ("Please retry in 48.939935699s.", 48.939935699),
        ("try again later", None),
        ("try again in 7.6.6s", None),
        ("try again in 99999999999999999999s", None),
        ("", None),
    ],
)
def test_a_44_the_words_of_an_error_say_how_long_to_wait(text: str, seconds: float | None) -> None:
    assert delay_in(text) == (seconds if seconds is None else pytest.approx(seconds))


def test_headers_go_before_words() -> None:
    body = {"error": {"message": "Please try again in 9s."}}

    assert refused("openai", body, {"retry-after": "2"}).retry_after_s == 2
    assert refused("openai", body, {"retry-after": "soon"}).retry_after_s == 9
    assert refused("openai", body, {"retry-after": "soon"}).unparsed == ("retry-after",)
    both = {"retry-after": "2", "retry-after-ms": "1500"}
    assert refused("openai", body, both).retry_after_s == 1.5


@pytest.mark.parametrize(
    ("waits", "per", "limits"),
    [
        ({}, "min", {3}),
        ({"retry-after": "20"}, "min", {3}),
        ({"retry-after": "10"}, "min", {3}),
        ({"retry-after": "60"}, "min", {3}),
        ({"retry-after": "soon"}, "min", {3}),
        ({"retry-after": "1"}, "day", {3}),
        ({"retry-after": "1"}, "min", set()),
        ({"retry-after": "0"}, "min", set()),
        ({"retry-after-ms": "50"}, "min", set()),
    ],
)
@pytest.mark.parametrize("vendor", ["openai", "groq"])
def test_words_that_the_head_belies_teach_no_limit(
    vendor: str, waits: dict[str, str], per: str, limits: set[int]
) -> None:
    """Copied from a page, they would hold each later call by a limit that nobody has."""
    said = f"on requests per {per}: Limit 3, Used 3, Requested 1. Please try again in 20s."
    told = refused(vendor, {"error": {"message": f"Rate limit reached {said}"}}, waits)

    assert {row.limit for row in told.readings} == limits
    assert told.exhausted == ("requests", 86_400 if per == "day" else 60)


@pytest.mark.parametrize(
    ("words", "reading"),
    [
        (
            "on tokens per minute (TPM): Limit 6000, Used 5800, Requested 900.",
            Reading("tokens", 60, 6000, 200, refill="bucket"),
        ),
        (
            "on requests per day (RPD): Limit 200, Used 200, Requested 1.",
            Reading("requests", 86_400, 200, 0, refill="bucket"),
        ),
        (
            "on input tokens per minute (ITPM): Limit 6000, Used 7000, Requested 1.",
            Reading("input_tokens", 60, 6000, 0, refill="bucket"),
        ),
        (
            "on tokens per min. Limit: 90000 / min. Current: 88000 / min.",
            Reading("tokens", 60, 90_000, 2000, refill="bucket"),
        ),
        (
            "on tokens per min (TPM): Limit 30000, Requested 30601.",
            Reading("tokens", 60, 30_000, refill="bucket"),
        ),
        (
            "would exceed your organization's rate limit of 8,000 output tokens per minute",
            Reading("output_tokens", 60, 8000, refill="bucket"),
        ),
        (
            "on output tokens per hour: Limit 10, Used 4.",
            Reading("output_tokens", 3600, 10, 6, refill="bucket"),
        ),
        (
            "would exceed the rate limit of 10 requests per hour",
            Reading("requests", 3600, 10, refill="bucket"),
        ),
        (
            "would exceed the rate limit for your organization (7f) of 50 requests per minute.",
            Reading("requests", 60, 50, refill="bucket"),
        ),
    ],
)
def test_a_window_that_no_header_shows_is_learned_from_the_words(
    words: str, reading: Reading
) -> None:
    told = refused("groq", {"error": {"message": f"Rate limit reached for m {words}"}})

    assert told.readings == (reading,)
    assert told.exhausted == (reading.dimension, reading.period_s)
    assert not told.never


@pytest.mark.parametrize(
    ("body", "dimension"),
    [
        ({"error": {"type": "tokens"}}, "tokens"),
        ({"error": {"type": "requests"}}, "requests"),
        ({"error": {"type": "dynamic_request_limited"}}, "requests"),
        ({"error": {"message": "have exceeded call rate limit of your tier"}}, "requests"),
        ({"error": {"message": "have exceeded token rate limit of your tier"}}, "tokens"),
        ({"error": {"message": "Too many concurrent requests"}}, "concurrency"),
    ],
)
def test_a_refusal_names_what_is_used_up(body: Any, dimension: str) -> None:
    assert refused("openai", body).exhausted == (dimension, None)


def violation(quota: str, value: object = "20", metric: str = "m/requests") -> dict[str, object]:
    return {"quotaId": quota, "quotaMetric": metric, "quotaValue": value}


def google(*violations: object, delay: str = "30s") -> dict[str, object]:
    failure = {"@type": "google.rpc.QuotaFailure", "violations": list(violations)}
    retry = {"@type": "google.rpc.RetryInfo", "retryDelay": delay}
    return {"error": {"code": 429, "message": "Quota.", "details": [failure, retry]}}


def test_a_48_the_windows_of_google_are_learned_from_the_body() -> None:
    told = refused(
        "gemini",
        google(
            violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10"),
            violation("InputTokensPerMinutePerProject", 250_000, "m/input_token_count"),
        ),
    )

    assert told.readings == (
        Reading("requests", 60, 10, 0),
        Reading("input_tokens", 60, 250_000, 0, scope="account"),
    )
    assert told.retry_after_s == 30


def test_a_day_of_google_ends_at_midnight_whatever_shorter_delay_is_asked_for() -> None:
    told = refused("gemini", google(violation("RequestsPerDayPerProjectPerModel")))

    assert told.retry_after_s == 8 * 3600  # midnight in California is 8:00 UTC in January
    assert told.exhausted == ("requests", 86_400)
    assert told.readings[0].reset_s == 8 * 3600


@pytest.mark.parametrize(
    ("now", "midnight"),
    [
        ("2026-01-15T07:59:59", "2026-01-15T08:00:00"),
        ("2026-01-15T08:00:00", "2026-01-16T08:00:00"),
        ("2026-07-15T06:30:00", "2026-07-15T07:00:00"),
        ("2026-03-08T07:00:00", "2026-03-08T08:00:00"),
        ("2026-03-08T09:00:00", "2026-03-09T07:00:00"),  # 23 hours
        ("2026-11-01T06:59:00", "2026-11-01T07:00:00"),
        ("2026-11-01T08:30:00", "2026-11-02T08:00:00"),  # 25 hours
        ("2027-03-14T12:00:00", "2027-03-15T07:00:00"),
        ("2027-11-07T12:00:00", "2027-11-08T08:00:00"),
    ],
)
def test_midnight_in_california_keeps_to_summer_time(now: str, midnight: str) -> None:
    start, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (now, midnight))

    assert until_midnight(start.timestamp()) == (end - start).total_seconds()


@pytest.mark.parametrize(
    "body",
    [
        b"QuotaFailure",
        b'{"error": "QuotaFailure"}',
        b'["QuotaFailure"]',
        b'{"error": {"details": [null, {"violations": ["QuotaFailure", {"quotaId": null}]}]}}',
        b'{"error": {"metadata": {"headers": {"X-RateLimit-Limit": [1], "x": null}}}}',
        b'{"error": {"metadata": 7}}',
        b"\xff\xfe" * 100_000,
    ],
)
def test_a_47_an_odd_body_tells_nothing(body: bytes) -> None:
    assert refused("openrouter", body).readings == ()


def test_an_error_body_of_any_size_is_read_in_a_moment() -> None:
    for word in (b"on tokens per min limit ", b"retry in 1", b"limit of 1,", b"metric: a"):
        began = thread_time()
        refused("openai", word * 100_000)
        assert thread_time() - began < 2.0  # what looks again from each place takes minutes


def test_what_is_served_is_not_searched_for_words() -> None:
    headers = {"x-ratelimit-remaining-tokens": "5"}
    told = read(VENDORS["openai"], headers, status=200, now=NOW, body=b"try again in 5s")

    assert told.retry_after_s is None
