"""What must hold after every case, whatever it was about."""

from __future__ import annotations

from decimal import Decimal

from techniques.core.json import Json
from tests.conformance.stage import REQUESTS, Stage, summed
from tests.fakes.client import Exchange
from tests.fakes.gateway import KEYS, SECRETS
from tests.patience import eventually

_IN_FLIGHT = "lockgate_requests_in_flight"


def check(stage: Stage) -> None:
    """Check that nothing is open, lost or shown, and that the books agree."""
    assert stage.upstream.unscripted == 0, "The upstream was called more often than scripted."
    page: list[str] = []

    def settled() -> bool:
        page[:] = stage.metrics()
        return _all_closed(stage, page) and _all_counted(stage, page)

    assert eventually(settled), "Something is still in flight, or ended in no outcome or in two."
    _check_secrets(stage, page)
    for asked in stage.upstream.asked:
        _check_request_upstream(asked.headers)
    rows = [_checked_rows(stage, answer) for answer in stage.received]
    if stage.counted_before is not None:
        booked = sum(map(len, rows))
        assert booked >= len(stage.upstream.asked), "A call upstream has no row of its own."


def _all_closed(stage: Stage, page: list[str]) -> bool:
    return stage.upstream.busy == 0 and summed(page, _IN_FLIGHT) == 0


def _all_counted(stage: Stage, page: list[str]) -> bool:
    before = stage.counted_before
    return before is None or summed(page, REQUESTS) - before == len(stage.received)


def _check_secrets(stage: Stage, page: list[str]) -> None:
    shown = ["\n".join(page), stage.gateway.log]
    for answer in stage.received:
        shown += [bytes(answer.received).decode(errors="replace"), str(answer.headers)]
    for secret in SECRETS:
        assert not [text for text in shown if secret in text], f"{secret!r} was shown."


def _check_request_upstream(headers: list[tuple[str, str]]) -> None:
    for name, value in headers:
        assert not name.startswith("x-lockgate"), name
        assert not any(key in value for key in KEYS.values()), name


def _checked_rows(stage: Stage, answer: Exchange) -> list[Json]:
    """Return the ledger's rows of *answer*, which agree with its headers."""
    assert answer.request_id, "An answer has no request id."
    rows = stage.rows(answer.request_id, least=0)
    assert all(isinstance(row["outcome"], str) and row["outcome"] for row in rows)
    if (calls := answer.headers.get("x-lockgate-calls")) is not None:
        assert int(calls) == len(rows)
    if (cost := answer.headers.get("x-lockgate-cost-usd")) is not None:
        assert Decimal(cost) == sum(Decimal(row["cost_usd"]) for row in rows)
    return rows
