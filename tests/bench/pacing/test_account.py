from __future__ import annotations

import pytest

from bench.pacing.account import VENDORS, Account, Asked, Terms, Vendor

CALL = Asked(prompt=1000, characters=4400, output=100, max_tokens=650)


@pytest.mark.parametrize(
    ("vendor", "tokens"), [("openai", 1100), ("azure", 1650), ("groq", 1100), ("anthropic", 1000)]
)
def test_each_vendor_charges_by_its_own_rule(vendor: Vendor, tokens: int) -> None:
    account = Account(Terms(vendor))

    assert account.admit(CALL, 0.0) is None
    assert account.counted.charged == tokens
    assert account.windows[account.main].left(0.0) == 30_000 - tokens


def test_openai_charges_what_was_asked_for_where_the_text_is_short() -> None:
    account = Account(Terms("openai"))
    account.admit(Asked(prompt=10, characters=40, output=5, max_tokens=650), 0.0)

    assert account.counted.charged == 650


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_call_that_does_not_fit_is_refused_and_charges_no_tokens(vendor: Vendor) -> None:
    account = Account(Terms(vendor, tpm=1700))
    account.admit(CALL, 0.0)
    before = account.counted.charged

    refused = account.admit(CALL, 0.0)

    assert refused is not None
    assert refused.window == account.main
    assert refused.wait_s > 0
    assert (account.counted.charged, account.counted.refused) == (before, 1)
    assert account.counted.resent == CALL.prompt


@pytest.mark.parametrize("vendor", ["openai", "groq", "anthropic"])
def test_after_the_wait_that_a_refusal_names_the_call_fits(vendor: Vendor) -> None:
    account = Account(Terms(vendor, tpm=1700))
    account.admit(CALL, 0.0)
    refused = account.admit(CALL, 0.0)
    assert refused is not None

    assert account.admit(CALL, refused.wait_s - 0.1) is not None
    assert account.admit(CALL, refused.wait_s) is None


def test_only_openai_counts_refused_requests() -> None:
    left = {}
    for vendor in ("openai", "groq"):
        account = Account(Terms(vendor, tpm=1200, rpm=60))
        account.admit(CALL, 0.0)
        account.admit(CALL, 0.0)
        left[vendor] = account.windows["requests"].left(0.0)

    assert left == {"openai": 58, "groq": 59}


def test_azure_takes_no_more_requests_in_ten_seconds_than_a_sixth_of_its_minute() -> None:
    account = Account(Terms("azure", rpm=12, tpm=10**6))
    account.windows["slice"].take(0, 0.0)
    until = account.windows["slice"].full_in(0.0)

    inside = [account.admit(CALL, 0.0) for _ in range(3)]

    assert [one and one.window for one in inside] == [None, None, "slice"]
    assert account.admit(CALL, until + 0.001) is None


def test_anthropic_charges_output_when_it_is_written_and_lets_in_while_any_is_left() -> None:
    account = Account(Terms("anthropic", tpm=3000))
    long = Asked(prompt=10, characters=40, output=900, max_tokens=1000)

    assert account.admit(long, 0.0) is None
    assert account.admit(long, 0.0) is None
    account.ended(long, 0.0)
    refused = account.admit(long, 0.0)

    assert refused is not None
    assert refused.window == "output-tokens"


def test_somebody_else_takes_a_quarter_of_the_tokens() -> None:
    account = Account(Terms("openai", tpm=30_000, drain=0.25, seed=3))
    for second in range(6000):
        account.pass_time(float(second))

    assert account.counted.drained == pytest.approx(0.25 * 30_000 * 100, rel=0.05)


def test_what_somebody_else_takes_is_the_same_in_every_run() -> None:
    often, seldom = (Account(Terms("openai", drain=0.25, seed=3)) for _ in range(2))
    for second in range(100):
        often.pass_time(float(second))
    seldom.pass_time(99.0)

    assert often.counted.drained == seldom.counted.drained > 0


def test_a_call_that_no_agent_made_is_counted() -> None:
    account = Account(Terms("openai"))
    account.admit(Asked(prompt=3, characters=9, output=5, max_tokens=1, marked=False), 0.0)

    assert account.counted.unasked == 1
