"""Whatever a run is made of, all that is told of its money is the sum of its rows, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

import anyio
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.stores.database.bills import TOKENS, Sums
from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.rows import LedgerRow
from gateway.stores.database.sought import Sought
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from tests.property.accounts import PICO, Accounts, Through, Told
from tests.property.faulty import FAULTS, Fault
from tests.techniques.scene import needed

CARDS: Final = load(catalog)
CANCELLED: Final = ("cancelled", "client_disconnect")
KINDS: Final = ("input", "output", "cache_read", "cache_write", "reasoning")


@dataclass(frozen=True)
class Case:
    """What a request asks for, and what becomes of it.

    Attributes:
        faults: Those of the first calls, None: it goes well.
        model: Who answers.
        judge: Who judges, and is the second of several models.
        streamed: Whether the answer is wanted in pieces.
        max_calls: The cap.
        leaves_at: The second at which the client leaves, None: it stays.
        rescue: Whether a plain call follows where the technique fails.
    """

    faults: Sequence[Fault | None]
    model: str
    judge: str
    streamed: bool
    max_calls: int
    leaves_at: float | None
    rescue: bool


CASES: Final = st.builds(
    Case,
    faults=st.lists(st.sampled_from([None, None, None, *FAULTS]), max_size=9),
    model=st.sampled_from(["sim-small", "sim-small", "unpriced"]),
    judge=st.sampled_from(["sim-large", "sim-large", "unpriced"]),
    streamed=st.booleans(),
    max_calls=st.integers(1, 16),
    leaves_at=st.one_of(st.none(), st.none(), st.integers(0, 12).map(lambda half: half / 2)),
    rescue=st.booleans(),
)


@pytest.fixture(scope="module")
def accounts() -> Iterator[Accounts]:
    made: list[Accounts] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.upstreams.SimulatedTransport", lambda _settings: Through(made))
        made.append(Accounts())
        yield made[0]
        made[0].close()


@pytest.mark.parametrize("technique", ["none", *CARDS])
def test_all_that_is_told_of_money_is_the_sum_of_the_rows(
    technique: str, accounts: Accounts, tmp_path: Path
) -> None:
    whole: list[Told] = []

    @given(case=CASES)
    @settings(max_examples=8, deadline=None, derandomize=True, database=None)
    def ask(case: Case) -> None:
        told = asked(accounts, technique, case)
        agree(told)
        whole.append(told)

    ask()
    bill = anyio.run(billed, f"sqlite+aiosqlite:///{tmp_path}/x.db", whole)
    assert bill.calls == sum(told.counted["calls"] for told in whole)
    assert bill.cost == sum(known(told.rows) for told in whole)
    assert bill.unknown == sum(row.cost is None for told in whole for row in told.rows)
    assert dict(zip(TOKENS, bill.counts, strict=True)) == {
        name: sum(getattr(row, name) for told in whole for row in told.rows) for name in TOKENS
    }


def agree(told: Told) -> None:
    """Check that the client, the metrics and the budget were told the sum of the rows."""
    rows, served = told.rows, told.served
    unsent = [row for row in rows if row.outcome in CANCELLED and row.estimated]
    assert len(rows) == told.counted["calls"]
    assert served <= len(rows) <= served + len(unsent)
    assert round(told.counted["cost"] * PICO) == known(rows)
    assert {kind: told.counted.get(kind, 0) for kind in KINDS} == {
        kind: sum(getattr(row, f"{kind}_tokens") for row in rows) for kind in KINDS
    }
    assert told.charged == (known(rows) if rows and rows[0].key == "rich" else 0)
    if rows and rows[0].key == "rich":
        assert sorted(told.kept) == sorted(rows)
    total = None if any(row.cost is None for row in rows) else known(rows)
    assert set(amounts(told)) <= {(total, len(rows))}


def known(rows: Sequence[LedgerRow]) -> int:
    """Return the picodollars that *rows* come to, as far as they are known."""
    return sum(row.cost for row in rows if row.cost is not None)


async def billed(url: str, whole: Sequence[Told]) -> Sums:
    """Return the total of a bill over all the rows of *whole*, in the database at *url*."""
    async with opened(url) as database:
        ledger = LedgerTable(database)
        await ledger.write([row for told in whole for row in told.rows])
        return (await ledger.bill(Sought(), ["role", "source"])).total


def asked(accounts: Accounts, technique: str, case: Case) -> Told:
    """Make the request of *case* under *technique*."""
    body: Json = {
        "model": case.model,
        "messages": [{"role": "user", "content": "What is 17 * 23?"}],
        "stream": case.streamed,
        "seed": 5,
    }
    wishes = {
        "x-lockgate-session": "s-1",
        "x-lockgate-tags": "nightly, job=7",
        "x-lockgate-technique": technique,
        "x-lockgate-judge": case.judge,
        "x-lockgate-channels": case.judge,
        "x-lockgate-max-calls": str(case.max_calls),
        "x-lockgate-on-error": "fallback_baseline" if case.rescue else "raise",
    }
    if technique != "none":
        wishes["x-lockgate-params"] = orjson.dumps(needed(CARDS[technique])).decode()
    key = "free" if "unpriced" in (case.model, case.judge) else "rich"
    return accounts.done(accounts.ask(case.faults, key, body, wishes, case.leaves_at))


def amounts(told: Told) -> Iterator[tuple[int | None, int]]:
    """Yield each cost that the client was told, None: not known, with the number of calls."""
    client = told.client
    if not client.sent or not client.complete:
        return
    if calls := client.headers.get("x-lockgate-calls"):
        yield pico(client.headers.get("x-lockgate-cost-usd")), int(calls)
    content = client.content
    for line in content.splitlines():
        if line.startswith(b": lockgate {") and b'"calls"' in line:
            trailer = orjson.loads(line.removeprefix(b": lockgate "))
            yield pico(trailer["cost_usd"]), trailer["calls"]
    if content.startswith(b"{") and "lockgate" in (
        used := orjson.loads(content).get("usage") or {}
    ):
        yield pico(used["lockgate"]["cost_usd"]), used["lockgate"]["calls"]


def pico(usd: str | None) -> int | None:
    """Return the picodollars that *usd*, a decimal number, is."""
    return None if usd is None else int(Decimal(usd) * PICO)
