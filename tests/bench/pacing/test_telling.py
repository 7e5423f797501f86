from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench.pacing.account import VENDORS, Account, Asked, Terms, Vendor
from bench.pacing.telling import Moment, duration, headers, refusal

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CALL = Asked(prompt=1000, characters=4000, output=100, max_tokens=650)


def told(vendor: Vendor, speed: float = 1.0) -> dict[str, str]:
    account = Account(Terms(vendor))
    account.admit(CALL, 0.0)
    return headers(account, Moment(0.0, NOON, speed))


def test_openai_tells_of_a_minutes_requests_and_tokens_with_durations() -> None:
    assert told("openai") == {
        "x-ratelimit-limit-requests": "120",
        "x-ratelimit-remaining-requests": "119",
        "x-ratelimit-reset-requests": "500ms",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "29000",
        "x-ratelimit-reset-tokens": "2s",
    }


def test_groq_tells_of_the_days_requests() -> None:
    found = told("groq")

    assert found["x-ratelimit-limit-requests"] == "14400"
    assert found["x-ratelimit-reset-requests"] == "6s"
    assert found["x-ratelimit-remaining-tokens"] == "28900"


def test_azure_tells_whole_seconds_until_its_boundary() -> None:
    account = Account(Terms("azure"))
    until = account.windows["tokens"].full_in(0.0)

    seconds = headers(account, Moment(0.0, NOON))["x-ratelimit-reset-tokens"]

    assert until <= int(seconds) < until + 1


def test_anthropic_rounds_tokens_to_thousands_and_gives_dates() -> None:
    found = told("anthropic")

    assert found["anthropic-ratelimit-input-tokens-remaining"] == "29000"
    assert found["anthropic-ratelimit-output-tokens-limit"] == "8000"
    assert found["anthropic-ratelimit-tokens-limit"] == "38000"
    assert found["anthropic-ratelimit-input-tokens-reset"] == "2026-11-30T12:00:02Z"


def test_what_a_client_reads_is_in_the_clients_seconds() -> None:
    assert told("openai", 10.0)["x-ratelimit-reset-tokens"] == "200ms"
    assert told("anthropic", 10.0)["anthropic-ratelimit-input-tokens-reset"].endswith("00.200Z")


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_refusal_says_how_long_to_wait_in_whole_seconds_of_the_account(
    vendor: Vendor,
) -> None:
    account = Account(Terms(vendor, tpm=1700))
    account.admit(CALL, 0.0)
    refused = account.admit(CALL, 0.0)
    assert refused is not None

    named = {
        speed: float(refusal(account, refused, Moment(0.0, NOON, speed))[0]["retry-after"])
        for speed in (1.0, 10.0)
    }

    assert refused.wait_s <= named[1.0] < refused.wait_s + 1
    assert named[1.0].is_integer()
    assert named[10.0] == pytest.approx(named[1.0] / 10)


def test_openai_and_azure_name_milliseconds_as_well() -> None:
    named = {}
    for vendor in VENDORS:
        account = Account(Terms(vendor, tpm=1700))
        account.admit(CALL, 0.0)
        refused = account.admit(CALL, 0.0)
        assert refused is not None
        found, _ = refusal(account, refused, Moment(0.0, NOON))
        named[vendor] = "retry-after-ms" in found

    assert named == {"openai": True, "azure": True, "groq": False, "anthropic": False}


def test_a_call_that_never_fits_is_told_no_time() -> None:
    account = Account(Terms("openai", tpm=900))
    refused = account.admit(CALL, 0.0)
    assert refused is not None

    found, body = refusal(account, refused, Moment(0.0, NOON))

    assert "retry-after" not in found
    assert "try again" not in str(body)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.012, "12ms"), (1.5, "1.5s"), (360, "6m0s"), (3723, "1h2m3s")],
)
def test_durations_are_written_as_go_writes_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
