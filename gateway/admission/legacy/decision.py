"""agentpause's decision: go on, wait a little, or save what there is and stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Regime: TypeAlias = Literal["continuous", "fixed"]
Action: TypeAlias = Literal["continue", "wait", "checkpoint"]

_NEARLY_ALL: Final = 0.98
_DUE: Final = 0.5
_LATE: Final = 1.15
_CHUNK: Final = 10.0


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left. None: it is not known. Tokens, calls and seconds.

    Attributes:
        reset_seconds: Until the tokens are full again.
        refill_regime: How they fill; None counts as continuous.
        remaining_seconds: Until the caller's own deadline; may be negative.
    """

    remaining_tokens: float
    limit_tokens: float | None = None
    remaining_requests: float | None = None
    reset_requests_seconds: float | None = None
    remaining_input_tokens: float | None = None
    remaining_output_tokens: float | None = None
    reset_seconds: float | None = None
    refill_regime: Regime | None = None
    remaining_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Money:
    """What may be spent, what was, and what a thousand tokens cost, in one currency."""

    budget: float
    per_1k: float
    spent: float = 0.0

    def after(self, tokens: float) -> Money:
        """Return it after *tokens* more were used."""
        return Money(self.budget, self.per_1k, self.spent + tokens / 1000 * self.per_1k)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the next call is expected to use: tokens with their deviation, seconds."""

    tokens: float
    sigma: float = 0.0
    input: float | None = None
    output: float | None = None
    latency_s: float | None = None


@dataclass(frozen=True, slots=True)
class Caution:
    """How careful to be.

    Attributes:
        k: How many deviations are kept free.
        wait_threshold_s: What is worth waiting for, at most.
        rpm_margin: How many requests are left unused.
    """

    k: float = 2.0
    wait_threshold_s: float = 15.0
    rpm_margin: int = 0


DEFAULT: Final = Caution()


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and by which figures. ``wait_seconds`` only with ``wait``."""

    action: Action
    wait_seconds: float | None
    budget: Budget
    estimated: float
    sigma: float


def decide(
    budget: Budget, estimate: Estimate, caution: Caution = DEFAULT, money: Money | None = None
) -> Decision:
    """Return what to do about a call of *estimate* within *budget* and *money*.

    Source: agentpause 0.5.0, ``decide``; but a request clock that stands at 0 counts as known.
    """
    action, wait = _action(budget, estimate, caution, money)
    return Decision(action, wait, budget, estimate.tokens, estimate.sigma)


def _action(
    budget: Budget, estimate: Estimate, caution: Caution, money: Money | None
) -> tuple[Action, float | None]:
    broke = money is not None and money.after(estimate.tokens).spent > money.budget
    if broke or not _within(estimate.latency_s, budget.remaining_seconds):
        return "checkpoint", None
    need = estimate.tokens + caution.k * estimate.sigma
    fits, wait = _when(budget, estimate, need, caution.rpm_margin)
    if fits:
        return "continue", None
    if wait is None or wait > caution.wait_threshold_s:
        return "checkpoint", None
    return "wait", wait


def _when(
    budget: Budget, estimate: Estimate, need: float, margin: int
) -> tuple[bool, float | None]:
    """Return whether all fits, or when what is short will be back; None: never, or unknown."""
    if not _within(1 + margin, budget.remaining_requests):
        clock = budget.reset_requests_seconds
        return False, budget.reset_seconds if clock is None else clock
    split = _within(estimate.input, budget.remaining_input_tokens)
    if not (split and _within(estimate.output, budget.remaining_output_tokens)):
        return False, budget.reset_seconds
    if budget.remaining_tokens >= need:
        return True, None
    limit = budget.limit_tokens
    return False, None if limit is not None and need >= _NEARLY_ALL * limit else refill_wait(
        budget, need
    )


def _within(need: float | None, left: float | None) -> bool:
    return need is None or left is None or need <= left


def refill_wait(budget: Budget, need: float) -> float | None:
    """Return the seconds until *need* tokens are there; None if nobody knows."""
    limit, reset = budget.limit_tokens, budget.reset_seconds
    if budget.refill_regime == "fixed" or limit is None or reset is None:
        return reset
    deficit = need - budget.remaining_tokens
    if deficit <= 0:
        return _DUE
    rate = (limit - budget.remaining_tokens) / reset if reset > 0 else 0.0
    return min(reset, deficit / rate * _LATE) if rate > 0 else reset


def nap(wait_s: float) -> float:
    """Return how long to sleep before the budget is read again, of a wait of *wait_s* seconds."""
    return min(wait_s, _CHUNK) + _DUE


def risk_score(tokens: float, left: float, context: float, cost: float) -> float:
    """Return how near a call is to what it may use, for people to look at.

    *context* and *cost* are the shares that it takes of the model's context and of the money.
    """
    return 0.55 * tokens / max(left, 1) + 0.20 * context + 0.25 * cost
