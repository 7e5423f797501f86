"""From the facts of requests to rows that last, for whatever writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from typing import Final, NamedTuple

import orjson

from gateway.metering.ledger import CallFinished, Fact, RequestFinished
from gateway.stores.database.rows import MOST, LedgerRow, RequestRow, instant, kept, words
from gateway.stores.database.writer import Written
from pricing.usage import Usage
from techniques.core.events import Warned

_MOST_EACH: Final = MOST >> 1
"""Of a count: two of them together can still be held."""


class DurableRows:
    """Hands the rows of each request that has ended to *put*."""

    def __init__(self, put: Callable[[Written], None]) -> None:
        self._put = put

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Hand over those of *facts* that end a request, but a stranger's: those have no end."""
        now = instant(datetime.now(UTC).timestamp())
        for fact in facts:
            if isinstance(fact, RequestFinished) and not _of_a_stranger(fact):
                self._put(Written(request_row(fact, now), list(rows_of(fact))))


def _of_a_stranger(fact: RequestFinished) -> bool:
    return fact.outcome == "denied" and fact.key is None and not fact.rows


def request_row(fact: RequestFinished, now: int) -> RequestRow:
    """Return the row of a request as a whole; it ended *now*, or a moment ago."""
    return RequestRow(
        fact.request_id,
        kept(fact.run),
        None if fact.session is None else kept(fact.session),
        None if fact.tags is None else kept(fact.tags),
        fact.key,
        fact.team,
        fact.dialect,
        fact.model,
        fact.technique,
        fact.outcome,
        fact.status,
        _listed(fact.warnings) if fact.warnings else "[]",
        now,
        _ms(fact.seconds),
        *_routed(fact),
        fact.code,
    )


def _routed(
    fact: RequestFinished,
) -> tuple[str | None, str | None, float | None, bool | None, float | None]:
    routed = fact.routed
    if routed is None:
        return None, None, None, None, None
    chosen = kept(routed.arm), kept(routed.router)
    return (*chosen, routed.propensity, routed.explored, routed.lambda_)


def rows_of(fact: RequestFinished) -> Iterator[LedgerRow]:
    """Yield the rows of a request's sub-calls."""
    whose = Whose(
        fact.request_id, fact.run, fact.key, fact.team, fact.technique, fact.session, fact.tags
    ).kept()
    for place, call in enumerate(fact.rows):
        yield row_of(whose, call, f"{fact.request_id}.{place}")


class Whose(NamedTuple):
    """The request that a sub-call is of, how it was carried out, and who pays for it."""

    request_id: str
    run: str
    key: str | None
    team: str | None
    technique: str = ""
    session: str | None = None
    tags: str | None = None

    def kept(self) -> Whose:
        """Return the same in texts that a database can hold; tags as words with blanks between."""
        run, session, tags = self.run, self.session, self.tags
        return Whose(
            self.request_id,
            kept(run),
            self.key,
            self.team,
            self.technique,
            session if session is None else kept(session),
            tags if tags is None else words(kept(tags)),
        )


def row_of(whose: Whose, call: CallFinished, name: str = "") -> LedgerRow:
    """Return the row of one sub-call; it is called by its lease, without one by *name*."""
    usage = _held(call.usage)
    return LedgerRow(
        call.lease or name,
        whose.request_id,
        whose.run,
        call.step,
        call.role,
        whose.key,
        whose.team,
        call.model,
        call.provider,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens + usage.cache_write_1h_tokens,
        usage.reasoning_tokens,
        None if call.cost is None else min(call.cost, MOST),
        call.cost_source,
        call.estimated,
        call.reasoning_estimated,
        call.outcome,
        instant(call.started_at),
        _ms(call.seconds),
        whose.technique,
        whose.session,
        whose.tags,
        call.price,
        " ".join(call.caveats) if call.caveats else None,
        usage.cache_write_1h_tokens,
        usage.audio_input_tokens,
        usage.audio_output_tokens,
        usage.image_input_tokens,
        usage.image_output_tokens,
        usage.images,
    )


def _held(usage: Usage) -> Usage:
    """Return *usage* in numbers that a database can hold."""
    parts = usage.input_tokens | usage.output_tokens | usage.cache_read_tokens
    parts |= usage.cache_write_tokens | usage.cache_write_1h_tokens | usage.reasoning_tokens
    parts |= usage.audio_input_tokens | usage.audio_output_tokens
    parts |= usage.image_input_tokens | usage.image_output_tokens | usage.images
    if parts <= _MOST_EACH:
        return usage
    return Usage(*(min(part, _MOST_EACH) for part in astuple(usage)))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _listed(warnings: Sequence[Warned]) -> str:
    return orjson.dumps([kept(_worded(warned)) for warned in warnings]).decode()


def _worded(warned: Warned) -> str:
    return f"{warned.code}: {warned.detail}" if warned.detail else warned.code
