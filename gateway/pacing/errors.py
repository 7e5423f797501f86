"""What a sub-call that is not let through is told, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.admission.names import dimension_of, is_money
from gateway.admission.verdict import GiveBack
from gateway.clock import loop_time
from gateway.pacing.asking import Asking
from gateway.pacing.refusals import WIDE
from gateway.stores.ledger import Answer, Granted, Never, QueueFull, Waiting
from pricing.cost import dollars
from techniques.core.errors import (
    BudgetExhausted,
    DeadlinePassed,
    GatewayError,
    HeldBack,
    KeyLimited,
    OverLimit,
    Unavailable,
    UpstreamFailed,
)

GIVEN_BACK: Final = (HeldBack, DeadlinePassed)

_UNITS: Final = {
    "requests": "requests",
    "tokens": "tokens",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "concurrency": "calls at once",
}


def must_be_up(asking: Asking, *, last: bool) -> bool:
    """Refuse a call to a model that is down; one call alone may go and see.

    That is after a while, or at once where it is the *last* that could be asked.

    Return whether this is the one.

    Raises:
        UpstreamFailed: It is down.
    """
    health, now = asking.account.health(asking.model), loop_time()
    gate = health.gate(now, last=last)
    if gate == "shut":
        raise down(asking, health.left_s(now))
    if gate == "probe":
        health.probe()
    return gate == "probe"


def down(asking: Asking, left_s: float = 0.0) -> UpstreamFailed:
    """Return what a call is told whose model is down, for *left_s* yet as far as is known."""
    return UpstreamFailed(
        f"The provider {asking.account.name} has failed too often; it is asked again soon.",
        "overloaded",
        retry_after=left_s or None,
    )


def too_late(predicted_s: float) -> DeadlinePassed:
    """Return what a call is told that could not end before its deadline."""
    return DeadlinePassed(
        f"The answer would take about {predicted_s:.1f} s, and the deadline comes before."
    )


def store_lost() -> Unavailable:
    """Return what a call is told whose limits cannot be looked up."""
    return Unavailable("The store of limits and budgets does not answer.", code="store_lost")


def database_lost() -> Unavailable:
    """Return what a call is told of which nobody knows what its budget has spent."""
    return Unavailable("What the budget has spent cannot be read.", code="database_lost")


def must_be_granted(answer: Answer, renews_s: Callable[[str], float | None]) -> None:
    """Refuse a call that its caller's own windows do not let through.

    *renews_s* tells in how many seconds the period of a window of money ends.

    Raises:
        KeyLimited: Later they will.
        BudgetExhausted: There is no money left.
        OverLimit: It is more than a minute of its key's tokens.
    """
    match answer:
        case Granted():
            return
        case Waiting():
            what = _what(answer.binding)
            wait_s = None if answer.eta_ms is None else answer.eta_ms / 1000
            raise KeyLimited(f"This key's limit of {what} is reached.", retry_after=wait_s)
        case Never() if is_money(answer.binding):
            raise BudgetExhausted(_spent(answer), retry_after=renews_s(answer.binding))
        case Never():
            raise OverLimit(
                f"This request needs more {_what(answer.binding)} than its key may use in a minute."
            )
        case _:
            pass


def must_fit(asking: Asking, answer: Answer) -> None:
    """Refuse a call that its account's windows never let through, or that has no place in line.

    Raises:
        OverLimit: It alone is more than a window.
        HeldBack: The line is full.
    """
    match answer:
        case Granted():
            return
        case Never():
            needed = asking.needs.get(answer.binding, 0)
            raise OverLimit(
                f"This request needs about {needed} {_what(answer.binding)}, more than the limit "
                f"of {asking.account.name} ever lets through at once."
            )
        case QueueFull():
            whose = "Too many calls of this key" if answer.tenant else "Too many calls"
            raise HeldBack(
                f"{whose} wait for {asking.account.name}.", code="queue_full", retry_after=1.0
            )
        case _:
            raise store_lost()


def given_back(asking: Asking, answer: Waiting, why: GiveBack) -> GatewayError:
    """Return what a call is told that is not held any longer."""
    wait_s = None if answer.eta_ms is None else answer.eta_ms / 1000
    if why.why == "deadline":
        return DeadlinePassed("After the wait for a rate limit the deadline could not be kept.")
    if is_money(answer.binding):
        return KeyLimited(
            "What is left of the budget is held by calls that have not ended.",
            code="budget_held",
            retry_after=wait_s,
        )
    unknown = asking.account.caps().get(answer.binding) == WIDE
    which = "A rate limit" if unknown else f"The limit of {_what(answer.binding)}"
    return HeldBack(f"{which} of {asking.account.name} is reached.", retry_after=wait_s)


def _spent(answer: Never) -> str:
    left = dollars(max(answer.left, 0))
    return (
        f"The budget leaves {left} dollars, and this call may cost more. A lower max_tokens makes "
        "it cheaper."
    )


def _what(window: str) -> str:
    return _UNITS.get(dimension_of(window), "money")
