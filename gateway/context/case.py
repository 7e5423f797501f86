"""Whose conversation is slimmed, for which model, and who may sum it up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.context.rules import Rules
from gateway.metering.ledger import Fact
from pricing.price import Price
from techniques.core.channel import Member


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes summaries; ``window`` is its model's, None if not known."""

    member: Member
    price: Price | None
    window: int | None


@dataclass(frozen=True, slots=True)
class Case:
    """Whose request is slimmed, for which model, and by what rules.

    ``window`` is the model's, ``output`` what it may write where the request does not say.
    ``pins`` are texts that keep their message. ``affordable`` tells how many of so many calls fit
    into what is left of the run's caps, ``record`` takes facts. Without a ``writer`` there are no
    summaries. ``recall`` gives what ``keep`` was given when the same run was carried out before.
    """

    rules: Rules
    whose: str
    model: str
    provider: str
    use: str
    window: int
    output: int
    price: Price | None
    fence: str
    affordable: Callable[[int], int]
    record: Callable[[Fact], None]
    pins: tuple[str, ...] = ()
    writer: Writer | None = None
    recall: Callable[[], str | None] = lambda: None
    keep: Callable[[str], None] = lambda _text: None
