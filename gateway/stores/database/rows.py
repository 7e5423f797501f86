"""The rows of the ledger, as they are written, read and told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from pricing.cost import dollars
from pricing.source import CostSource, tier
from techniques.core.json import JsonObject

MOST: Final = 2**63 - 1
"""The largest number that both databases hold."""

_TEXT: Final = 2000


class LedgerRow(NamedTuple):
    """One sub-call, however it ended; fields in the order of the table's columns.

    ``id`` is unique for ever: a row that is written again is written once. ``cost`` is picodollars,
    None if it is not known; ``started_at`` is microseconds since the epoch. ``tags`` and
    ``caveats`` are words, None if there are none. ``cache_write_tokens`` has those that are kept
    for an hour, ``cache_write_1h_tokens``, in it. What has a default was added later.
    """

    id: str
    request_id: str
    run: str
    step: str
    role: str
    key: str | None
    team: str | None
    model: str
    provider: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost: int | None
    cost_source: CostSource
    estimated: bool
    reasoning_estimated: bool
    outcome: str
    started_at: int
    ms: float
    technique: str = ""
    session: str | None = None
    tags: str | None = None
    price: str | None = None
    caveats: str | None = None
    cache_write_1h_tokens: int = 0
    audio_input_tokens: int = 0
    audio_output_tokens: int = 0
    image_input_tokens: int = 0
    image_output_tokens: int = 0
    images: int = 0


_FIRST: Final = len(LedgerRow._fields) - len(LedgerRow._field_defaults)
"""How many fields a row had in the first release."""


class RequestRow(NamedTuple):
    """One request, however it ended. ``warnings`` is a list of texts in JSON.

    ``arm`` is what a router chose for it, None where none was asked; see ``Routed``. ``code`` is
    our name of what went wrong, None where nothing did or nobody wrote it down.
    """

    request_id: str
    run: str
    session: str | None
    tags: str | None
    key: str | None
    team: str | None
    dialect: str
    model: str
    technique: str
    outcome: str
    status: int
    warnings: str
    ended_at: int
    ms: float
    arm: str | None = None
    router: str | None = None
    propensity: float | None = None
    explored: bool | None = None
    lambda_: float | None = None
    code: str | None = None


def instant(seconds: float) -> int:
    """Return *seconds* since the epoch as the database holds them."""
    return round(seconds * 1_000_000)


def time_of(at: int) -> datetime:
    """Return the instant *at*, as it is held, as a time of UTC."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def moment(at: int) -> str:
    """Return the instant *at*, as it is held, in ISO 8601."""
    return time_of(at).isoformat()


def kept(text: str) -> str:
    """Return *text*, which may be a client's, as both databases can hold it."""
    return text[:_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")


def words(text: str) -> str:
    """Return *text*, words that blanks or commas part, with one blank between two of them."""
    return " ".join(text.replace(",", " ").split())


def packed(row: LedgerRow) -> str:
    """Return *row* as one short line, to be kept elsewhere until it is in the database."""
    return orjson.dumps(tuple(row)).decode()


def unpacked(line: str) -> LedgerRow:
    """Return the row that *line* was made of, by this release, an older or a newer one.

    Raises:
        ValueError: It was made of none.
    """
    values: Any = orjson.loads(line)
    if not isinstance(values, list) or len(values) < _FIRST:
        raise ValueError("no row of the ledger")
    return LedgerRow(*values[: len(LedgerRow._fields)])


def told(row: LedgerRow) -> JsonObject:
    """Return *row* as ``/admin/ledger`` answers with it."""
    fields: JsonObject = row._asdict()
    cost = fields.pop("cost")
    fields["cost_usd"] = None if cost is None else dollars(cost)
    fields["cost_tier"] = tier(
        row.cost_source, estimated=row.estimated, thinking=row.reasoning_estimated
    )
    fields["caveats"] = (row.caveats or "").split()
    fields["started_at"] = moment(row.started_at)
    return fields


TOLD: Final = (*(name for name in LedgerRow._fields if name != "cost"), "cost_usd", "cost_tier")
"""The names of what ``told`` tells, in its order."""


def told_request(row: RequestRow) -> JsonObject:
    """Return what is known of the request as a whole."""
    return {
        "request_id": row.request_id,
        "outcome": row.outcome,
        "status": row.status,
        "dialect": row.dialect,
        "model": row.model,
        "technique": row.technique,
        "session": row.session,
        "tags": row.tags,
        "warnings": orjson.loads(row.warnings),
        "ms": row.ms,
        "routed": None
        if row.arm is None
        else {
            "arm": row.arm,
            "router": row.router,
            "propensity": row.propensity,
            "explored": row.explored,
            "lambda": row.lambda_,
        },
    }
