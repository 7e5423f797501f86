from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from structlog.testing import capture_logs

from gateway.metering.ledger import Fact, RequestBegun
from gateway.metering.spool import Spool

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Batches:
    """A meter that remembers what it was told, batch by batch."""

    def __init__(self) -> None:
        self.told: list[list[Fact]] = []

    def __call__(self, facts: Sequence[Fact]) -> None:
        self.told.append(list(facts))

    @property
    def facts(self) -> list[Fact]:
        return [fact for batch in self.told for fact in batch]


def facts(count: int) -> list[Fact]:
    return [RequestBegun(str(number)) for number in range(count)]


async def test_facts_are_handed_over_together_a_moment_later() -> None:
    spool = Spool((batches := Batches(),))
    for fact in facts(3):
        spool(fact)
    assert batches.told == []

    await anyio.sleep(0.08)

    assert batches.told == [facts(3)]


async def test_facts_that_come_later_are_handed_over_too() -> None:
    spool = Spool((batches := Batches(),))
    for fact in facts(2):
        spool(fact)
        await anyio.sleep(0.08)

    assert batches.told == [[fact] for fact in facts(2)]


async def test_draining_hands_over_at_once_and_each_fact_once() -> None:
    spool = Spool((batches := Batches(),))
    spool(facts(1)[0])

    spool.drain()
    spool.drain()
    await anyio.sleep(0.08)

    assert batches.told == [facts(1)]


async def test_no_more_facts_wait_than_a_bound() -> None:
    spool = Spool((batches := Batches(),))
    many = facts(5000)
    for fact in many:
        spool(fact)

    assert len(batches.facts) > 2000
    spool.drain()
    assert batches.facts == many
    assert max(map(len, batches.told)) <= 2048


async def test_a_meter_that_fails_is_logged_and_hurts_no_other() -> None:
    def failing(_facts: Sequence[Fact]) -> None:
        raise ZeroDivisionError

    spool = Spool((failing, batches := Batches()))
    with capture_logs() as logged:
        for fact in facts(2):
            spool(fact)
            spool.drain()

    assert batches.facts == facts(2)
    assert [line["event"] for line in logged] == ["meter.failed"] * 2
