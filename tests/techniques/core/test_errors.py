from __future__ import annotations

import pytest

from techniques.core import errors
from techniques.core.errors import (
    GatewayError,
    RequestRejected,
    Said,
    StreamBroken,
    UpstreamFailed,
)

PLAIN = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, GatewayError)
    and not issubclass(kind, UpstreamFailed)
]


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
def test_each_error_has_a_message_and_a_code_of_its_own(kind: type[GatewayError]) -> None:
    error = kind("What happened.")

    assert (str(error), error.message) == ("What happened.", "What happened.")
    assert error.code == kind.default_code
    assert error.param is None


def test_codes_tell_errors_apart() -> None:
    assert len({kind.default_code for kind in PLAIN}) == len(PLAIN)


def test_an_error_may_be_told_more_exactly() -> None:
    error = RequestRejected("No.", code="unknown_wish", param="x")

    assert (error.code, error.param) == ("unknown_wish", "x")


def test_a_providers_failure_carries_its_own_words() -> None:
    said = Said(429, "slow down", "rate", "rate_limit_exceeded", "messages")

    error = UpstreamFailed("Busy.", "rate_limited", retryable=True, retry_after=3.5, said=said)

    assert (error.kind, error.retryable, error.retry_after) == ("rate_limited", True, 3.5)
    assert (error.code, error.param, error.said) == ("rate_limit_exceeded", "messages", said)


def test_a_providers_failure_without_words_is_a_server_failure_not_to_be_retried() -> None:
    error = UpstreamFailed("Broken.")

    assert (error.kind, error.retryable, error.retry_after) == ("server", False, None)
    assert (error.code, error.said) == ("upstream_failed", Said())


def test_a_broken_stream_is_a_providers_failure_that_may_work_another_time() -> None:
    error = StreamBroken("Cut off.")

    assert isinstance(error, UpstreamFailed)
    assert (error.kind, error.retryable, error.code) == ("transport", True, "stream_broken")
