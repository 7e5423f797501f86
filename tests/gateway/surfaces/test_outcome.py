from __future__ import annotations

import pytest

from gateway.metering.meters.prometheus import OUTCOMES
from gateway.surfaces.outcome import outcome_of
from techniques.core.errors import (
    BudgetExhausted,
    CapReached,
    DeadlinePassed,
    Denied,
    GatewayError,
    HeldBack,
    KeyLimited,
    OverLimit,
    RequestRejected,
    StreamBroken,
    TechniqueFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownModel,
    UpstreamFailed,
)

TABLE = [
    (None, "success"),
    (StreamBroken("x"), "truncated"),
    (StreamBroken("x", "overloaded"), "truncated"),
    (UpstreamFailed("x"), "upstream_error"),
    (UpstreamFailed("x", "rate_limited"), "upstream_error"),
    (UpstreamFailed("x", "authentication"), "upstream_error"),
    (UpstreamFailed("x", "rejected"), "rejected"),
    (UpstreamFailed("x", "context_overflow"), "rejected"),
    (RequestRejected("x"), "rejected"),
    (UnknownModel("x"), "rejected"),
    (TooLarge("x"), "rejected"),
    (CapReached("x"), "rejected"),
    (BudgetExhausted("x"), "rejected"),
    (OverLimit("x"), "rejected"),
    (HeldBack("x"), "held_back"),
    (KeyLimited("x"), "denied"),
    (Denied("x"), "denied"),
    (Unauthenticated("x"), "denied"),
    (DeadlinePassed("x"), "deadline"),
    (Unavailable("x"), "unavailable"),
    (TechniqueFailed("x"), "technique_error"),
    (GatewayError("x"), "internal_error"),
]
ids = [
    "success" if error is None else f"{type(error).__name__} {getattr(error, 'kind', '')}"
    for error, _ in TABLE
]


@pytest.mark.parametrize(("error", "outcome"), TABLE, ids=ids)
def test_each_end_is_one_word(error: GatewayError | None, outcome: str) -> None:
    assert outcome_of(error, left=False, bug=False) == outcome
    assert outcome in OUTCOMES


def test_every_word_can_come() -> None:
    words = {outcome_of(error, left=False, bug=False) for error, _ in TABLE}

    assert words | {"client_disconnect"} == set(OUTCOMES)


def test_a_client_that_left_is_that_whatever_else_went_wrong() -> None:
    for error, _ in TABLE:
        assert outcome_of(error, left=True, bug=False) == "client_disconnect"


def test_a_bug_is_no_failure_of_anybody_else() -> None:
    assert outcome_of(GatewayError("x"), left=False, bug=True) == "internal_error"
